/**
 * VirtualMachines: what their run strategies do, and what `start` and `stop` answer.
 * The answers are those of pkg/virt-api/rest/lifecycle.go, the rest is syncRunStrategy of virt-controller.
 */
import { expect, test } from "vitest";
import { pods } from "../../actors/resources.ts";
import { createNode, createVirtualMachine } from "../../fleet.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { eventually, useSandbox } from "../with-sandbox.ts";

const world = useSandbox({ terminationSeconds: 0 });
const namespace = "default";

const change = async (verb: "start" | "stop", name: string) => {
  const path = `/apis/subresources.kubevirt.io/v1/namespaces/${namespace}/virtualmachines/${name}/${verb}`;
  const { code, body } = await world.sandbox.client.raw({ method: "PUT", path, body: {} });
  const { message } = body as { readonly message?: string };
  return `${code} ${message ?? ""}`.trim();
};
const vmOf = (name: string) => world.sandbox.client.get(kubevirt.virtualMachines, { namespace, name });
const vmiOf = (name: string) => world.sandbox.client.get(kubevirt.virtualMachineInstances, { namespace, name });
const strategyOf = async (name: string) => (await vmOf(name))?.spec.runStrategy;
const refusal = (name: string, why: string) =>
  `409 Operation cannot be fulfilled on virtualmachine.kubevirt.io "${name}": ${why}`;

async function runs(runStrategy: string): Promise<string> {
  const name = runStrategy.toLowerCase();
  if ((await world.sandbox.client.list(kubevirt.virtualMachines, namespace)).items.length === 0) {
    await createNode(world.sandbox.client, "node-1");
  }
  await createVirtualMachine(world.sandbox.client, runStrategy, { namespace, name });
  return name;
}

const untilOff = (name: string) =>
  world.pass(
    async () => (await vmiOf(name)) === undefined && (await vmOf(name))?.status?.printableStatus === "Stopped",
  );

// prettier-ignore
test.each([
  // run strategy      stopped: is then  once more                                                started again: is then
  ["Always",         "Halted",         "VM is not running",                                     "Always"],
  ["Manual",         "Manual",         "VM is not running",                                     "Manual"],
  ["RerunOnFailure", "RerunOnFailure", "VM is not running",                                     "RerunOnFailure"],
  ["Once",           "Halted",         "VM is not running",                                     "Always"],
])("%s: stop, and start again", async (runStrategy, stopped, again, started) => {
  const name = await runs(runStrategy);
  const first = await vmiOf(name);
  expect(await change("start", name)).toBe(refusal(name, "VM is already running"));
  expect(await change("stop", name)).toBe("202");
  await untilOff(name);
  expect(await strategyOf(name)).toBe(stopped);
  expect(await change("stop", name)).toBe(refusal(name, again));
  expect(await change("start", name)).toBe("202");
  await eventually(async () => (await vmiOf(name))?.status?.phase).toBe("Running");
  expect(await strategyOf(name)).toBe(started);
  expect((await vmiOf(name))?.metadata.uid).not.toBe(first?.metadata.uid);
  await eventually(async () => (await vmOf(name))?.status?.stateChangeRequests).toEqual([]);
});

test("a VMI of no VirtualMachine has nothing that could be stopped", async () => {
  expect(await change("stop", "none")).toBe('404 virtualmachine.kubevirt.io "none" not found');
});

test("a guest that ends is started again by Always, not by Manual", async () => {
  const { client } = world.sandbox;
  const before = await vmiOf("always");
  await client.deleteAll(pods, namespace);
  await world.pass(async () => {
    const now = await vmiOf("always");
    return now?.status?.phase === "Running" && now.metadata.uid !== before?.metadata.uid;
  });
  await world.pass(async () => kubevirt.isFinal((await vmiOf("manual"))?.status));
  expect((await vmOf("manual"))?.status?.stateChangeRequests).toEqual([]);
});
