/** Tests the status of a NodeEvacuation after a resume, after guests were shut down, and with pods that remain. */
import { expect, test } from "vitest";
import { reconcileWithin } from "../../../functions/reconcile.ts";
import { reconcileActive, reconcileUnderWay } from "../../../shared/reconcile/reconcile.ts";
import { openApp } from "../../support/app.ts";
import { created, phaseOf } from "../../support/maintenance/kernel.ts";
import { launcher, plainPod } from "../../support/preflight/fixtures.ts";
import { KERNEL, RESTART, ticks, pause, runOn, stage, statusOf, until, withdraw } from "./finishing.ts";

test("without watches, a resumed NodeEvacuation continues at the next reconcile of a tick", async () => {
  const on = stage(RESTART);
  await ticks(on, 2);
  pause(on);
  const reconcile = (work: typeof reconcileActive) => reconcileWithin(on.app.target, 10, work);
  expect([(await reconcile(reconcileActive)).isUnderWay, phaseOf(on.fake)]).toEqual([true, "Paused"]);
  on.fake.api.merge("nodeevacuations", KERNEL, { spec: { progress: "Running" } });
  await reconcile(reconcileUnderWay);
  expect(phaseOf(on.fake)).toBe("Evacuating");
});

test("a guest that shuts down because of an eviction is counted and named", async () => {
  const none = { name: "none", vmi: { evictionStrategy: "None" }, runStrategy: "Always" };
  const fake = created({}, [none]);
  const app = openApp(fake);
  const on = { fake, app, asked: [] };
  await until(on, () => fake.evictions.length > 0);
  fake.pods.delete(launcher("none"));
  runOn(fake, "node02");
  fake.vmis.delete({ namespace: "apps", name: "none" });
  await until(on, () => phaseOf(fake) === "Evacuated");
  expect(statusOf(on)).toMatchObject({
    message: expect.stringContaining("of which 1 shut down by their eviction strategy (apps/none)"),
    virtualMachines: { total: 1, left: 0, shutDown: 1 },
    outcomes: [{ name: "none", uid: "vmi-none", outcome: "ShutDown" }],
  });
});

test("a guest that is shutting down when the NodeEvacuation is withdrawn has the outcome ShutDown", async () => {
  const none = { name: "none", vmi: { evictionStrategy: "None" }, runStrategy: "Always" };
  const on = { fake: created({}, [none]), app: openApp(created({}, [])), asked: [] };
  on.app = openApp(on.fake);
  await until(on, () => on.fake.evictions.length > 0);
  on.fake.pods.put({ ...launcher("none"), deleting: true });
  withdraw(on);
  await ticks(on, 2);
  expect(phaseOf(on.fake)).toBe("Withdrawn");
  on.fake.pods.delete(launcher("none"));
  on.fake.vmis.delete({ namespace: "apps", name: "none" });
  await ticks(on, 2);
  expect(statusOf(on)).toMatchObject({ outcomes: [{ name: "none", outcome: "ShutDown" }] });
});

test.each([
  [429, "a webhook of another product", "TooManyRequests"],
  [403, "a policy", "ValidatingAdmissionPolicy denied the request"],
] as const)("a pod whose eviction is refused with %i by %s is named", async (code, _, message) => {
  const fake = created({}, []);
  const cart = plainPod("cart");
  fake.pods.put(cart);
  fake.evictionAnswers.set("cart", { code, message });
  const on = { fake, app: openApp(fake), asked: [] };
  await ticks(on, 2);
  expect(statusOf(on)).toMatchObject({ phase: "Evacuating", blockers: [{ name: "cart", reason: "EvictionRefused" }] });
  await ticks(on, 8);
  expect(phaseOf(fake)).toBe("Blocked");
  fake.evictionAnswers.clear();
  await until(on, () => phaseOf(fake) === "Evacuated");
});
