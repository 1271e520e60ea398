/** Evacuations that begin without a request: KubeVirt's mark and the drain taint. How long an ended one stays. */
import { describe, expect, test } from "vitest";
import { planBeginnings } from "../../../shared/evacuation/plan.ts";
import { planHistory } from "../../../shared/evacuation/plan.ts";
import type { EvacuationWorld } from "../../../shared/evacuation/world.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import {
  endedEvacuation,
  evacuation,
  EXTERNAL,
  marked,
  newborn,
  node,
  only,
  PINNED,
  time,
  vmi,
  without,
} from "../../support/fixtures.ts";
import { world } from "../../support/worlds.ts";

const drained = { nodes: [node({ taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] })] };
const resting = endedEvacuation("Abandoned", {
  spec: { requestedBy: "jane" },
  status: { attempts: 5, nextAttemptTime: time(9) },
});
const nobodys = { ...resting, spec: { ...resting.spec, requestedBy: "" } };

function begun(tweak: Partial<EvacuationWorld>) {
  const { chains } = planBeginnings(world(tweak));
  return only("CreateEvacuation", chains.flat())[0]?.evacuation.spec;
}

const MARK = "ApiEviction by KubeVirt";
const TAINT = "DrainTaint by taint kubevirt.io/drain";

// prettier-ignore
const rows: readonly (readonly [what: string, Partial<EvacuationWorld>, expected: string])[] = [
  ["a mark",                               { vmis: [marked()] },                                          MARK],
  ["… for the descheduler",                { vmis: [marked({ evictionSource: "descheduler" })] },         "Descheduler by KubeVirt"],
  ["… External",                           { vmis: [marked(EXTERNAL)] },          MARK],
  ["… pinned: people see what blocks it",  { vmis: [marked(PINNED)] },                                    MARK],
  ["… on a node with the drain taint",     { vmis: [marked()], ...drained },                              MARK],
  ["… set again after it was given up",    { vmis: [marked()], evacuations: [resting] },                  "ApiEviction by jane"],
  ["… after one of which no one is known", { vmis: [marked()], evacuations: [nobodys] },                  "ApiEviction by KubeVirt"],
  ["… in a VMI read before the Evacuations", { vmis: [marked()], vmisAreNewer: false },                   "-"],
  ["… for a node that it has left",        { vmis: [marked({ evacuationNodeName: "node00" })] },          "-"],
  ["… known already",                      { vmis: [marked()], evacuations: [newborn()] },                "-"],
  ["… a person's Evacuation is about it",  { vmis: [marked()], evacuations: [{ ...newborn(), spec: without(newborn().spec, "pod") }] }, "-"],
  ["… the one that is known is of a pod that it has left", { vmis: [marked({ activePods: { other: "node01" } })], evacuations: [evacuation()] }, MARK],
  ["… strategy None",                      { vmis: [marked({ evictionStrategy: "None" })] },              "-"],
  ["… a strategy that KubeVirt does not know", { vmis: [marked({ evictionStrategy: "Odd" })] },           "-"],
  ["… being deleted",                      { vmis: [marked({ deleting: true })] },                        "-"],
  ["… final",                              { vmis: [marked({ phase: "Failed" })] },                       "-"],
  ["no mark",                              { vmis: [vmi()] },                                             "-"],
  ["the drain taint",                      { vmis: [vmi()], ...drained },                                 TAINT],
  ["… with another effect",                { vmis: [vmi()], nodes: [node({ taints: [{ key: "kubevirt.io/drain", effect: "NoExecute" }] })] }, "-"],
  ["… on another node",                    { vmis: [vmi({ nodeName: "node02" })], ...drained },           "-"],
  ["… pinned",                             { vmis: [vmi(PINNED)], ...drained },                           "-"],
  ["… External",                           { vmis: [vmi(EXTERNAL)], ...drained }, "-"],
  ["… the last one rests",                 { vmis: [vmi()], evacuations: [resting], ...drained },         "-"],
  ["… after a taint that was gone",        { vmis: [vmi()], evacuations: [endedEvacuation("Withdrawn")], ...drained }, TAINT],
  ["on no node",                           { vmis: [without(vmi(), "nodeName")], ...drained },            "-"],
];

describe("begun without a request", () => {
  test.each(rows)("%s: %s", (_, tweak, expected) => {
    const spec = begun(tweak);
    expect(spec === undefined ? "-" : `${spec.cause} by ${spec.requestedBy}`).toBe(expected);
  });

  test("it is told, and one that follows inherits attempts and back-off", () => {
    const [chain = []] = planBeginnings(world({ evacuations: [resting] })).chains;
    const inherited = { attempts: 5, notBefore: time(9) };
    expect(only("CreateEvacuation", chain)).toMatchObject([{ evacuation: { spec: { inherited } } }]);
    expect(only("Event", chain)).toMatchObject([{ reason: "EvacuationAdopted", type: "Normal" }]);
  });
});

const late = marked({ evacuationNodeName: "node00" });

// prettier-ignore
describe("a mark for a node that the VM has left", () => {
  test.each<[string, Partial<EvacuationWorld>, readonly string[]]>([
    ["is cleared",                               { vmis: [late] },                                                   ["Unmark"]],
    ["… after an evacuation that has ended",     { vmis: [late], evacuations: [endedEvacuation("Moved")] },          ["Unmark"]],
    ["… strategy None",                          { vmis: [{ ...late, evictionStrategy: "None" }] },                  ["Unmark"]],
    ["… at the end of one that goes on",         { vmis: [late], evacuations: [newborn()] },                         []],
    ["… is left on a VM that is being deleted",  { vmis: [{ ...late, deleting: true }] },                            []],
    ["… or has no node yet",                     { vmis: [without(late, "nodeName")] },                              []],
  ])("%s", (_, tweak, expected) => {
    expect(planBeginnings(world(tweak)).chains.flat().map(({ verb }) => verb)).toEqual(expected);
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
    ["though its VM is gone",            [old("a", { spec: { ...own.spec, vmiName: "gone" } })],            ["a"]],
  ])("%s", (_, evacuations, expected) => {
    const removed = only("DeleteEvacuation", planHistory(world({ vmis: [vmi()], evacuations })).chains.flat());
    expect(removed.map((action) => action.evacuation.name)).toEqual(expected);
  });
});
