/** Tests that owners can change their VMs while a NodeEvacuation is in progress. */
import { expect, test } from "vitest";
import type { FakeCluster } from "../../support/cluster.ts";
import { openApp } from "../../support/app.ts";
import { PINNED } from "../../support/fixtures.ts";
import { created, phaseOf } from "../../support/maintenance/kernel.ts";
import { launcher } from "../../support/preflight/fixtures.ts";
import { reconcileEvery } from "./reconcile-every.ts";

const DB = { namespace: "apps", name: "db" };
const KERNEL = { name: "kernel" };
const RESTART = { virtualMachines: { whenBlocked: "Restart" } };

test.each(["stops", "deletes"])("an owner who %s a restarting VM ends the wait for it", async (what) => {
  const fake = created(RESTART);
  const app = openApp(fake, (_, asked) => {
    if (asked?.subresource !== "restart") return undefined;
    fake.pods.delete(launcher("db"));
    fake.vmis.delete(DB);
    if (what === "stops") fake.api.merge("virtualmachines", DB, { spec: { runStrategy: "Halted" } });
    else fake.api.remove("virtualmachines", DB);
    return new Response("{}", { status: 202 });
  });
  await reconcileEvery(fake, app, 8);
  const ends = fake.evacuations.list().map(({ spec, status }) => `${spec.vmiName} ${status.phase}`);
  expect([phaseOf(fake), ...ends.toSorted()]).toEqual(["Evacuated", "db Withdrawn", "web Moved"]);
});

test.each<[string, (fake: FakeCluster) => unknown]>([
  ["is cancelled", (fake) => fake.api.merge("nodeevacuations", KERNEL, { spec: { intent: "Withdrawn" } })],
  ["is deleted", (fake) => fake.api.remove("nodeevacuations", KERNEL)],
  ["has ended", (fake) => fake.api.merge("nodeevacuations", KERNEL, { status: { phase: "Expired" } })],
])("if a NodeEvacuation %s before the request, no VM is restarted", async (_, end) => {
  const fake = created(RESTART);
  const asked: string[] = [];
  const app = openApp(fake, (label, request) => {
    if (request?.subresource === "restart") asked.push(label);
    if (label === "patch evacuations/status" && phaseOf(fake) === "Evacuating") end(fake);
  });
  await reconcileEvery(fake, app, 4);
  expect(phaseOf(fake)).not.toBe("Evacuating");
  expect(asked).toEqual([]);
});

const twenty = (runStrategy: string) =>
  Array.from({ length: 20 }, (_, index) => ({ name: `a-${index}`, vmi: PINNED, runStrategy }));

test("one VM that can be restarted is restarted beside many VMs that cannot be restarted", async () => {
  const fake = created({ ...RESTART, forceShutdowns: true }, [
    ...twenty("Halted"),
    { name: "web", vmi: PINNED, runStrategy: "Always" },
  ]);
  await reconcileEvery(fake, openApp(fake), 3);
  expect(fake.evacuations.list().map(({ spec }) => [spec.vmiName, spec.by])).toEqual([["web", "Restart"]]);
});

test("one VM with a strategy that shuts it down is evicted beside many VMs that stay", async () => {
  const none = { name: "web", vmi: { evictionStrategy: "None" }, runStrategy: "Always" };
  const fake = created({ forceShutdowns: true }, [...twenty("Always"), none]);
  await reconcileEvery(fake, openApp(fake));
  expect(fake.evictions).toContain(launcher("web").name);
});
