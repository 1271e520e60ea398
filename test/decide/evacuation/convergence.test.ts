/** Which label the next attempt finds on the VMI: the last one is urgent. */
import { describe, expect, test } from "vitest";
import type { Cause, EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { urgencyOf } from "../../../shared/evacuation/mark.ts";
import type { EvacuationWorld } from "../../../shared/evacuation/world.ts";
import { evacuation, marked, migration, only, vmi } from "../../support/fixtures.ts";
import { planned } from "../../support/worlds.ts";

function label(e: EvacuationFacts, tweak: Partial<EvacuationWorld>): string {
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
test.each<readonly [what: string, EvacuationFacts, Partial<EvacuationWorld>, expected: string]>([
  ["the third",                               after(2), {},                                                   "-"],
  ["the fourth: one is left",                 after(3), {},                                                   "urgent"],
  ["two at once: one is left",                after(2), { migrations: two },                                  "urgent"],
  ["the fifth: nothing follows",              after(4), {},                                                   "-"],
  ["urgent from the beginning",               after(3), labelled("urgent"),                                   "-"],
  ["the VM is to be moved gently",            after(3), { vmis: [marked({ isGentle: true })] },               "-"],
  ["no mark: the drain taint",                byTaint,  { vmis: [vmi()], nodes: [{ ...drained, name: "node01", ready: true, unschedulable: false, pressures: [] }] }, "-"],
])("%s", (_, e, tweak, expected) => expect(label(e, tweak)).toBe(expected));

describe("an evacuation begins", () => {
  test.each<readonly [Cause, gently: boolean, expected: string]>([
    ["ApiEviction", false, "normal"],
    ["Preemption", true, "normal"],
  ])("%s, gently: %s", (cause, isGentle, expected) => expect(urgencyOf(vmi({ isGentle }), cause)).toBe(expected));
});
