import { afterAll, beforeAll, expect, test } from "vitest";
import { drainNode } from "../../infra/demo/drain-client.ts";
import type { Cluster } from "../../infra/demo/cluster.ts";
import { preemption } from "../../infra/demo/preemption-story.ts";
import type { Screen } from "../../infra/demo/screen.ts";
import { summarize } from "../../infra/demo/summary.ts";
import { readWorld } from "../../infra/demo/watch.ts";
import { systemClock } from "../../infra/sandbox/actors/clock.ts";
import { waitFor } from "../../infra/sandbox/actors/wait-for.ts";
import { createNode, createVirtualMachineInstance } from "../../infra/sandbox/fleet.ts";
import { virtualMachineInstances } from "../../infra/sandbox/kubevirt/resources.ts";
import { applyManifests } from "../../infra/sandbox/manifests.ts";
import { startSandbox, type Sandbox } from "../../infra/sandbox/sandbox.ts";
import { definitions, readManifests } from "../../infra/tools/apply.ts";

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox({ terminationSeconds: 0, evictionWebhook: false });
});
afterAll(() => sandbox.stop());

test("a drain that no webhook answers loses VMs, and the demo would say so", async () => {
  const { client } = sandbox;
  for (const node of ["node-1", "node-2"]) await createNode(client, node);
  const vm = { namespace: "shop", node: "node-1" };
  await createVirtualMachineInstance(client, { ...vm, name: "web", evictionStrategy: "LiveMigrate" });
  await createVirtualMachineInstance(client, { ...vm, name: "scratch", evictionStrategy: "None" });
  await createVirtualMachineInstance(client, { ...vm, name: "db", evictionStrategy: "LiveMigrate", node: "node-2" });
  const before = await readWorld(client);

  const signal = AbortSignal.timeout(20_000);
  const drained = await drainNode({ client, node: "node-1", onLine: () => undefined, signal, pollMs: 10 });
  expect(drained).toBe(true);
  for (const name of ["web", "scratch"]) {
    await waitFor(client, {
      resource: virtualMachineInstances,
      key: { namespace: "shop", name },
      what: "stopped",
      until: ({ status }) => status?.phase === "Succeeded",
    });
  }

  expect(summarize(before, await readWorld(client), "node-1")).toEqual({
    moved: [],
    shutDown: ["shop/scratch"],
    untouched: ["shop/db"],
    remaining: [],
    lost: ["shop/web"],
  });
});

async function inhabited({ client, stats, url: server }: Sandbox): Promise<Cluster> {
  await preemption.setScene(client);
  return { client, stats, server, clock: systemClock, kubeconfig: "" };
}

test("a story in which Lifeboat loses VMs ends badly, and says so", async () => {
  const other = await startSandbox({ terminationSeconds: 0 });
  const printed: string[] = [];
  const screen: Screen = {
    live: false,
    width: 100,
    colour: false,
    print: (...lines) => void printed.push(...lines),
    draw: () => undefined,
    keep: () => undefined,
  };
  const fresh = await startSandbox({ terminationSeconds: 0 });
  try {
    // In the cluster that is said to have Lifeboat there are its kinds, and nothing that acts.
    await applyManifests(other.client, definitions().flatMap(readManifests));
    const stage = { without: await inhabited(fresh), withIt: await inhabited(other), stop: nothing };
    expect(await preemption.tell(stage, screen)).toBe(false);
  } finally {
    await Promise.all([other.stop(), fresh.stop()]);
  }
  expect(printed.slice(-2)).toEqual([
    "Without Lifeboat: VMs lost 2  (shop/db, shop/web)",
    "With Lifeboat: VMs moved 0, VMs lost: 2  (shop/db, shop/web)",
  ]);
});

async function nothing(): Promise<void> {
  // The story does not need it.
}
