/** What an Evacuation that has ended takes back, once its end is written: its mark, and its migrations that have not begun. */
import { describe, expect, test } from "vitest";
import { planEvacuations } from "../../../shared/evacuation/plan.ts";
import { planHistory } from "../../../shared/evacuation/plan.ts";
import type { EvacuationWorld } from "../../../shared/evacuation/world.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import {
  endedEvacuation,
  evacuation,
  marked,
  migration,
  newborn,
  NODE,
  only,
  time,
  vmi,
  without,
} from "../../support/fixtures.ts";
import { inShort, planned, statusAfter, world } from "../../support/worlds.ts";

const left = {
  type: "Released",
  status: "False",
  reason: "ToBeReleased",
  message: "",
  lastTransitionTime: time(0),
} as const;

function ended(phase: "Moved" | "Withdrawn" | "Abandoned", reason: string = phase): EvacuationFacts {
  return endedEvacuation(phase, { status: { reason, conditions: [left] } });
}

const cancelled = ended("Withdrawn", "IntentWithdrawn");
const unmarked = ended("Withdrawn", "MarkWithdrawn");
const moved = vmi({ nodeName: "node02", activePods: { other: "node02" } });
const kubevirts = migration({ phase: "Pending", evacuates: NODE });
const ours = migration({ phase: "Pending", name: "lifeboat-web-1" });
const persons = migration({ phase: "Pending" });
const next = newborn({ name: "next", uid: "next" });
const ofTarget = newborn({ name: "next", uid: "next", spec: { pod: { uid: "other" } } });
const ofAnother = newborn({ name: "db-1", uid: "db", spec: { vmiName: "db" } });

// prettier-ignore
test.each<[string, EvacuationFacts, Partial<EvacuationWorld>, expected: string]>([
  ["cancelled: its mark",                       cancelled,          {},                                                   "Unmark, Released"],
  ["… and KubeVirt's migration for it",         cancelled,          { migrations: [kubevirts] },                          "Unmark, DeleteMigration, Released"],
  ["… or Lifeboat's",                           cancelled,          { migrations: [ours] },                               "Unmark, DeleteMigration, Released"],
  ["… never a person's",                        cancelled,          { migrations: [persons] },                            "Unmark, Released"],
  ["… nor one that runs by now",                cancelled,          { migrations: [{ ...kubevirts, phase: "Running" }] }, "Unmark, Released"],
  ["… all of that is taken back already",       cancelled,          { vmis: [vmi()] },                                    "Released"],
  ["… the VM has moved since",                  cancelled,          { vmis: [moved] },                                    "Released"],
  ["… and is marked where it is now: not its own", cancelled,       { vmis: [{ ...moved, evacuationNodeName: "node02" }], migrations: [kubevirts] }, "CreateEvacuation, tell, Released"],
  ["… the VM has ended since",                  cancelled,          { vmis: [marked({ phase: "Failed" })] },              "Released"],
  ["… is being deleted",                        cancelled,          { vmis: [marked({ deleting: true })] },               "Released"],
  ["… has been made anew, and is marked",       cancelled,          { vmis: [marked({ uid: "made-anew" })] },             "CreateEvacuation, tell, Released"],
  ["… there is no such VM any more",            cancelled,          { vmis: [] },                                         "Released"],
  ["… in a VMI read before the Evacuations",    cancelled,          { vmisAreNewer: false },                              "-"],
  ["given up: its mark",                        ended("Abandoned"), { migrations: [kubevirts] },                          "Unmark, DeleteMigration, Released"],
  ["the mark was removed: its migration",       unmarked,           { vmis: [vmi()], migrations: [kubevirts] },           "DeleteMigration, Released"],
  ["… and has been set anew: nothing is its own", unmarked,         { migrations: [kubevirts] },                                                   "Released"],
  ["moved: its label",                          ended("Moved"),     { vmis: [{ ...moved, evacuationLabel: "urgent" }] },  "Unmark, Released"],
  ["… and KubeVirt's mark that came too late",  ended("Moved"),     { vmis: [{ ...moved, evacuationNodeName: NODE }] },   "Unmark, Released"],
  ["… no mark for where it is now",             ended("Moved"),     { vmis: [{ ...moved, evacuationNodeName: "node02" }] }, "CreateEvacuation, tell, Released"],
  ["… nor a migration",                         ended("Moved"),     { vmis: [moved], migrations: [kubevirts] },           "Released"],
  ["another one of the pod goes on: it waits",  cancelled,          { evacuations: [cancelled, next], migrations: [kubevirts] }, "Unmark, DeleteMigration, Released"],
  ["… and so it does while the VMI is old",     cancelled,          { evacuations: [cancelled, next], vmisAreNewer: false },     "-"],
  ["… of the pod that it has moved to: nothing", cancelled,         { evacuations: [cancelled, ofTarget], vmis: [{ ...moved, evacuationLabel: "urgent" }] }, "CreateBudget, CreateMigration, Pending Pending, tell, Released"],
  ["… of another VM",                           cancelled,          { evacuations: [cancelled, ofAnother] },              "Gone VirtualMachineInstanceGone, Unmark, Released"],
  ["ended before there was such a condition",   unsaid(cancelled), { vmis: [vmi()] },                                   "-"],
])("%s", (_, subject, tweak, expected) => expect(inShort(planned(subject, tweak))).toBe(expected));

function unsaid(e: EvacuationFacts): EvacuationFacts {
  return { ...e, status: { ...e.status, conditions: [] } };
}

function released(e: EvacuationFacts, tweak: Partial<EvacuationWorld> = {}) {
  return statusAfter(e, tweak).conditions.find(({ type }) => type === "Released");
}

describe("one that follows another of the same pod", () => {
  const evacuations = [
    { ...cancelled, status: { ...cancelled.status, conditions: [{ ...left, status: "True" as const }] } },
    next,
  ];

  test("is looked at once more when that one is released", () => {
    expect(planEvacuations(world({ evacuations: [cancelled, next] })).again).toBe(true);
  });

  test("sees no mark as its own before, and the one that is there afterwards", () => {
    const after = statusAfter(next, { evacuations });
    expect(after.conditions).toMatchObject([{ type: "Marked", status: "True" }]);
  });
});

describe("the condition Released", () => {
  const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });

  test("is False with the end, as long as something is left, and True at once if nothing is", () => {
    expect(released(evacuation())).toBeUndefined();
    expect(released(withdrawn)).toMatchObject({ status: "False", reason: "ToBeReleased" });
    expect(released(withdrawn, { vmis: [vmi()] })).toMatchObject({ status: "True", reason: "Released" });
  });

  test("names the Evacuation that keeps the mark; the rest of the status stays", () => {
    const status = statusAfter(cancelled, { evacuations: [cancelled, ofTarget], vmis: [moved] });
    expect(status).toMatchObject({ ...without(cancelled.status, "conditions") });
    expect(status.conditions).toMatchObject([{ status: "True", message: "Evacuation next continues" }]);
  });
});

test("as long as it is False the Evacuation stays, however old it is", () => {
  const old = { ...ended("Withdrawn").status, completionTime: time(-9999), podUID: "gone" };
  const evacuations = [{ ...cancelled, status: old }];
  expect(only("DeleteEvacuation", planHistory(world({ evacuations })).chains.flat())).toEqual([]);
});
