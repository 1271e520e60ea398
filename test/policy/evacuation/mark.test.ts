/** Marking: the budget before the mark, wherever another party may migrate the VM once it is marked. */
import { expect, test } from "vitest";
import { CAUSES, type Cause } from "../../../shared/policy/cause.ts";
import { markActions } from "../../../shared/policy/evacuation/mark.ts";
import { budget, only, PINNED, settings, verbs, vmi } from "../fixtures.ts";

// prettier-ignore
test.each([
  ["migratable",       {},     settings(),                                         ["GrowBudget", "Mark"]],
  ["budgets off",      {},     settings({ disruptionBudgets: "Never" }),  ["Mark"]],
  ["budgets are noise", {},    settings({ evictionsCovered: true }),               ["Mark"]],
  ["pinned",           PINNED, settings(),                                         ["Mark"]],
])("%s: in this order", (_, tweak, given, expected) => {
  expect(verbs(markActions(vmi(tweak), "ApiEviction", given))).toEqual(expected);
});

const rows: Readonly<Record<Cause, readonly [waitsForBudget: boolean, urgency: string]>> = {
  ApiEviction: [true, "normal"],
  Descheduler: [true, "normal"],
  DrainTaint: [true, "normal"],
  Operator: [true, "normal"],
  Preemption: [false, "urgent"],
  NoExecuteTaint: [false, "normal"],
  NodePressure: [false, "urgent"],
  NodeTermination: [false, "urgent"],
};

test.each(CAUSES)("%s: whether the mark waits for the budget, and its urgency", (cause) => {
  const actions = markActions(vmi(), cause, settings());
  const [required, urgency] = rows[cause];
  expect(only("GrowBudget", actions)).toMatchObject([{ vmi: vmi(), name: budget().name, required }]);
  const source = cause === "Descheduler" ? { forDescheduler: true } : {};
  expect(only("Mark", actions)).toEqual([{ verb: "Mark", vmi: vmi(), urgency, ...source }]);
});
