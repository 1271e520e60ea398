/** Evacuations that are withdrawn: by their intent, by the mark that another party removes, or by the taint that goes. */
import { describe, expect, test } from "vitest";
import type { EvacuationWorld } from "../../../shared/policy/evacuation/world.ts";
import type { Taint } from "../../../shared/policy/facts.ts";
import { disrupted, MAINTENANCE } from "../guard/disruptions.ts";
import { evacuation, marked, migration, newborn, node, only, pod, time, verbs, vmi } from "../fixtures.ts";
import { plannedEvacuations } from "../worlds.ts";

type Given = Partial<EvacuationWorld>;

/** As its status is written; undefined if the evacuation goes on. */
function end(given: Given) {
  const written = only("WriteStatus", plannedEvacuations(given)).map(({ status }) => status);
  return written.find(({ phase }) => phase === "Withdrawn");
}

const pending = migration({ phase: "Pending", evacuates: "node01" });
const asked = evacuation({ spec: { intent: "Withdrawn" } });

// prettier-ignore
describe.each<[string, Given, reason: string, rest: number, told: string]>([
  ["by its intent",      { evacuations: [asked] },                                                  "IntentWithdrawn", 20,        "spec.intent is Withdrawn"],
  ["by the mark",        { evacuations: [evacuation()], vmis: [vmi({ evacuationLabel: "urgent" })] }, "MarkWithdrawn", 20,        "the mark was removed"],
  ["by the drain taint", { evacuations: [evacuation({ spec: { cause: "DrainTaint" } })], vmis: [vmi({ evacuationLabel: "normal" })], nodes: [node()] }, "TaintWithdrawn", 0, "node node01 does not carry the drain taint any more"],
  ["by a taint",         { evacuations: [disrupted("NoExecuteTaint", 60)], nodes: [node()], pods: [pod()] }, "TaintWithdrawn", 0, "the NoExecute taint of node node01 is gone"],
])("withdrawn %s", (...[, given, reason, rest, why]) => {
  test("mark and label go, the end is written, counted and told", () => {
    const actions = plannedEvacuations(given);
    expect(verbs(actions)).toEqual(["Unmark", "WriteStatus", "Count", "Event"]);
    expect(end(given)).toMatchObject({ reason, message: why, completionTime: time(0) });
    expect(only("Count", actions)).toMatchObject([{ outcome: "Withdrawn" }]);
    expect(only("Event", actions)).toMatchObject([
      { reason: "EvacuationCancelled", message: `evacuation from node node01 ends: ${why}` },
    ]);
  });

  test("what was asked for is left alone for a while; a taint that comes back begins anew at once", () => {
    const inBackOff = (given.evacuations ?? []).map((e) => ({ ...e, status: { ...e.status, nextAttemptTime: time(9) } }));
    for (const evacuations of [given.evacuations ?? [], inBackOff]) {
      expect(end({ ...given, evacuations })?.nextAttemptTime).toBe(time(rest));
    }
  });

  test("a migration that has not begun is deleted, one that runs is left to finish", () => {
    const deleted = (phase: string) => {
      const own = { ...pending, phase };
      return only("DeleteMigration", plannedEvacuations({ ...given, migrations: [own] })).map((action) => action.migration);
    };
    expect(deleted("Pending")).toMatchObject([{ uid: pending.uid }]);
    expect(deleted("Running")).toEqual([]);
  });

  test("another party's migration is left alone", () => {
    const theirs = migration({ phase: "Pending" });
    expect(only("DeleteMigration", plannedEvacuations({ ...given, migrations: [theirs] }))).toEqual([]);
  });
});

describe("a mark that is missing", () => {
  const given = { evacuations: [evacuation()], vmis: [vmi()] };

  // prettier-ignore
  test.each<[string, Given, withdrawn: boolean]>([
    ["was removed",                                      given,                                                       true],
    ["has never been seen: it is set",                   { ...given, evacuations: [newborn()] },                      false],
    ["where the VMI was not read after the Evacuation",  { ...given, vmisAreNewer: false },                           false],
    ["while KubeVirt's migration is pending",            { ...given, migrations: [pending] },                         true],
    ["while a migration runs",                           { ...given, migrations: [migration()] },                     false],
    ["for the drain taint, which needs none",            { ...given, evacuations: [evacuation({ spec: { cause: "DrainTaint" } })] }, false],
    ["is there",                                         { ...given, vmis: [marked()] },                              false],
    ["is one for a former node",                         { ...given, vmis: [vmi({ evacuationNodeName: "node00" })] }, true],
  ])("%s", (_, tweak, withdrawn) => expect(end(tweak) !== undefined).toBe(withdrawn));
});

describe("the drain taint", () => {
  const drain: Taint = { key: "kubevirt.io/drain", effect: "NoSchedule" };
  const given = { evacuations: [evacuation({ spec: { cause: "DrainTaint" } })], vmis: [vmi()], nodes: [node()] };

  // prettier-ignore
  test.each<[string, Given, gone: boolean]>([
    ["is gone",                             given,                                                           true],
    ["is there",                            { ...given, nodes: [node({ taints: [drain] })] },                false],
    ["has another effect",                  { ...given, nodes: [node({ taints: [{ ...drain, effect: "NoExecute" }] })] }, true],
    ["is not known: the node was not read", { ...given, nodes: [] },                                         false],
    ["is gone, and the VM was marked since", { ...given, vmis: [marked()] },                                 false],
    ["is gone, but a drain asked",          { ...given, evacuations: [evacuation()], vmis: [marked()] },     false],
  ])("%s", (_, tweak, gone) => expect(end(tweak) !== undefined).toBe(gone));
});

describe("a NoExecute taint", () => {
  const tainted = node({ taints: [MAINTENANCE] });
  const given = { evacuations: [disrupted("NoExecuteTaint", 60)], nodes: [tainted], pods: [pod()] };

  // prettier-ignore
  test.each<[string, Given, gone: boolean]>([
    ["is still there",                      given,                                                                       false],
    ["is gone",                             { ...given, nodes: [node()] },                                               true],
    ["drives nothing away any more",        { ...given, nodes: [node({ taints: [{ ...MAINTENANCE, effect: "NoSchedule" }] })] }, true],
    ["is tolerated by now",                 { ...given, pods: [pod({ tolerations: [{ operator: "Exists" }] })] },        true],
    ["is one of two that are tolerated",    { ...given, nodes: [node({ taints: [MAINTENANCE, { key: "b", effect: "NoExecute" }] })], pods: [pod({ tolerations: [{ key: "b", operator: "Exists" }] })] }, false],
    ["is gone, and the node down",          { ...given, nodes: [node({ ready: false })] },                               false],
    ["is gone, and the node not reachable", { ...given, nodes: [node({ taints: [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" }] })] }, false],
    ["is not known: no node was read",      { ...given, nodes: [] },                                                     false],
    ["is not known: no pod was read",       { ...given, pods: [] },                                                      false],
    ["is gone, but it was preempted",       { ...given, nodes: [node()], evacuations: [disrupted("Preemption", 60)] },   false],
  ])("%s", (_, tweak, gone) => expect(end(tweak) !== undefined).toBe(gone));
});
