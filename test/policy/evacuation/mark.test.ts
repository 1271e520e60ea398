/** Marking: the budget before the mark, wherever another party may migrate the VM once it is marked. */
import { describe, expect, test } from "vitest";
import { budgetName } from "../../../shared/policy/budget/budget-name.ts";
import { CAUSES, type Cause } from "../../../shared/policy/cause.ts";
import { markActions } from "../../../shared/policy/evacuation/mark.ts";
import { MOBILITY, settings, verbs, vmi } from "../fixtures.ts";

// prettier-ignore
test.each([
  ["migratable", settings(),                                           ["GrowBudget", "Mark"]],
  ["migratable", settings({ reconcilers: { budget: "Disabled" } }),    ["Mark"]],
  ["migratable", settings({ evictionsCovered: true }),                 ["Mark"]],
  ["pinned",     settings(),                                           ["Mark"]],
] as const)("%s: in this order", (mobility, given, expected) => {
  expect(verbs(markActions(vmi({ liveMigratable: MOBILITY[mobility] }), "ApiEviction", given))).toEqual(expected);
});

// prettier-ignore
const rows: readonly (readonly [Cause, required: boolean, urgency: string])[] = [
  // cause             the mark waits for the budget
  ["ApiEviction",      true,  "normal"],
  ["Descheduler",      true,  "normal"],
  ["DrainTaint",       true,  "normal"],
  ["Operator",         true,  "normal"],
  ["Preemption",       false, "urgent"],
  ["NoExecuteTaint",   false, "normal"],
  ["NodePressure",     false, "urgent"],
];

describe("by its cause", () => {
  test.each(rows)("%s: the mark waits for the budget: %s; %s", (cause, required, urgency) => {
    const subject = vmi();
    expect(markActions(subject, cause, settings())).toEqual([
      { verb: "GrowBudget", vmi: subject, name: budgetName(subject), required },
      { verb: "Mark", vmi: subject, urgency },
    ]);
  });

  test("the rows are every cause", () => {
    expect(rows.map(([cause]) => cause).toSorted()).toEqual([...CAUSES].toSorted());
  });
});
