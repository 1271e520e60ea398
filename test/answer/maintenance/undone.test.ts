/** Tests that VMs which were stopped for a NodeEvacuation start again, whether the NodeEvacuation succeeds or not. */
import { expect, test } from "vitest";
import type { FakeCluster } from "../../support/cluster.ts";
import { openApp } from "../../support/app.ts";
import { NODE, PINNED } from "../../support/fixtures.ts";
import { created, phaseOf } from "../../support/maintenance/kernel.ts";
import { launcher, node as roomy } from "../../support/preflight/fixtures.ts";
import { reconcileEvery } from "./reconcile-every.ts";

const STOP = { virtualMachines: { whenBlocked: "ShutDown" } };
/** The seconds between two reconciles. */
const SOON = 9;
const DB = { namespace: "apps", name: "db" };

function turnOff(fake: FakeCluster, name = "db"): void {
  fake.pods.delete(launcher(name));
  fake.vmis.delete({ namespace: "apps", name });
  fake.api.merge("virtualmachines", { namespace: "apps", name }, { spec: { runStrategy: "Halted" } });
}

/** Reconciles until Lifeboat has requested a stop. Withdraws the NodeEvacuation, and reconciles once more. */
async function withdrawnOnceAsked(fake: FakeCluster, app: ReturnType<typeof openApp>, asked: readonly unknown[]) {
  for (let i = 0; i < 12 && asked.length === 0; i++) await reconcileEvery(fake, app, 1, SOON);
  fake.api.merge("nodeevacuations", { name: "kernel" }, { spec: { intent: "Withdrawn" } });
  await reconcileEvery(fake, app, 1, SOON);
}

test.each(["later", "while it is being withdrawn"])(
  "a VM that is being stopped at the withdrawal, and is off %s, starts again",
  async (when) => {
    const fake = created(STOP);
    const asked: string[] = [];
    const app = openApp(fake, (_, request) => {
      if (request?.label === "patch evacuations" && when !== "later") {
        turnOff(fake);
        fake.api.merge("evacuations", request, { status: { phase: "Stopped" } });
      }
      if (request?.subresource !== "stop" && request?.subresource !== "start") return undefined;
      asked.push(request.subresource);
      return new Response("{}", { status: 202 });
    });
    await withdrawnOnceAsked(fake, app, asked);
    expect(phaseOf(fake)).toBe("Withdrawn");
    if (when === "later") turnOff(fake);
    await reconcileEvery(fake, app, 1, SOON);
    expect(asked).toEqual(["stop", "start"]);
  },
);

test.each(["is withdrawn", "has ended, and its node is uncordoned"])(
  "when a NodeEvacuation %s, a VM starts despite two others that cannot be started or were changed",
  async (how) => {
    const vms = ["a", "b", "c"].map((name) => ({ name, vmi: PINNED, runStrategy: "Always" }));
    const fake = created(STOP, vms);
    const started = new Set<string>();
    const app = openApp(fake, (_, request) => {
      if (request?.subresource === "stop") turnOff(fake, request.name);
      else if (request?.subresource === "start") started.add(request.name);
      else return undefined;
      return new Response("{}", { status: request.subresource === "start" && request.name === "a" ? 500 : 202 });
    });
    const isWithdrawn = how === "is withdrawn";
    await reconcileEvery(fake, app, isWithdrawn ? 2 : 8);
    fake.api.merge("virtualmachines", { namespace: "apps", name: "b" }, { spec: { runStrategy: "Manual" } });
    if (isWithdrawn) fake.api.merge("nodeevacuations", { name: "kernel" }, { spec: { intent: "Withdrawn" } });
    else fake.nodes.put(roomy(NODE));
    for (let i = 0; i < 3; i++) {
      await app.reconcile();
      await app.settle();
    }
    expect(phaseOf(fake)).toBe(isWithdrawn ? "Withdrawn" : "Evacuated");
    expect([...started].toSorted()).toEqual(["a", "c"]);
  },
);

test("a start is requested only after the stop, because KubeVirt would ignore an earlier start", async () => {
  const fake = created(STOP, [{ name: "db", vmi: PINNED, runStrategy: "Manual" }]);
  const asked: string[] = [];
  const app = openApp(fake, (_, request) => {
    if (request?.subresource !== "stop" && request?.subresource !== "start") return undefined;
    asked.push(request.subresource);
    if (request.subresource === "stop")
      fake.api.merge("virtualmachines", DB, { status: { stateChangeRequests: [{ action: "Stop" }] } });
    return new Response("{}", { status: 202 });
  });
  await withdrawnOnceAsked(fake, app, asked);
  fake.pods.delete(launcher("db"));
  fake.vmis.delete(DB);
  await reconcileEvery(fake, app, 1, SOON);
  expect(asked).toEqual(["stop"]);
  fake.api.merge("virtualmachines", DB, { status: { stateChangeRequests: [] } });
  await reconcileEvery(fake, app, 1, SOON);
  expect(asked).toEqual(["stop", "start"]);
});
