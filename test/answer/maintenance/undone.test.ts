/** A NodeEvacuation is withdrawn while a VM is being stopped for it: once the VM is off, it is started again. */
import { expect, test } from "vitest";
import type { FakeCluster } from "../../support/fake-cluster.ts";
import { openFakeDoors } from "../../support/fake-doors.ts";
import { created, phaseOf } from "../../support/maintenance/kernel.ts";
import { launcher } from "../../support/preflight/fixtures.ts";

const DB = { namespace: "apps", name: "db" };

function turnOff(fake: FakeCluster): void {
  fake.pods.delete(launcher("db"));
  fake.vmis.delete(DB);
  fake.api.merge("virtualmachines", DB, { spec: { runStrategy: "Halted" } });
}

test.each(["later", "while it is being withdrawn"])("which it is %s", async (when) => {
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
  const look = async () => {
    await doors.reconcile();
    await doors.settle();
    doors.pass(asked.length === 0 ? 61 : 9);
  };
  for (let count = 0; count < 6 && asked.length === 0; count++) await look();
  fake.api.merge("nodeevacuations", { name: "kernel" }, { spec: { intent: "Withdrawn" } });
  await look();
  expect(phaseOf(fake)).toBe("Withdrawn");
  if (when === "later") turnOff(fake);
  await look();
  expect(asked).toEqual(["stop", "start"]);
});
