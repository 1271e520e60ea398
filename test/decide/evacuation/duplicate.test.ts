/** Two Evacuations of one pod: the older goes on. */
import { describe, expect, test } from "vitest";
import type { EvacuationWorld } from "../../../shared/evacuation/world.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { at, endedEvacuation, evacuation, newborn, NODE, NOW, POD_UID, vmi } from "../../support/fixtures.ts";
import { planned, statusAfter } from "../../support/worlds.ts";

const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });
const moved = vmi({ nodeName: "node02", activePods: { [POD_UID]: NODE, other: "node02" } });

describe("beside another Evacuation", () => {
  const older = newborn({ name: "by-hand", uid: "older", createdAt: at(-90).getTime() });
  const former = { virtualMachineInstanceUID: "old" };

  // prettier-ignore
  test.each<[string, EvacuationFacts, other: EvacuationFacts, Partial<EvacuationWorld>, phase: string]>([
    ["an older one",                    evacuation(), older,                                                {},                "Duplicate"],
    ["… is withdrawn itself",           withdrawn,    older,                                                {},                "Duplicate"],
    ["… when it has moved",             evacuation(), older,                                                { vmis: [moved] }, "Moved"],
    ["a younger one",                   evacuation(), { ...older, createdAt: NOW.getTime() },               {},                "Pending"],
    ["an older one that has ended",     evacuation(), endedEvacuation("Withdrawn", older),                  {},                "Pending"],
    ["an older one of another pod",     evacuation(), { ...older, spec: { ...older.spec, pod: { uid: "other" } } }, {},        "Pending"],
    ["an older one of an earlier VMI",  evacuation(), { ...older, status: { ...older.status, ...former } }, {},                "Pending"],
  ])("%s", (...[, subject, other, tweak, expected]) => {
    expect(statusAfter(subject, { ...tweak, evacuations: [other, subject] }).phase).toBe(expected);
  });

  test("a Duplicate names the one that goes on", () => {
    const actions = planned(evacuation(), { evacuations: [older, evacuation()] });
    expect(actions.slice(-1)).toMatchObject([
      { status: { phase: "Duplicate", message: "Evacuation by-hand of the same pod continues" } },
    ]);
  });
});
