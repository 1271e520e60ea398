/**
 * Tests the status of a NodeEvacuation after a resume, after guests were shut down, with pods that remain, and while
 * requests fail.
 */
import { expect, test } from "vitest";
import { reconcileWithin } from "../../../functions/reconcile.ts";
import { reconcileActive, reconcileUnderWay } from "../../../shared/reconcile/reconcile.ts";
import { openApp } from "../../support/app.ts";
import { NODE, PINNED, time } from "../../support/fixtures.ts";
import { created, phaseOf, type Vm } from "../../support/maintenance/kernel.ts";
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

test.each([
  ["patch nodes", "Scheduled", `PATCH /api/v1/nodes/${NODE}`],
  ["create evacuations", "Blocked", "POST /apis/lifeboat.dev/v1alpha1/namespaces/apps/evacuations"],
])("a drain without the permission to %s is %s, and its status names the request", async (label, phase, request) => {
  const fake = created({});
  const app = openApp(fake, (_, asked) => (asked?.label === label ? new Response("{}", { status: 403 }) : undefined));
  const on = { fake, app, asked: [] };
  await ticks(on, 1);
  expect(statusOf(on)).toMatchObject({
    phase,
    message: expect.stringContaining(`Lifeboat lacks a permission (${request})`),
  });
});

test("a read that fails once does not change the status of a drain", async () => {
  let isFailing = false;
  const fake = created({});
  const app = openApp(fake, (_, asked) =>
    isFailing && asked?.verb === "get" && asked.resource === "nodes" ? new Response("{}", { status: 500 }) : undefined,
  );
  const on = { fake, app, asked: [] };
  await ticks(on, 1);
  const before = statusOf(on);
  expect(phaseOf(fake)).toBe("Evacuating");
  isFailing = true;
  await ticks(on, 1);
  expect(statusOf(on)).toEqual(before);
});

test.each([
  ["after its start", {}, "Blocked"],
  ["before notBefore", { schedule: { notBefore: time(3600) } }, "Scheduled"],
])("%s, a drain whose node cannot be parsed is $2, and its status says so", async (_, spec, phase) => {
  let isOdd = false;
  const fake = created(spec);
  const app = openApp(fake, (_, asked) =>
    isOdd && asked?.verb === "get" && asked.resource === "nodes"
      ? Response.json({ kind: "Node", metadata: { name: NODE }, spec: { taints: 7 } })
      : undefined,
  );
  const on = { fake, app, asked: [] };
  await ticks(on, 1);
  isOdd = true;
  await ticks(on, 1);
  expect(statusOf(on)).toMatchObject({
    phase,
    message: expect.stringContaining(`Lifeboat cannot parse the answer to GET /api/v1/nodes/${NODE}`),
  });
});

test("a drain is Evacuated only after Lifeboat has handed its cordon over to people", async () => {
  let [patches, isFailing] = [0, true];
  const fake = created({}, []);
  const app = openApp(fake, (_, asked) => {
    if (asked?.label !== "patch nodes") return undefined;
    patches += 1;
    // The first patch cordons the node.
    return patches > 1 && isFailing ? new Response("{}", { status: 500 }) : undefined;
  });
  const on = { fake, app, asked: [] };
  await ticks(on, 1);
  expect([phaseOf(fake), patches > 1]).toEqual(["Evacuating", true]);
  isFailing = false;
  await ticks(on, 1);
  const node = fake.nodes.get({ name: NODE });
  expect([phaseOf(fake), node?.unschedulable, node?.cordonedBy]).toEqual(["Evacuated", true, undefined]);
});

const DB_VM: Vm = { name: "db", vmi: PINNED, runStrategy: "Always" };

// prettier-ignore
test.each<readonly [what: string, phase: string, spec: object, vms: readonly Vm[], pods: readonly string[], isUnderWay: boolean]>([
  ["is evacuating",               "Evacuating",  {},                                         [],       ["cart"],  true],
  ["is blocked",                  "Blocked",     {},                                         [DB_VM],  [],        true],
  ["waits until notBefore",       "Scheduled",   { schedule: { notBefore: time(3600) } },    [],       ["cart"],  false],
  ["is paused before its start",  "Paused",      { progress: "Paused" },                     [],       ["cart"],  false],
])("a NodeEvacuation that %s is reconciled again within seconds: $5", async (...[, phase, spec, vms, pods, isUnderWay]) => {
  const fake = created(spec, vms);
  for (const name of pods) {
    fake.pods.put(plainPod(name));
    fake.evictionAnswers.set(name, { code: 429, message: "TooManyRequests" });
  }
  const found = await reconcileWithin(openApp(fake).target, 10, reconcileActive);
  expect([phaseOf(fake), found.isUnderWay]).toEqual([phase, isUnderWay]);
});
