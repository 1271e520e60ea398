/** Disruptions under way: what the guard did not see, and what the taint manager gave up on. */
import { describe, expect, test } from "vitest";
import { drivenOf, planDisruptions, untaintedOf } from "../../shared/policy/disruption.ts";
import type { PodFacts, Taint, Toleration } from "../../shared/policy/facts.ts";
import { GATE_OF_CAUSE, GUARD_CAUSES, type GuardCause } from "../../shared/policy/disruption-cause.ts";
import { condition, disruptionWorld, GATES, guarded, node, plannedDisruptions, REASON, target } from "./disruptions.ts";
import {
  at,
  hotplug,
  marked,
  MOBILITY,
  NODE,
  only,
  pod,
  POD_UID,
  record,
  settings,
  time,
  verbs,
  vmi,
  without,
} from "./fixtures.ts";

/** The gates without that of the cause. */
function off(cause: GuardCause) {
  return GATES.filter((gate) => gate !== GATE_OF_CAUSE[cause]);
}

describe("the watch", () => {
  const terminating = target("Preemption", -3, { deleting: true });

  test.each(GUARD_CAUSES)(
    "a terminating pod with the condition (%s): its VM is marked, and looked at again at once",
    (cause) => {
      const plan = planDisruptions(disruptionWorld({ pods: [target(cause, -3, { deleting: true })] }));
      const urgency = cause === "Preemption" ? "urgent" : "normal";
      const begun = { cause, requestedBy: REASON[cause], node: NODE, podUID: POD_UID, since: time(-3), attempts: 0 };
      expect(plan.chains).toMatchObject([
        [
          { verb: "GrowBudget", vmi: vmi() },
          { verb: "Mark", vmi: vmi(), urgency, record: begun },
          { verb: "Event", type: "Warning", reason: "DisruptionSeen" },
        ],
      ]);
      expect(plan.requeueAfterSeconds).toBe(0);
    },
  );

  test("with our record for it: the guard saw it, the mark was lost", () => {
    const lost = vmi({ record: record({ cause: "NoExecuteTaint", id: "0000000c", attempts: 1 }) });
    const reset = { active: false, since: time(-1) };
    const pods = [pod({ deleting: true, disruptionTarget: reset })];
    const [mark] = only("Mark", plannedDisruptions({ vmis: [lost], pods }));
    expect(mark?.record).toMatchObject({ cause: "NoExecuteTaint", id: "0000000c", attempts: 1, since: time(-60) });
    // The record alone whoever may edit the VMI could have written.
    expect(plannedDisruptions({ vmis: [lost], pods: [pod({ deleting: true })] })).toEqual([]);
  });

  test("an evacuation for the drain taint becomes urgent", () => {
    const draining = vmi({ record: record({ cause: "DrainTaint", id: "0000000c" }) });
    const [mark] = only("Mark", plannedDisruptions({ vmis: [draining], pods: [terminating] }));
    expect(mark).toMatchObject({ urgency: "urgent", record: { id: "0000000c", cause: "Preemption" } });
  });

  test("External is marked, pinned or not", () => {
    const external = vmi({ evictionStrategy: "External", liveMigratable: MOBILITY.pinned });
    expect(verbs(plannedDisruptions({ vmis: [external], pods: [terminating] }))).toEqual(["Mark", "Event"]);
  });

  // prettier-ignore
  test.each([
    ["a plain deletion",               { pods: [pod({ deleting: true })] }],
    ["a pod that is not terminating",  { pods: [target("Preemption")] }],
    ["a condition that is False",      { pods: [pod({ deleting: true, disruptionTarget: condition("Preemption", { active: false }) })] }],
    ["an eviction",                    { pods: [pod({ deleting: true, disruptionTarget: condition("Preemption", { reason: "EvictionByEvictionAPI" }) })] }],
    ["gate off: preemption",           { pods: [terminating], settings: guarded({}, { featureGates: off("Preemption") }) }],
    ["gate off: taint",                { pods: [target("NoExecuteTaint", 0, { deleting: true })], settings: guarded({}, { featureGates: off("NoExecuteTaint") }) }],
    ["the reconciler is off",          { pods: [terminating], settings: guarded({}, { reconcilers: { disruption: false } }) }],
    ["the VM is marked",               { pods: [terminating], vmis: [marked()] }],
    ["… without a record",             { pods: [terminating], vmis: [vmi({ evacuationNodeName: NODE })] }],
    ["the VM is not known",            { pods: [terminating], vmis: [] }],
    ["the VM is going",                { pods: [terminating], vmis: [vmi({ deleting: true })] }],
    ["the VM has ended",               { pods: [terminating], vmis: [vmi({ phase: "Failed" })] }],
    ["a VM made anew",                 { pods: [terminating], vmis: [vmi({ uid: "anew", activePods: {} })] }],
    ["the VM is on no node",           { pods: [terminating], vmis: [without(vmi({ activePods: {} }), "nodeName")] }],
    ["the target of a migration",      { pods: [{ ...terminating, uid: "other", nodeName: "node02" }] }],
    ["a completed pod",                { pods: [{ ...terminating, phase: "Failed" }] }],
    ["a hotplug pod",                  { pods: [hotplug({ deleting: true, disruptionTarget: condition("Preemption") })] }],
    ["strategy None",                  { pods: [terminating], vmis: [vmi({ evictionStrategy: "None" })] }],
    ["a strategy nobody knows",        { pods: [terminating], vmis: [vmi({ evictionStrategy: "Odd" })] }],
    ["a VM that cannot migrate",       { pods: [terminating], vmis: [vmi({ liveMigratable: MOBILITY.pinned })] }],
    ["a dead node",                    { pods: [terminating], nodes: [node({ ready: false })] }],
  ])("%s: nothing", (_, tweak) => expect(plannedDisruptions(tweak)).toEqual([]));

  test("works with the guard switched off, and on a node that nobody has looked at", () => {
    const given = { pods: [terminating], settings: guarded({ mode: "Off" }), nodes: [] };
    expect(verbs(plannedDisruptions(given))).toEqual(["GrowBudget", "Mark", "Event"]);
  });
});

/** Chosen by the taint manager once, and reset since. */
const chosen = (tweak: Partial<PodFacts> = {}) =>
  pod({ disruptionTarget: { active: false, since: time(-200) }, ...tweak });

describe("the deadline keeper", () => {
  const TAINT: Taint = { key: "CriticalAddonsOnly", value: "true", effect: "NoExecute" };
  const tainted = node({ taints: [TAINT] });
  const overdue = marked({}, { cause: "NoExecuteTaint", since: time(-300) });
  const given = { vmis: [overdue], pods: [chosen()], nodes: [tainted] };

  test("past the deadline, untolerated: the pod is deleted under its UID, and an Event says so", () => {
    const [deleted, event] = plannedDisruptions(given);
    expect(deleted).toEqual({ verb: "DeletePod", pod: chosen() });
    expect(event).toMatchObject({ type: "Warning", reason: "DeadlineKept", occasion: overdue.record?.id });
    expect(event).toMatchObject({
      message: `it has not left node ${NODE} within 300 s of taint CriticalAddonsOnly: deleting pod virt-launcher-web-x7k2p`,
    });
  });

  // prettier-ignore
  test.each<[string, Toleration, tolerated: boolean]>([
    ["of the key",                    { key: TAINT.key, operator: "Exists" },                                        true],
    ["of everything",                 { operator: "Exists" },                                                        true],
    ["of key and value",              { key: TAINT.key, operator: "Equal", value: "true", effect: "NoExecute" },     true],
    ["of key and value, no operator", { key: TAINT.key, value: "true" },                                             true],
    ["for some seconds",              { key: TAINT.key, operator: "Exists", tolerationSeconds: 3600 },               false],
    ["of another value",              { key: TAINT.key, value: "false" },                                            false],
    ["of no value",                   { key: TAINT.key },                                                            false],
    ["of another key",                { key: "other", operator: "Exists" },                                          false],
    ["of another effect",             { key: TAINT.key, operator: "Exists", effect: "NoSchedule" },                  false],
    ["of nothing",                    { value: "true" },                                                             false],
  ])("a toleration %s", (_, toleration, tolerated) => {
    const actions = plannedDisruptions({ ...given, pods: [chosen({ tolerations: [toleration] })] });
    expect(verbs(actions)).toEqual(tolerated ? [] : ["DeletePod", "Event"]);
  });

  test("every taint must be tolerated", () => {
    const nodes = [node({ taints: [{ key: "a", effect: "NoExecute" }, TAINT] })];
    const pods = [chosen({ tolerations: [{ key: "a", operator: "Exists" }] })];
    expect(verbs(plannedDisruptions({ ...given, nodes, pods }))).toEqual(["DeletePod", "Event"]);
  });

  // prettier-ignore
  test.each([
    ["the taint is gone",            { nodes: [node()] }],
    ["a node that has just gone down", { nodes: [node({ taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoExecute" }] })] }],
    ["it does not drive away",       { nodes: [node({ taints: [{ ...TAINT, effect: "NoSchedule" }] })] }],
    ["the node is gone",             { nodes: [] }],
    ["nobody ever chose the pod",    { pods: [pod()] }],
    ["another pod by now",           { pods: [chosen({ uid: "anew" })] }],
    ["the pod is terminating",       { pods: [chosen({ deleting: true })] }],
    ["the pod has completed",        { pods: [chosen({ phase: "Succeeded" })] }],
    ["the VM has moved",             { vmis: [{ ...overdue, nodeName: "node02" }] }],
    ["the evacuation has ended",     { vmis: [vmi({ record: record({ ...overdue.record, outcome: "Abandoned" }) })] }],
    ["it was preempted",             { vmis: [marked({}, { cause: "Preemption", since: time(-9999) })] }],
    ["it was drained",               { vmis: [marked({}, { since: time(-9999) })] }],
    ["the VM is going",              { vmis: [{ ...overdue, deleting: true }] }],
    ["no gate",                      { settings: settings() }],
    ["the reconciler is off",        { settings: guarded({}, { reconcilers: { disruption: false } }) }],
    ["a record from the future",     { vmis: [marked({}, { cause: "NoExecuteTaint", since: time(1e6) })] }],
  ])("%s: nothing", (_, tweak) => expect(plannedDisruptions({ ...given, ...tweak })).toEqual([]));

  test("before the deadline: nothing, but it is looked at again just then", () => {
    const early = planDisruptions(disruptionWorld({ ...given, now: at(-0.5) }));
    expect(early).toEqual({ chains: [], requeueAfterSeconds: 0.5 });
    const two = [overdue, marked({ name: "db", uid: "db" }, { cause: "NoExecuteTaint", since: time(-200) })];
    expect(planDisruptions(disruptionWorld({ ...given, vmis: two, now: at(-50) })).requeueAfterSeconds).toBe(50);
  });

  test("with nothing under way nothing is looked at again", () => {
    expect(planDisruptions(disruptionWorld())).toEqual({ chains: [] });
  });

  test("pods and nodes are read of those only that leave because of a taint", () => {
    const later = marked({ name: "db", uid: "db" }, { cause: "NoExecuteTaint", since: time(-299) });
    const w = { vmis: [overdue, later, vmi(), marked()], settings: guarded() };
    expect(drivenOf(w)).toEqual([overdue, later]);
    expect(drivenOf({ ...w, settings: settings() })).toEqual([]);
  });

  // prettier-ignore
  test.each<[string, Partial<Parameters<typeof untaintedOf>[0]>, gone: boolean]>([
    ["is still there",                     {},                                                                          false],
    ["is gone",                            { nodes: [node()] },                                                         true],
    ["drives nothing away any more",       { nodes: [node({ taints: [{ ...TAINT, effect: "NoSchedule" }] })] },         true],
    ["is tolerated by now",                { pods: [chosen({ tolerations: [{ operator: "Exists" }] })] },               true],
    ["is one of two that are tolerated",   { nodes: [node({ taints: [TAINT, { key: "b", effect: "NoExecute" }] })], pods: [chosen({ tolerations: [{ key: "b", operator: "Exists" }] })] }, false],
    ["is gone, and the node down",         { nodes: [node({ ready: false })] },                                         false],
    ["is gone, and the node not reachable", { nodes: [node({ taints: [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" }] })] }, false],
    ["is not known: no node was read",     { nodes: [] },                                                               false],
    ["is not known: no pod was read",      { pods: [] },                                                                false],
    ["is gone, but it was preempted",      { vmis: [marked({}, { cause: "Preemption" })], nodes: [node()] },            false],
    ["is gone, and the gate off",          { nodes: [node()], settings: settings() },                                   false],
  ])("the taint %s", (_, tweak, gone) => {
    const vmis = [marked({}, { cause: "NoExecuteTaint" })];
    const seen = { vmis, pods: [chosen()], nodes: [tainted], settings: guarded(), ...tweak };
    expect([...untaintedOf(seen)]).toEqual(gone ? [overdue.uid] : []);
  });
});
