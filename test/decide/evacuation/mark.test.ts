/** Marking: what comes before the mark, and who is asked to set it. */
import { expect, test } from "vitest";
import { type Cause, CAUSES } from "../../../shared/kube/evacuation.ts";
import { markActions } from "../../../shared/evacuation/mark.ts";
import { marked, only, PINNED, settings, verbs, vmi } from "../../support/fixtures.ts";

const GENTLE = { isGentle: true };
const STALE = { evacuationNodeName: "node09" };

// prettier-ignore
test.each([
  ["migratable",                            "Operator",    vmi(),                                               settings(),                                        ["CreateBudget", "Mark"]],
  ["budgets off",                           "Operator",    vmi(),                                               settings({ disruptionBudgets: "Never" }), ["Mark"]],
  ["budgets are noise",                     "Operator",    vmi(),                                               settings({ evictionsCovered: true }),              ["Mark"]],
  ["pinned",                                "Operator",    vmi(PINNED),                                         settings(),                                        ["CreateBudget", "Mark"]],
  ["an eviction: KubeVirt reviews it, too", "ApiEviction", vmi(),                                               settings(),                                        ["CreateBudget"]],
  ["urgent: KubeVirt finds the label",      "Preemption",  vmi(),                                               settings(),                                        ["CreateBudget", "Label", "Mark"]],
  ["… unless the VM is to move gently",     "Preemption",  vmi(GENTLE),                                         settings(),                                        ["CreateBudget", "Mark"]],
  ["… or has it",                           "Preemption",  vmi({ evacuationLabel: "urgent" }),                  settings(),                                        ["CreateBudget", "Mark"]],
  ["marked",                                "Operator",    marked(),                                            settings(),                                        []],
  ["… and now it is urgent",                "Preemption",  marked(),                                            settings(),                                        ["Label"]],
  ["for a node that it has left",           "Operator",    vmi(STALE),                                          settings(),                                        ["CreateBudget", "Unmark", "Mark"]],
  ["… by an eviction",                      "ApiEviction", vmi(STALE),                                          settings(),                                        ["CreateBudget", "Unmark"]],
  ["… with the label, which goes with it",  "Preemption",  vmi({ ...STALE, evacuationLabel: "urgent" }),        settings(),                                        ["CreateBudget", "Unmark", "Label", "Mark"]],
] as const)("%s (%s)", (...[, cause, subject, given, expected]) => {
  expect(verbs(markActions(subject, cause, given))).toEqual(expected);
});

const rows: Readonly<Record<Cause, readonly [waitsForBudget: boolean, urgency: string | undefined, asks: boolean]>> = {
  ApiEviction: [true, undefined, false],
  Descheduler: [true, undefined, true],
  DrainTaint: [true, undefined, false],
  Operator: [true, undefined, true],
  NodeEvacuation: [true, undefined, true],
  EvictionRequest: [true, undefined, true],
  Preemption: [false, "urgent", true],
  NoExecuteTaint: [false, undefined, true],
  DeviceTaint: [false, undefined, true],
  NodePressure: [false, "urgent", true],
  NodeTermination: [false, "urgent", true],
};

test.each(CAUSES)("%s: whether the mark waits for the budget, its urgency, and whether KubeVirt is asked", (cause) => {
  const actions = markActions(vmi(), cause, settings());
  const [required, urgency, asks] = rows[cause];
  expect(only("CreateBudget", actions)).toEqual([
    { verb: "CreateBudget", vmi: vmi(), ...(!required && { optional: true }) },
  ]);
  expect(only("Label", actions)).toEqual(urgency === undefined ? [] : [{ verb: "Label", vmi: vmi(), urgency }]);
  const source = cause === "Descheduler" ? { forDescheduler: true } : {};
  expect(only("Mark", actions)).toEqual(asks ? [{ verb: "Mark", vmi: vmi(), ...source }] : []);
});
