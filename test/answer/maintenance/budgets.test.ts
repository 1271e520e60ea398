/** Tests that Lifeboat restarts or stops a VM only if the owner's PodDisruptionBudgets allow an eviction. */
import { expect, test } from "vitest";
import { keptByBudgets } from "../../../shared/budget/refusal.ts";
import { budget } from "../../support/fixtures.ts";
import { verdictOf } from "../../support/maintenance/kernel.ts";
import { foreignBudget, launcher } from "../../support/preflight/fixtures.ts";
import { ticks, phases, RESTART, stage, type Stage, statusOf, STOP, until } from "./finishing.ts";

const LABELS = { ...launcher("db").labels, app: "db" };

function allow({ fake }: Stage, disruptionsAllowed: number): void {
  const status = { observedGeneration: 1, currentHealthy: 1, desiredHealthy: 1, disruptionsAllowed };
  fake.budgets.put(foreignBudget("owners", "db", { status }));
}

function guarded(spec: object, code?: (what: string) => number, onWrite?: (on: Stage) => void): Stage {
  const on: Stage = stage(spec, code, undefined, (what) => what === "evacuations" && onWrite?.(on));
  on.fake.configure({ disruptionBudgets: "Never" });
  on.fake.pods.put(launcher("db", { labels: LABELS }));
  return on;
}

test.each([
  ["restart", RESTART],
  ["stop", STOP],
])("a %s waits for the budget of the VM's owner, and forecast and status name the budget", async (what, spec) => {
  const on = guarded(spec);
  allow(on, 0);
  await ticks(on, 12);
  expect([on.asked, phases(on)]).toEqual([[], []]);
  expect(verdictOf(on.fake)).toBe("WillBlock");
  expect(statusOf(on)).toMatchObject({
    phase: "Blocked",
    blockers: [
      {
        name: "db",
        reason: "BudgetExhausted",
        message: expect.stringContaining("PodDisruptionBudget owners allows no disruption"),
        whoCanFix: expect.stringContaining("the owner of the PodDisruptionBudget"),
      },
    ],
  });
  allow(on, 1);
  await until(on, () => on.asked.length > 0);
  expect(on.asked).toEqual([what]);
});

test("a refused restart is not repeated while the budget allows no disruption", async () => {
  let code = 503;
  const on = guarded(RESTART, () => code);
  allow(on, 1);
  await until(on, () => on.asked.length > 0);
  code = 202;
  allow(on, 0);
  await ticks(on, 12);
  expect(on.asked).toEqual(["restart"]);
  expect(on.fake.evacuations.list()[0]?.status.message).toContain("PodDisruptionBudget owners allows no disruption");
  allow(on, 1);
  await until(on, () => on.asked.length > 1);
});

test("a budget that is exhausted after the decision prevents the request", async () => {
  let isTaken = true;
  const on = guarded(RESTART, undefined, (stageOf) => isTaken && allow(stageOf, 0));
  allow(on, 1);
  await until(on, () => phases(on).length > 0);
  await ticks(on, 3);
  expect([on.asked, phases(on)]).toEqual([[], ["Restarting"]]);
  isTaken = false;
  allow(on, 1);
  await until(on, () => on.asked.length > 0);
});

test("two stops need two disruptions of a budget, successive restarts only one", () => {
  const labels = { app: "db" };
  const pods = ["a", "b", "c"].map((name) => launcher(name, { labels: { ...launcher(name).labels, ...labels } }));
  const one = [foreignBudget("owners", "db", { status: { disruptionsAllowed: 1 } })];
  const kept = (isBack: boolean) => [
    ...keptByBudgets(
      pods.map((pod) => ({ pod, isBack })),
      one,
    ).keys(),
  ];
  expect(kept(false)).toEqual(["pod-b", "pod-c"]);
  expect(kept(true)).toEqual([]);
});

test("KubeVirt's own budget of the VM does not prevent a restart", async () => {
  const on = guarded(RESTART);
  const selector = { matchLabels: { app: "db" }, matchExpressions: [] };
  on.fake.budgets.put(budget({ name: "kubevirt-db", managedByUs: false, selector }));
  await until(on, () => on.asked.length > 0);
  expect(on.asked).toEqual(["restart"]);
});
