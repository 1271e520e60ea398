/** VMs that were stopped for a NodeEvacuation start again, however it ends. */
import { expect, test } from "vitest";
import type { FakeCluster } from "../../support/fake-cluster.ts";
import { type FakeDoors, openFakeDoors } from "../../support/fake-doors.ts";
import { NODE, PINNED } from "../../support/fixtures.ts";
import { created, phaseOf } from "../../support/maintenance/kernel.ts";
import { launcher, node as roomy } from "../../support/preflight/fixtures.ts";

function turnOff(fake: FakeCluster, name = "db"): void {
  fake.pods.delete(launcher(name));
  fake.vmis.delete({ namespace: "apps", name });
  fake.api.merge("virtualmachines", { namespace: "apps", name }, { spec: { runStrategy: "Halted" } });
}

/** Looks until a stop is asked for, then cancels the NodeEvacuation and looks again; resolves to a further look. */
async function cancelledOnceAsked(fake: FakeCluster, doors: FakeDoors, asked: readonly string[]) {
  const look = async () => {
    await doors.reconcile();
    await doors.settle();
    doors.pass(asked.length === 0 ? 61 : 9);
  };
  for (let count = 0; count < 6 && asked.length === 0; count++) await look();
  fake.api.merge("nodeevacuations", { name: "kernel" }, { spec: { intent: "Withdrawn" } });
  await look();
  return look;
}

test.each(["later", "while it is being withdrawn"])(
  "one that is being stopped when it is withdrawn, and is off %s",
  async (when) => {
    const fake = created({ virtualMachines: { whenBlocked: "ShutDown" } });
    const asked: string[] = [];
    const doors = openFakeDoors(fake, (_, request) => {
      if (request?.label === "patch evacuations" && when !== "later") {
        turnOff(fake);
        fake.api.merge("evacuations", request, { status: { phase: "Stopped" } });
      }
      if (request?.subresource !== "stop" && request?.subresource !== "start") return undefined;
      asked.push(request.subresource);
      return new Response("{}", { status: 202 });
    });
    const look = await cancelledOnceAsked(fake, doors, asked);
    expect(phaseOf(fake)).toBe("Withdrawn");
    if (when === "later") turnOff(fake);
    await look();
    expect(asked).toEqual(["stop", "start"]);
  },
);

test("of two VMs that are to start again one is refused: the other one starts", async () => {
  const vms = ["a", "b"].map((name) => ({ name, vmi: PINNED, runStrategy: "Always" }));
  const fake = created({ virtualMachines: { whenBlocked: "ShutDown" } }, vms);
  const started: string[] = [];
  const doors = openFakeDoors(fake, (_, request) => {
    if (request?.subresource === "stop") turnOff(fake, request.name);
    else if (request?.subresource === "start") started.push(request.name);
    else return undefined;
    return new Response("{}", { status: request.subresource === "start" && request.name === "a" ? 500 : 202 });
  });
  for (let count = 0; count < 8 && phaseOf(fake) !== "Evacuated"; count++) {
    await doors.reconcile();
    await doors.settle();
    doors.pass(61);
  }
  expect(phaseOf(fake)).toBe("Evacuated");
  fake.nodes.put(roomy(NODE));
  await doors.reconcile();
  expect(started.toSorted()).toEqual(["a", "b"]);
});

test("one that KubeVirt refuses to start does not keep the NodeEvacuation from ending", async () => {
  const fake = created({ virtualMachines: { whenBlocked: "ShutDown" } });
  const doors = openFakeDoors(fake, (_, request) => {
    if (request?.subresource === "stop") turnOff(fake);
    else if (request?.subresource !== "start") return undefined;
    return new Response("{}", { status: request.subresource === "start" ? 500 : 202 });
  });
  for (let count = 0; count < 6; count++) {
    await doors.reconcile();
    await doors.settle();
    doors.pass(61);
    if (count === 3) fake.api.merge("nodeevacuations", { name: "kernel" }, { spec: { intent: "Withdrawn" } });
  }
  expect(phaseOf(fake)).toBe("Withdrawn");
});

test("a start is asked for only when the stop is over: KubeVirt would forget it", async () => {
  const vm = { namespace: "apps", name: "db" };
  const fake = created({ virtualMachines: { whenBlocked: "ShutDown" } }, [
    { name: "db", vmi: PINNED, runStrategy: "Manual" },
  ]);
  const asked: string[] = [];
  const doors = openFakeDoors(fake, (_, request) => {
    if (request?.subresource !== "stop" && request?.subresource !== "start") return undefined;
    asked.push(request.subresource);
    if (request.subresource === "stop")
      fake.api.merge("virtualmachines", vm, { status: { stateChangeRequests: [{ action: "Stop" }] } });
    return new Response("{}", { status: 202 });
  });
  const look = await cancelledOnceAsked(fake, doors, asked);
  fake.pods.delete(launcher("db"));
  fake.vmis.delete(vm);
  await look();
  expect(asked).toEqual(["stop"]);
  fake.api.merge("virtualmachines", vm, { status: { stateChangeRequests: [] } });
  await look();
  expect(asked).toEqual(["stop", "start"]);
});
