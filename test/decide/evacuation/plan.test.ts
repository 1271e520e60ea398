/** Evacuations that begin without a request, what one that has ended takes back, and how long it stays. */
import { describe, expect, test } from "vitest";
import { planNewEvacuations, planHistory, planEvacuations } from "../../../shared/evacuation/plan.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import {
  endedEvacuation,
  evacuation,
  marked,
  newborn,
  node,
  only,
  PINNED,
  time,
  vmi,
  migration,
  NODE,
  without,
} from "../../support/fixtures.ts";
import { type Around, world, inShort, planned, statusAfter } from "../../support/worlds.ts";

const drained = { nodes: [node({ taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] })] };
const resting = endedEvacuation("Abandoned", {
  spec: { requestedBy: "jane" },
  status: { attempts: 5, nextAttemptTime: time(9) },
});

function started(tweak: Partial<Around>) {
  const { chains } = planNewEvacuations(world(tweak));
  return only("CreateEvacuation", chains.flat())[0]?.evacuation.spec;
}

const MARK = "ApiEviction by KubeVirt";
const TAINT = "DrainTaint by taint kubevirt.io/drain";

// prettier-ignore
const rows: readonly (readonly [what: string, Partial<Around>, expected: string])[] = [
  ["a mark",                               { vmis: [marked()] },                                          MARK],
  ["… for the descheduler",                { vmis: [marked({ evictionSource: "descheduler" })] },         "Descheduler by KubeVirt"],
  ["… set again after it was given up",    { vmis: [marked()], evacuations: [resting] },                  "ApiEviction by jane"],
  ["… known already",                      { vmis: [marked()], evacuations: [newborn()] },                "-"],
  ["… the one that is known is of a pod that it has left", { vmis: [marked({ activePods: { other: "node01" } })], evacuations: [evacuation()] }, MARK],
  ["… a strategy that KubeVirt does not know", { vmis: [marked({ evictionStrategy: "Odd" })] },           "-"],
  ["… final",                              { vmis: [marked({ phase: "Failed" })] },                       "-"],
  ["the drain taint",                      { vmis: [vmi()], ...drained },                                 TAINT],
  ["… with another effect",                { vmis: [vmi()], nodes: [node({ taints: [{ key: "kubevirt.io/drain", effect: "NoExecute" }] })] }, "-"],
  ["… on another node",                    { vmis: [vmi({ nodeName: "node02" })], ...drained },           "-"],
  ["… pinned",                             { vmis: [vmi(PINNED)], ...drained },                           "-"],
  ["… the last one rests",                 { vmis: [vmi()], evacuations: [resting], ...drained },         "-"],
  ["… after a taint that was gone",        { vmis: [vmi()], evacuations: [endedEvacuation("Withdrawn")], ...drained }, TAINT],
];

describe("begun without a request", () => {
  test.each(rows)("%s: %s", (_, tweak, expected) => {
    const spec = started(tweak);
    expect(spec === undefined ? "-" : `${spec.cause} by ${spec.requestedBy}`).toBe(expected);
  });

  test("it is told, and one that follows inherits attempts and back-off", () => {
    const [chain = []] = planNewEvacuations(world({ evacuations: [resting] })).chains;
    const inherited = { attempts: 5, notBefore: time(9) };
    expect(only("CreateEvacuation", chain)).toMatchObject([{ evacuation: { spec: { inherited } } }]);
    expect(only("Event", chain)).toMatchObject([{ reason: "EvacuationAdopted", type: "Normal" }]);
  });
});

const late = marked({ evacuationNodeName: "node00" });

// prettier-ignore
describe("a mark for a node that the VM has left", () => {
  test.each<[string, Partial<Around>, readonly string[]]>([
    ["is cleared",                               { vmis: [late] },                                                   ["Unmark"]],
    ["… at the end of one that goes on",         { vmis: [late], evacuations: [newborn()] },                         []],
    ["… is left on a VM that is being deleted",  { vmis: [{ ...late, deleting: true }] },                            []],
  ])("%s", (_, tweak, expected) => {
    expect(planNewEvacuations(world(tweak)).chains.flat().map(({ verb }) => verb)).toEqual(expected);
  });
});

function old(name: string, tweak: Partial<EvacuationFacts> = {}): EvacuationFacts {
  const status = { completionTime: time(-3601), podUID: "gone" };
  return endedEvacuation("Moved", { name, uid: name, status, ...tweak });
}

describe("an Evacuation that has ended is removed after historySeconds", () => {
  const own = { status: old("x").status, spec: newborn().spec };
  const living = { ...own, status: { ...own.status, podUID: "pod-uid" } };

  // prettier-ignore
  test.each<[string, readonly EvacuationFacts[], readonly string[]]>([
    ["that is over",                     [old("a")],                                                        ["a"]],
    ["not before",                       [old("a", { status: { ...old("a").status, completionTime: time(-3600) } })], []],
    ["none that goes on, however old",   [evacuation({ createdAt: 0 })],                                    []],
    ["nor the newest one of a pod that lives: the next one's name counts on from it", [old("a", { ...living, createdAt: 1 }), old("b", { ...living, createdAt: 2 })], ["a"]],
  ])("%s", (_, evacuations, expected) => {
    const removed = only("DeleteEvacuation", planHistory(world({ vmis: [vmi()], evacuations })).chains.flat());
    expect(removed.map((action) => action.evacuation.name)).toEqual(expected);
  });
});

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
const persons = migration({ phase: "Pending" });
const next = newborn({ name: "next", uid: "next" });
const ofTarget = newborn({ name: "next", uid: "next", spec: { pod: { uid: "other" } } });
const ofAnother = newborn({ name: "db-1", uid: "db", spec: { vmiName: "db" } });

// prettier-ignore
test.each<[string, EvacuationFacts, Partial<Around>, expected: string]>([
  ["cancelled: its mark",                       cancelled,          {},                                                   "Unmark, Released"],
  ["… and KubeVirt's migration for it",         cancelled,          { migrations: [kubevirts] },                          "Unmark, DeleteMigration, Released"],
  ["… never a person's",                        cancelled,          { migrations: [persons] },                            "Unmark, Released"],
  ["… nor one that runs by now",                cancelled,          { migrations: [{ ...kubevirts, phase: "Running" }] }, "Unmark, Released"],
  ["… and is marked where it is now: not its own", cancelled,       { vmis: [{ ...moved, evacuationNodeName: "node02" }], migrations: [kubevirts] }, "CreateEvacuation, tell, Released"],
  ["… the VM has ended since",                  cancelled,          { vmis: [marked({ phase: "Failed" })] },              "Released"],
  ["… is being deleted",                        cancelled,          { vmis: [marked({ deleting: true })] },               "Released"],
  ["… there is no such VM any more",            cancelled,          { vmis: [] },                                         "Released"],
  ["the mark was removed: its migration",       unmarked,           { vmis: [vmi()], migrations: [kubevirts] },           "DeleteMigration, Released"],
  ["… and has been set anew: nothing is its own", unmarked,         { migrations: [kubevirts] },                                                   "Released"],
  ["moved: its label",                          ended("Moved"),     { vmis: [{ ...moved, evacuationLabel: "urgent" }] },  "Unmark, Released"],
  ["… and KubeVirt's mark that came too late",  ended("Moved"),     { vmis: [{ ...moved, evacuationNodeName: NODE }] },   "Unmark, Released"],
  ["… nor a migration",                         ended("Moved"),     { vmis: [moved], migrations: [kubevirts] },           "Released"],
  ["another one of the pod goes on: it waits",  cancelled,          { evacuations: [cancelled, next], migrations: [kubevirts] }, "Unmark, DeleteMigration, Released"],
  ["… of another VM",                           cancelled,          { evacuations: [cancelled, ofAnother] },              "Gone VirtualMachineInstanceGone, Unmark, Released"],
])("%s", (_, subject, tweak, expected) => expect(inShort(planned(subject, tweak))).toBe(expected));

function released(e: EvacuationFacts, tweak: Partial<Around> = {}) {
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
