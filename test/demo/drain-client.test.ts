/** What the demo's own drain refuses, as kubectl does; main.test.ts tells of one that works. */
import { expect, test } from "vitest";
import { drainNode } from "../../infra/demo/drain-client.ts";
import { pods } from "../../infra/sandbox/actors/resources.ts";
import { createNode } from "../../infra/sandbox/fleet.ts";
import { startSandbox } from "../../infra/sandbox/sandbox.ts";

test("a pod without a controller, as without --force; and a node that is not there", async () => {
  const sandbox = await startSandbox({ terminationSeconds: 0 });
  const { client } = sandbox;
  const lines: string[] = [];
  const drain = (node: string) =>
    drainNode({ client, node, signal: AbortSignal.timeout(30_000), onLine: (line) => lines.push(line) });
  try {
    await createNode(client, "strict");
    const alone = { namespace: "default", name: "alone" };
    const containers = [{ name: "c", image: "example.com/c" }];
    await client.create(pods, { metadata: alone, spec: { containers, nodeName: "strict" } });
    expect(await drain("strict")).toBe(false);
    expect(lines.at(-1)).toBe("error: cannot delete Pods that declare no controller: default/alone");
    expect(await client.get(pods, alone)).toBeDefined();
    await expect(drain("nowhere")).rejects.toThrow('nodes "nowhere" not found');
  } finally {
    await sandbox.stop();
  }
});
