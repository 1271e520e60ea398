import { afterAll, beforeAll, expect, test } from "vitest";
import { drainNode } from "../../infra/demo/drain-client.ts";
import { summarize } from "../../infra/demo/summary.ts";
import { readWorld } from "../../infra/demo/watch.ts";
import { waitFor } from "../../infra/sandbox/actors/wait-for.ts";
import { createNode, createVirtualMachineInstance } from "../../infra/sandbox/fleet.ts";
import { virtualMachineInstances } from "../../infra/sandbox/kubevirt/resources.ts";
import { startSandbox, type Sandbox } from "../../infra/sandbox/sandbox.ts";

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox({ terminationSeconds: 0 });
});
afterAll(() => sandbox.stop());

test("without Lifeboat a drain loses VMs, and the demo would say so", async () => {
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
