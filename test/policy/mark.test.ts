/** Marking: the budget before the mark, wherever somebody may migrate the VM once it is marked. */
import { describe, expect, test } from "vitest";
import { budgetName } from "../../shared/policy/budget.ts";
import type { Cause } from "../../shared/policy/cause.ts";
import { grownForLabel } from "../../shared/policy/grown-for.ts";
import { markActions } from "../../shared/policy/mark.ts";
import { MOBILITY, NOW, record, settings, vmi } from "./fixtures.ts";

const AT = { settings: settings(), now: NOW };
const WITHOUT_BUDGETS = settings({ reconcilers: { budget: "Disabled" } });

describe("what marking does", () => {
  test.each([
    ["migratable", settings(), ["GrowBudget", "Mark"]],
    ["migratable", WITHOUT_BUDGETS, ["Mark"]],
    ["pinned", settings(), ["Mark"]],
    ["pinned", WITHOUT_BUDGETS, ["Mark"]],
  ] as const)("%s: in this order", (mobility, given, expected) => {
    const actions = markActions(vmi({ liveMigratable: MOBILITY[mobility] }), record(), { settings: given, now: NOW });
    expect(actions.map(({ verb }) => verb)).toEqual(expected);
  });

  // prettier-ignore
  test.each<[Cause, boolean]>([
    ["ApiEviction",     true],
    ["Descheduler",     true],
    ["DrainTaint",      true],
    ["Operator",        true],
    ["Preemption",      false],
    ["NoExecuteTaint",  false],
    ["NodePressure",    false],
  ])("%s: the VMI's own budget, and the mark waits for it: %j", (cause, required) => {
    const subject = vmi();
    const [grow] = markActions(subject, record({ cause }), AT);
    expect(grow).toEqual({ verb: "GrowBudget", vmi: subject, name: budgetName(subject), grownFor: grownForLabel(subject, NOW), required });
  });

  test("as urgent as its cause", () => {
    expect(markActions(vmi(), record({ cause: "NodePressure" }), AT)).toMatchObject([{}, { urgency: "urgent" }]);
    expect(markActions(vmi(), record({ cause: "ApiEviction" }), AT)).toMatchObject([{}, { urgency: "normal" }]);
  });
});
