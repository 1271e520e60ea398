/**
 * Tests when Lifeboat sets a VMI's evacuationNodeName, when KubeVirt sets it instead, which attempts are urgent, and
 * how long Lifeboat waits after a migration.
 */
import { expect, test, describe } from "vitest";
import { type Cause, CAUSES } from "../../../shared/kube/evacuation.ts";
import { markActions, urgencyOf } from "../../../shared/evacuation/mark.ts";
import { marked, only, settings, verbs, vmi, evacuation, migration, at, NOW } from "../../support/fixtures.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { type Around, planned } from "../../support/worlds.ts";
import { cooldownLeft, cooldownReason } from "../../../shared/evacuation/cooldown.ts";

const GENTLE = { isGentle: true };
const STALE = { evacuationNodeName: "node09" };

// prettier-ignore
test.each([
  ["without budgets, the VM is only marked",                       "Operator",    vmi(),                                               settings({ disruptionBudgets: "Never" }), ["Mark"]],
  ["on an eviction, KubeVirt's webhook marks the VM",              "ApiEviction", vmi(),                                               settings(),                                        ["CreateBudget"]],
  ["a gently moved VM gets no urgent label",                       "Preemption",  vmi(GENTLE),                                         settings(),                                        ["CreateBudget", "Mark"]],
  ["a marked VM gets the label when its cause is urgent",          "Preemption",  marked(),                                            settings(),                                        ["Label"]],
  ["a mark for a former node is replaced",                         "Operator",    vmi(STALE),                                          settings(),                                        ["CreateBudget", "Unmark", "Mark"]],
  ["a mark for a former node is replaced together with its label", "Preemption",  vmi({ ...STALE, evacuationLabel: "urgent" }),        settings(),                                        ["CreateBudget", "Unmark", "Label", "Mark"]],
] as const)("%s (%s)", (...[, cause, subject, given, expected]) => {
  expect(verbs(markActions(subject, cause, given))).toEqual(expected);
});

const rows: Readonly<Record<Cause, readonly [waitsForBudget: boolean, urgency: string | undefined, asks: boolean]>> = {
  ApiEviction: [true, undefined, false],
  Descheduler: [true, undefined, true],
  DrainTaint: [true, undefined, false],
  Operator: [true, undefined, true],
  NodeEvacuation: [true, undefined, true],
  Preemption: [false, "urgent", true],
  NoExecuteTaint: [false, "urgent", true],
  DeviceTaint: [false, "urgent", true],
  NodePressure: [false, "urgent", true],
  NodeTermination: [false, "urgent", true],
};

test.each(CAUSES)(
  "%s: the mark waits for the budget or not, is urgent or not, and is set by Lifeboat or KubeVirt",
  (cause) => {
    const actions = markActions(vmi(), cause, settings());
    const [required, urgency, asks] = rows[cause];
    expect(only("CreateBudget", actions)).toEqual([
      { verb: "CreateBudget", vmi: vmi(), ...(!required && { optional: true }) },
    ]);
    expect(only("Label", actions)).toEqual(urgency === undefined ? [] : [{ verb: "Label", vmi: vmi(), urgency }]);
    const source = cause === "Descheduler" ? { forDescheduler: true } : {};
    expect(only("Mark", actions)).toEqual(asks ? [{ verb: "Mark", vmi: vmi(), ...source }] : []);
  },
);

function label(e: EvacuationFacts, tweak: Partial<Around>): string {
  const failed = [migration({ phase: "Failed" })];
  const [found] = only("Label", planned(e, { migrations: failed, ...tweak }));
  return found?.urgency ?? "-";
}

const after = (attempts: number) => evacuation({ status: { attempts } });
const labelled = (evacuationLabel: string) => ({ vmis: [marked({ evacuationLabel })] });
const byTaint = evacuation({ spec: { cause: "DrainTaint" }, status: { attempts: 3, conditions: [] } });
const drained = { taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] };
const two = [migration({ phase: "Failed" }), migration({ phase: "Failed", uid: "second" })];

// prettier-ignore
test.each<readonly [what: string, EvacuationFacts, Partial<Around>, expected: string]>([
  ["after the fourth failure, one attempt is left",              after(3), {},                                                   "urgent"],
  ["after two failures at once, one attempt is left",            after(2), { migrations: two },                                  "urgent"],
  ["after the fifth failure, no attempt is left",                after(4), {},                                                   "-"],
  ["the attempt has been urgent from the start",                 after(3), labelled("urgent"),                                   "-"],
  ["the VM is moved gently",                                     after(3), { vmis: [marked({ isGentle: true })] },               "-"],
  ["the drain taint evacuates without a mark",                   byTaint,  { vmis: [vmi()], nodes: [{ ...drained, name: "node01", ready: true, unschedulable: false, pressures: [] }] }, "-"],
])("when %s, the last attempt is urgent or unchanged: $3", (_, e, tweak, expected) => expect(label(e, tweak)).toBe(expected));

describe("a new evacuation's urgency", () => {
  test.each<readonly [Cause, gently: boolean, expected: string]>([
    ["ApiEviction", false, "normal"],
    ["Preemption", true, "normal"],
  ])("for %s, gently %s, is %s", (cause, isGentle, expected) =>
    expect(urgencyOf(vmi({ isGentle }), cause)).toBe(expected),
  );
});

// prettier-ignore
test.each<[string, age: number | undefined, cooldownSeconds: number, left: number]>([
  ["never moved",                        undefined,  900,  0],
  ["just moved",                         0,          900,  900],
  // The clock of the cluster is ahead, or wrong.
  ["moves in a moment",                  -30,        900,  870],
  ["moves next year",                    -3e7,       900,  0],
])("a VM that %s (%s s ago), with a cooldown of %s s, waits %s s", (_, age, cooldownSeconds, left) => {
  const moved = vmi(age === undefined ? {} : { movedAt: at(-age).getTime() });
  const moment = { settings: settings({ evacuation: { cooldownSeconds } }), now: NOW };
  expect(cooldownLeft(moved, moment)).toBe(left);
  expect(cooldownReason(moved, moment)?.includes(`for ${left} s`)).toBe(left > 0 ? true : undefined);
});
