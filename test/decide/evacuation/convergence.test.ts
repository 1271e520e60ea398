/** Which label the next attempt finds on the VMI: the last one is urgent. */
import { describe, expect, test } from "vitest";
import type { Cause, EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { urgencyOf } from "../../../shared/evacuation/mark.ts";
import type { EvacuationWorld } from "../../../shared/evacuation/world.ts";
import {
  endedEvacuation,
  evacuation,
  EXTERNAL,
  marked,
  migration,
  only,
  settings,
  vmi,
} from "../../support/fixtures.ts";
import { planned } from "../../support/worlds.ts";

function label(e: EvacuationFacts, tweak: Partial<EvacuationWorld>): string {
  const failed = [migration({ phase: "Failed" })];
  const [found] = only("Label", planned(e, { migrations: failed, ...tweak }));
  return found?.urgency ?? "-";
}

const after = (attempts: number) => evacuation({ status: { attempts } });
const labelled = (evacuationLabel: string) => ({ vmis: [marked({ evacuationLabel })] });
const stuck = migration({ phase: "Pending", blockedBy: { type: "migrationRejectedByResourceQuota" } });
const byTaint = evacuation({ spec: { cause: "DrainTaint" }, status: { attempts: 3, conditions: [] } });
const drained = { taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] };
const two = [migration({ phase: "Failed" }), migration({ phase: "Failed", uid: "second" })];

// prettier-ignore
test.each<readonly [what: string, EvacuationFacts, Partial<EvacuationWorld>, expected: string]>([
  ["the first attempt has failed",            after(0), {},                                                   "-"],
  ["the third",                               after(2), {},                                                   "-"],
  ["the fourth: one is left",                 after(3), {},                                                   "urgent"],
  ["two at once: one is left",                after(2), { migrations: two },                                  "urgent"],
  ["the fifth: nothing follows",              after(4), {},                                                   "-"],
  ["the first of two that are allowed",       after(0), { settings: settings({ evacuation: { maxAttempts: 2 } }) }, "urgent"],
  ["urgent from the beginning",               after(3), labelled("urgent"),                                   "-"],
  ["another value was written by hand",       after(3), labelled("odd"),                                      "urgent"],
  ["the VM is to be moved gently",            after(3), { vmis: [marked({ isGentle: true })] },               "-"],
  ["it never began: stuck",                   after(3), { migrations: [stuck] },                              "-"],
  ["its owner's migration",                   after(3), { vmis: [marked(EXTERNAL)] },                         "-"],
  ["no mark: the drain taint",                byTaint,  { vmis: [vmi()], nodes: [{ ...drained, name: "node01", ready: true, unschedulable: false, pressures: [] }] }, "-"],
  ["it has been given up",                    endedEvacuation("Abandoned"), {},                               "-"],
])("%s", (_, e, tweak, expected) => expect(label(e, tweak)).toBe(expected));

describe("an evacuation begins", () => {
  test.each<readonly [Cause, gently: boolean, expected: string]>([
    ["ApiEviction", false, "normal"],
    ["Preemption", false, "urgent"],
    ["Preemption", true, "normal"],
    ["NodePressure", true, "normal"],
  ])("%s, gently: %s", (cause, isGentle, expected) => expect(urgencyOf(vmi({ isGentle }), cause)).toBe(expected));
});
