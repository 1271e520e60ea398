/** What owners of VMs do or want while a NodeEvacuation is at work. */
import { expect, test } from "vitest";
import { openFakeDoors } from "../../support/fake-doors.ts";
import { PINNED } from "../../support/fixtures.ts";
import { created, kubevirt, phaseOf } from "../../support/maintenance/kernel.ts";
import { launcher } from "../../support/preflight/fixtures.ts";

const DB = { namespace: "apps", name: "db" };

test.each(["stops", "deletes"])("who %s a VM that is being restarted is not waited for", async (what) => {
  const fake = created({ virtualMachines: { whenBlocked: "Restart" } });
  const doors = openFakeDoors(fake, (_, asked) => {
    if (asked?.subresource !== "restart") return undefined;
    fake.pods.delete(launcher("db"));
    fake.vmis.delete(DB);
    if (what === "stops") fake.api.merge("virtualmachines", DB, { spec: { runStrategy: "Halted" } });
    else fake.api.remove("virtualmachines", DB);
    return new Response("{}", { status: 202 });
  });
  for (let look = 0; look < 8 && phaseOf(fake) !== "Evacuated"; look++) {
    await doors.reconcile();
    await doors.settle();
    kubevirt(fake);
    doors.pass(61);
  }
  expect(phaseOf(fake)).toBe("Evacuated");
  expect(
    fake.evacuations
      .list()
      .map(({ spec, status }) => `${spec.vmiName} ${status.phase}`)
      .toSorted(),
  ).toEqual(["db Withdrawn", "web Moved"]);
});

test.each(["is cancelled", "is deleted", "has ended"])(
  "where a NodeEvacuation %s first, KubeVirt is asked for no restart",
  async (what) => {
    const fake = created({ virtualMachines: { whenBlocked: "Restart" } });
    const asked: string[] = [];
    const doors = openFakeDoors(fake, (label, request) => {
      if (request?.subresource === "restart") asked.push(label);
      if (label !== "patch evacuations/status" || phaseOf(fake) !== "Evacuating") return;
      if (what === "is cancelled")
        fake.api.merge("nodeevacuations", { name: "kernel" }, { spec: { intent: "Withdrawn" } });
      else if (what === "is deleted") fake.api.remove("nodeevacuations", { name: "kernel" });
      else fake.api.merge("nodeevacuations", { name: "kernel" }, { status: { phase: "Expired" } });
    });
    for (let look = 0; look < 4; look++) {
      await doors.reconcile();
      await doors.settle();
      doors.pass(61);
    }
    expect(asked).toEqual([]);
  },
);

test("of a node full of VMs that cannot be restarted, one that can is", async () => {
  const stay = Array.from({ length: 20 }, (_, index) => ({ name: `a-${index}`, vmi: PINNED, runStrategy: "Halted" }));
  const able = { name: "web", vmi: PINNED, runStrategy: "Always" };
  const fake = created({ virtualMachines: { whenBlocked: "Restart" } }, [...stay, able]);
  const doors = openFakeDoors(fake);
  for (let look = 0; look < 3; look++) {
    await doors.reconcile();
    await doors.settle();
    doors.pass(61);
  }
  expect(fake.evacuations.list().map(({ spec }) => [spec.vmiName, spec.by])).toEqual([["web", "Restart"]]);
});

test("of a node full of VMs that stay, one that its eviction ends goes", async () => {
  const stay = Array.from({ length: 20 }, (_, index) => ({ name: `a-${index}`, vmi: PINNED, runStrategy: "Always" }));
  const none = { name: "web", vmi: { evictionStrategy: "None" }, runStrategy: "Always" };
  const fake = created({}, [...stay, none]);
  const doors = openFakeDoors(fake);
  await doors.reconcile();
  await doors.settle();
  expect(fake.evictions).toContain(launcher("web").name);
});
