/**
 * Tests Evacuations that start without a request, the cleanup of a VMI and its migrations after an Evacuation, and the
 * history of Evacuations.
 */
import { describe, expect, test } from "vitest";
import { EVACUATION_MESSAGES as MESSAGES } from "../../../shared/evacuation/messages.ts";
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
  ["a mark set for the descheduler",                { vmis: [marked({ evictionSource: "descheduler" })] },         "Descheduler by KubeVirt"],
  ["a mark set again after an abandoned evacuation",    { vmis: [marked()], evacuations: [resting] },                  "ApiEviction by jane"],
  ["a mark with an active Evacuation",                      { vmis: [marked()], evacuations: [newborn()] },                "-"],
  ["a mark whose Evacuation is about a pod that the VM has left", { vmis: [marked({ activePods: { other: "node01" } })], evacuations: [evacuation()] }, MARK],
  ["a mark on a VM with an unknown strategy", { vmis: [marked({ evictionStrategy: "Odd" })] },           "-"],
  ["a mark on a final VMI",                              { vmis: [marked({ phase: "Failed" })] },                       "-"],
  ["the drain taint",                      { vmis: [vmi()], ...drained },                                 TAINT],
  ["the drain taint's key with another effect",                { vmis: [vmi()], nodes: [node({ taints: [{ key: "kubevirt.io/drain", effect: "NoExecute" }] })] }, "-"],
  ["the drain taint with a mark for a former node",      { vmis: [vmi({ evacuationNodeName: "node09" })], ...drained }, "-"],
  ["the drain taint on another node",                    { vmis: [vmi({ nodeName: "node02" })], ...drained },           "-"],
  ["the drain taint with a pinned VM",                             { vmis: [vmi(PINNED)], ...drained },                           "-"],
  ["the drain taint during a back-off",                 { vmis: [vmi()], evacuations: [resting], ...drained },         "-"],
  ["the drain taint set again",        { vmis: [vmi()], evacuations: [endedEvacuation("Withdrawn")], ...drained }, TAINT],
];

describe("an Evacuation without a request is created or not", () => {
  test.each(rows)("for %s: $2", (_, tweak, expected) => {
    const spec = started(tweak);
    expect(spec === undefined ? "-" : `${spec.cause} by ${spec.requestedBy}`).toBe(expected);
  });

  test("with an Event, and with the attempts and back-off of the ended Evacuation of the VM", () => {
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
    ["is removed",                              { vmis: [late] },                                                   ["Unmark"]],
    ["stays until the active Evacuation ends",  { vmis: [late], evacuations: [newborn()] },                         []],
    ["stays on a VM that is being deleted",     { vmis: [{ ...late, deleting: true }] },                            []],
  ])("%s", (_, tweak, expected) => {
    expect(planNewEvacuations(world(tweak)).chains.flat().map(({ verb }) => verb)).toEqual(expected);
  });
});

// prettier-ignore
test.each<[string, Partial<Around>, again: boolean]>([
  ["a mark",           { vmis: [marked()] },             true],
  ["the drain taint",  { vmis: [vmi()], ...drained },    true],
  ["nothing",          { vmis: [vmi()], nodes: [node()] }, false],
])("a plan of new Evacuations is made again after %s: $2", (_, tweak, again) => {
  expect(planNewEvacuations(world(tweak)).again).toBe(again);
});

test("a plan is made again if one of several Evacuations is not cleaned up yet", () => {
  const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });
  const db = newborn({ name: "db-1", uid: "db", spec: { vmiName: "db", pod: { uid: "db-pod" } } });
  const vmis = [marked(), marked({ name: "db", uid: "db", activePods: { "db-pod": NODE } })];
  expect(planEvacuations(world({ vmis, evacuations: [withdrawn, db] })).again).toBe(true);
  expect(planEvacuations(world({ vmis, evacuations: [newborn(), db] })).again).toBe(false);
});

function old(name: string, tweak: Partial<EvacuationFacts> = {}): EvacuationFacts {
  const status = { completionTime: time(-3601), podUID: "gone" };
  return endedEvacuation("Moved", { name, uid: name, status, ...tweak });
}

describe("after historySeconds", () => {
  const own = { status: old("x").status, spec: newborn().spec };
  const living = { ...own, status: { ...own.status, podUID: "pod-uid" } };

  // prettier-ignore
  test.each<[string, readonly EvacuationFacts[], readonly string[]]>([
    ["an ended Evacuation is deleted",                     [old("a")],                                                        ["a"]],
    ["an Evacuation that ended later is kept",                       [old("a", { status: { ...old("a").status, completionTime: time(-3600) } })], []],
    ["an active Evacuation is kept, however old",   [evacuation({ createdAt: 0 })],                                    []],
    ["the newest Evacuation of an existing pod is kept, because its name has the last number", [old("a", { ...living, createdAt: 1 }), old("b", { ...living, createdAt: 2 })], ["a"]],
    ["the newest of three Evacuations of an existing pod is kept", [old("a", { ...living, createdAt: 1 }), old("b", { ...living, createdAt: 2 }), old("c", { ...living, createdAt: 3 })], ["a", "b"]],
  ])("%s", (_, evacuations, expected) => {
    const removed = only("DeleteEvacuation", planHistory(world({ vmis: [vmi()], evacuations })).chains.flat());
    expect(removed.map((action) => action.evacuation.name)).toEqual(expected);
  });

  // prettier-ignore
  test.each<[string, of: string | undefined, open: readonly string[] | undefined, deleted: boolean]>([
    ["of no NodeEvacuation is deleted",                                 undefined, ["open"],  true],
    ["of an ended NodeEvacuation is deleted",                           "ended",   ["open"],  true],
    ["of an open NodeEvacuation is kept",                               "open",    ["open"],  false],
    ["of a NodeEvacuation is kept if NodeEvacuations cannot be read",   "open",    undefined, false],
  ])("an Evacuation %s", (_, of, open, deleted) => {
    const spec = { ...own.spec, ...(of && { nodeEvacuation: { name: of, uid: of } }) };
    const given = { evacuations: [old("a", { spec })], openNodeEvacuations: open && new Set(open) };
    expect(planHistory(world(given)).chains).toHaveLength(deleted ? 1 : 0);
  });

  test.each([
    ["Evacuate", 1],
    ["Withdrawn", 0],
  ] as const)("the Evacuation of a stopped VM is deleted unless the VM has to start: %s", (intent, deleted) => {
    const stopped = { ...old("a").status, phase: "Stopped", conditions: [] } as const;
    const evacuations = [old("a", { spec: { ...own.spec, intent }, status: stopped })];
    expect(planHistory(world({ evacuations })).chains).toHaveLength(deleted);
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
  ["cancelled: removes its mark",                       cancelled,          {},                                                   "Unmark, Released"],
  ["cancelled: deletes KubeVirt's waiting migration",         cancelled,          { migrations: [kubevirts] },                          "Unmark, DeleteMigration, Released"],
  ["cancelled: keeps a person's migration",                        cancelled,          { migrations: [persons] },                            "Unmark, Released"],
  ["cancelled: keeps a migration that runs by now",                cancelled,          { migrations: [{ ...kubevirts, phase: "Running" }] }, "Unmark, Released"],
  ["cancelled: keeps the mark for another node, and its migration", cancelled,       { vmis: [{ ...moved, evacuationNodeName: "node02" }], migrations: [kubevirts] }, "CreateEvacuation, Event, Released"],
  ["cancelled: changes nothing if the VM has ended",                  cancelled,          { vmis: [marked({ phase: "Failed" })] },              "Released"],
  ["cancelled: changes nothing if the VM is being deleted",                        cancelled,          { vmis: [marked({ deleting: true })] },               "Released"],
  ["cancelled: changes nothing if the VM was recreated",     cancelled,          { vmis: [vmi({ uid: "anew", evacuationLabel: "urgent" })] }, "Released"],
  ["cancelled: changes nothing if the VM is gone",            cancelled,          { vmis: [] },                                         "Released"],
  ["its mark was removed: deletes KubeVirt's waiting migration",       unmarked,           { vmis: [vmi()], migrations: [kubevirts] },           "DeleteMigration, Released"],
  ["its mark was removed and set again: changes nothing", unmarked,         { migrations: [kubevirts] },                                                   "Released"],
  ["moved: removes its label",                          ended("Moved"),     { vmis: [{ ...moved, evacuationLabel: "urgent" }] },  "Unmark, Released"],
  ["moved: removes KubeVirt's late mark",  ended("Moved"),     { vmis: [{ ...moved, evacuationNodeName: NODE }] },   "Unmark, Released"],
  ["moved: keeps a migration",                         ended("Moved"),     { vmis: [moved], migrations: [kubevirts] },           "Released"],
  ["cancelled: is released before the next Evacuation of the pod acts",  cancelled,          { evacuations: [cancelled, next], migrations: [kubevirts] }, "Unmark, DeleteMigration, Released"],
  ["cancelled: is released beside an Evacuation of another VM",                           cancelled,          { evacuations: [cancelled, ofAnother] },              "Gone VirtualMachineInstanceGone, Unmark, Released"],
])("an ended Evacuation, %s", (_, subject, tweak, expected) => expect(inShort(planned(subject, tweak))).toBe(expected));

function released(e: EvacuationFacts, tweak: Partial<Around> = {}) {
  return statusAfter(e, tweak).conditions.find(({ type }) => type === "Released");
}

describe("an Evacuation that follows another of the same pod", () => {
  const evacuations = [
    { ...cancelled, status: { ...cancelled.status, conditions: [{ ...left, status: "True" as const }] } },
    next,
  ];

  test("is reconciled again when the other Evacuation is released", () => {
    expect(planEvacuations(world({ evacuations: [cancelled, next] })).again).toBe(true);
  });

  test("ignores the mark before the other Evacuation is released, and adopts the mark afterwards", () => {
    const after = statusAfter(next, { evacuations });
    expect(after.conditions).toMatchObject([{ type: "Marked", status: "True" }]);
  });
});

describe("the condition Released", () => {
  const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });

  test("is False at the end while something must be released, and otherwise True at once", () => {
    expect(released(evacuation())).toBeUndefined();
    expect(released(withdrawn)).toMatchObject({ status: "False", reason: "ToBeReleased" });
    expect(released(withdrawn, { vmis: [vmi()] })).toMatchObject({ status: "True", reason: "Released" });
  });

  test.each([
    ["nothing about a mark that is removed", [node()], ""],
    ["that nobody removes the mark of a node that is gone", [], MESSAGES.markStaysNodeGone(NODE)],
    ["that the drain taint keeps the mark", drained.nodes, MESSAGES.markStaysDrainTaint(NODE, "kubevirt.io/drain")],
  ])("says %s", (_, nodes, message) => expect(released(cancelled, { nodes })).toMatchObject({ message }));

  test("says nothing about a mark that is left for another Evacuation, although the node of the mark is gone", () => {
    const again = { ...moved, evacuationNodeName: "node02" };
    expect(released(ended("Moved"), { vmis: [again], nodes: [] })).toMatchObject({ status: "True", message: "" });
  });

  test("names the Evacuation that keeps the mark, and the rest of the status is unchanged", () => {
    const status = statusAfter(cancelled, { evacuations: [cancelled, ofTarget], vmis: [moved] });
    expect(status).toMatchObject({ ...without(cancelled.status, "conditions") });
    expect(status.conditions).toMatchObject([{ status: "True", message: "Evacuation next continues" }]);
  });
});

test("an Evacuation with the condition Released False is kept at any age", () => {
  const old = { ...ended("Withdrawn").status, completionTime: time(-9999), podUID: "gone" };
  const evacuations = [{ ...cancelled, status: old }];
  expect(only("DeleteEvacuation", planHistory(world({ evacuations })).chains.flat())).toEqual([]);
});
