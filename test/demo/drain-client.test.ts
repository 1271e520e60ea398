/** What the demo's own drain refuses and leaves, as kubectl does; main.test.ts tells of what it evicts. */
import { expect, test } from "vitest";
import { drainNode } from "../../infra/demo/drain-client.ts";
import { daemonSets } from "../../infra/demo/scene.ts";
import { ownerReferenceTo, pods } from "../../infra/sandbox/actors/resources.ts";
import { createNode } from "../../infra/sandbox/fleet.ts";
import { startSandbox } from "../../infra/sandbox/sandbox.ts";

test("it leaves a pod of a DaemonSet; it refuses one without a controller, and a node that is not there", async () => {
  const sandbox = await startSandbox({ terminationSeconds: 0 });
  const { client } = sandbox;
  const lines: string[] = [];
  const drain = (node: string) =>
    drainNode({ client, node, signal: AbortSignal.timeout(30_000), onLine: (line) => lines.push(line) });
  try {
    await createNode(client, "strict");
    await createNode(client, "daemons");
    const alone = { namespace: "default", name: "alone" };
    const containers = [{ name: "c", image: "example.com/c" }];
    await client.create(pods, { metadata: alone, spec: { containers, nodeName: "strict" } });
    expect(await drain("strict")).toBe(false);
    expect(lines.at(-1)).toBe("error: cannot delete Pods that declare no controller: default/alone");
    expect(await client.get(pods, alone)).toBeDefined();
    const labels = { app: "daemon" };
    const template = { metadata: { labels }, spec: { containers } };
    const set = await client.create(daemonSets, {
      metadata: { namespace: "default", name: "ds" },
      spec: { selector: { matchLabels: labels }, template },
    });
    const daemon = { namespace: "default", name: "daemon" };
    const metadata = { ...daemon, labels, ownerReferences: [ownerReferenceTo(set, daemonSets)] };
    await client.create(pods, { metadata, spec: { containers, nodeName: "daemons" } });
    expect(await drain("daemons")).toBe(true);
    expect(lines).toContain("Warning: ignoring DaemonSet-managed Pods: default/daemon");
    expect(await client.get(pods, daemon)).toBeDefined();
    await expect(drain("nowhere")).rejects.toThrow('nodes "nowhere" not found');
  } finally {
    await sandbox.stop();
  }
});
