/** Tests disruptions that bypassed the guard, and disruptions that the taint manager no longer retries. */
import { describe, expect, test } from "vitest";
import type { Taint } from "../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import {
  condition,
  disrupted,
  disruptionPlan,
  drained,
  gatesBut,
  guarded,
  plannedDisruptions,
  target,
} from "../../support/guard/disruptions.ts";
import { at, marked, node, only, PINNED, pod, settings, time, verbs, vmi, without } from "../../support/fixtures.ts";

const STARTED = ["CreateEvacuation", "CreateBudget", "Label", "Mark", "Event"] as const;

describe("a terminating launcher pod that bypassed the guard", () => {
  const terminating = target("Preemption", -3, { deleting: true });

  test.each([
    ["Preemption", 117],
    ["NoExecuteTaint", 297],
  ] as const)("of a %s starts an urgent evacuation, and is reconciled again", (cause, left) => {
    const label = { verb: "Label", urgency: "urgent" };
    const dying = target(cause, -3, { deleting: true });
    const asked = { requestedBy: dying.disruptionTarget?.reason, deadline: time(left), pod: { uid: dying.uid } };
    const evacuation = { namespace: "apps", spec: { vmiName: "web", cause, ...asked } };
    const event = { verb: "Event", type: "Warning", reason: "DisruptionSeen" };
    expect(disruptionPlan({ pods: [dying] })).toMatchObject({
      chains: [[{ verb: "CreateEvacuation", evacuation }, { verb: "CreateBudget" }, label, { verb: "Mark" }, event]],
      again: true,
    });
  });

  // prettier-ignore
  test.each<[string, readonly EvacuationFacts[], begun: boolean]>([
    ["of a drain, whose mark was lost",   [drained()],                                                                   true],
    ["of an earlier disruption, after its back-off",        [disrupted("Preemption", 60, { status: { phase: "Abandoned", nextAttemptTime: time(0) } })], true],
    ["of the same disruption",                [disrupted("Preemption", 60)],                                                 false],
    ["of the same disruption, beside a drain's", [drained(), disrupted("Preemption", 60, { status: { phase: "Duplicate" } })], false],
    ["of an abandoned disruption",      [disrupted("Preemption", 60, { status: { phase: "Abandoned", nextAttemptTime: time(30) } })], false],
  ])("beside an Evacuation %s starts an evacuation: $2", (_, evacuations, started) => {
    expect(verbs(plannedDisruptions({ evacuations, pods: [terminating] }))).toEqual(started ? STARTED : []);
  });

  test.each([
    ["of the recorded preemption, a minute after its deadline", -3, false],
    ["of a later preemption", 180, true],
  ] as const)("%s, beside a drain's Duplicate, starts an evacuation: $2", (_, since, started) => {
    const evacuations = [drained(), disrupted("Preemption", 117, { status: { phase: "Duplicate" } })];
    const pods = [target("Preemption", since, { deleting: true })];
    expect(verbs(plannedDisruptions({ evacuations, pods, now: at(190) }))).toEqual(started ? STARTED : []);
  });

  // prettier-ignore
  test.each([
    ["by a plain deletion",                       { pods: [pod({ deleting: true })] }],
    ["by an eviction",                            { pods: [pod({ deleting: true, disruptionTarget: condition("Preemption", { reason: "EvictionByEvictionAPI" }) })] }],
    ["by a taint whose feature gate is off",      { pods: [target("NoExecuteTaint", 0, { deleting: true })], settings: guarded({}, { featureGates: gatesBut("NoExecuteTaint") }) }],
    ["of a marked VM",                            { pods: [terminating], vmis: [marked()] }],
    ["of an unknown VM",                          { pods: [terminating], vmis: [] }],
    ["of a VM that is being deleted",             { pods: [terminating], vmis: [vmi({ deleting: true })] }],
    ["of a VM that has ended",                    { pods: [terminating], vmis: [vmi({ phase: "Failed" })] }],
    ["of a recreated VM",                         { pods: [terminating], vmis: [vmi({ uid: "anew", activePods: {} })] }],
    ["of a VM on no node",                        { pods: [terminating], vmis: [without(vmi({ activePods: {} }), "nodeName")] }],
    ["that is the target of a migration",         { pods: [{ ...terminating, uid: "other", nodeName: "node02" }] }],
    ["of a VM with an unknown strategy",          { pods: [terminating], vmis: [vmi({ evictionStrategy: "Odd" })] }],
    ["on a dead node",                            { pods: [terminating], nodes: [node({ ready: false })] }],
  ])("%s starts no evacuation", (_, tweak) => expect(plannedDisruptions(tweak)).toEqual([]));

  test("starts an evacuation if its node was not read", () => {
    const given = { pods: [terminating], nodes: [] };
    expect(verbs(plannedDisruptions(given))).toEqual(STARTED);
  });
});

describe("at the deadline of a NoExecute taint, Lifeboat", () => {
  const TAINT: Taint = { key: "CriticalAddonsOnly", value: "true", effect: "NoExecute" };
  const tainted = node({ taints: [TAINT] });
  const overdue = disrupted("NoExecuteTaint", 0);
  const given = { vmis: [marked()], evacuations: [overdue], pods: [pod()], nodes: [tainted] };
  const DELETED = ["DeletePod", "Event"] as const;

  test("deletes the pod with its UID, and creates an Event", () => {
    const message = `the VM has not left node node01 by ${time(0)} (taint CriticalAddonsOnly): deleting pod ${pod().name}`;
    const event = { type: "Warning", reason: "DeadlineKept", occasion: overdue.uid, message };
    expect(plannedDisruptions(given)).toMatchObject([{ verb: "DeletePod", pod: pod() }, event]);
  });

  test("shields a migrating VM first, if the shield is on", () => {
    const shield = { maxPodGracePeriodSeconds: 600, shutdownSeconds: 90 };
    const settings = guarded({}, { shield, isShieldOn: true });
    const moving = { ...marked(), isMigrating: true, graceSeconds: 300 };
    expect(verbs(plannedDisruptions({ ...given, vmis: [moving], settings }))).toEqual(["Shield", ...DELETED]);
    expect(verbs(plannedDisruptions({ ...given, vmis: [moving] }))).toEqual(DELETED);
  });

  // prettier-ignore
  test.each<[string, readonly EvacuationFacts[], deleted: boolean]>([
    ["that is in back-off",                   [disrupted("NoExecuteTaint", 0, { status: { phase: "BackingOff", nextAttemptTime: time(9) } })], true],
    ["before its deadline",           [disrupted("NoExecuteTaint", 0.5)],                                             false],
    ["that is a drain's Duplicate",           [drained(), disrupted("NoExecuteTaint", 0, { status: { phase: "Duplicate" } })], true],
    ["that is a Duplicate of an abandoned drain in back-off", [drained({ status: { phase: "Abandoned", nextAttemptTime: time(9) } }), disrupted("NoExecuteTaint", 0, { status: { phase: "Duplicate" } })], false],
    ["that is a Duplicate of a drain that a person has just cancelled", [drained({ spec: { intent: "Withdrawn" } }), disrupted("NoExecuteTaint", 0, { status: { phase: "Duplicate" } })], false],
    ["that a person has just cancelled", [disrupted("NoExecuteTaint", 0, { spec: { intent: "Withdrawn" } })],         false],
    ["that a person has just cancelled, beside a drain's", [drained(), disrupted("NoExecuteTaint", 0, { spec: { intent: "Withdrawn" } })], false],
    ["that is abandoned, beside a drain's", [drained(), disrupted("NoExecuteTaint", 0, { status: { phase: "Abandoned", nextAttemptTime: time(9) } })], false],
    ["before its deadline, beside a preemption's after its deadline", [disrupted("NoExecuteTaint", 9), disrupted("Preemption", 0)], false],
    ["that is abandoned",             [disrupted("NoExecuteTaint", 0, { status: { phase: "Abandoned", nextAttemptTime: time(9) } })], false],
  ])("deletes the pod or not with an Evacuation %s: $2", (_, evacuations, deleted) => {
    expect(verbs(plannedDisruptions({ ...given, evacuations }))).toEqual(deleted ? DELETED : []);
  });

  test.each([
    ["of its time", 29, DELETED],
    ["of a later taint", 31, ["CreateEvacuation", "Label", "Event"]],
  ] as const)("acts by a drain's Duplicate if the pod's condition is %s", (_, since, deleted) => {
    const evacuations = [drained(), disrupted("NoExecuteTaint", 0, { status: { phase: "Duplicate" } })];
    const pods = [target("NoExecuteTaint", since)];
    expect(verbs(plannedDisruptions({ ...given, evacuations, pods, now: at(40) }))).toEqual(deleted);
  });

  // prettier-ignore
  test.each<[string, Partial<Parameters<typeof plannedDisruptions>[0]>]>([
    ["the taint was removed",                 { nodes: [node()] }],
    ["the pod tolerates the taint",           { pods: [pod({ tolerations: [{ operator: "Exists" }] })] }],
    ["the VM was recreated",                  { vmis: [marked({ uid: "anew" })] }],
    ["the VM has moved",                      { vmis: [marked({ nodeName: "node02" })] }],
    ["the guest runs in the target pod",      { vmis: [marked({ isMigrating: true, guestOnTarget: true })] }],
    ["the VM is being deleted",               { vmis: [marked({ deleting: true })] }],
    ["the feature gate is off",               { settings: settings() }],
  ])("keeps the pod if %s", (_, tweak) => expect(plannedDisruptions({ ...given, ...tweak })).toEqual([]));

  test("keeps the pod while no virt-handler runs, because the VM cannot leave", () => {
    const virtHandler = { isSchedulable: false, saidAt: time(-60) };
    expect(plannedDisruptions({ ...given, nodes: [{ ...tainted, virtHandler }] })).toEqual([]);
    const back = { isSchedulable: true, saidAt: time(-60) };
    expect(verbs(plannedDisruptions({ ...given, nodes: [{ ...tainted, virtHandler: back }] }))).toEqual(DELETED);
  });

  test("deletes the pod only when the deadline has passed, without a further reconcile", () => {
    const early = { ...given, now: at(-0.5) };
    expect(disruptionPlan(early)).toEqual({ chains: [], again: false });
    expect(disruptionPlan({ ...early, now: at(0) })).toMatchObject({ chains: [[{}, {}]], again: false });
  });
});

const tolerating = (tolerationSeconds?: number) => ({
  tolerations: [
    { key: "maintenance", operator: "Exists", ...(tolerationSeconds !== undefined && { tolerationSeconds }) },
  ],
});

describe("a NoExecute taint", () => {
  const TAINT: Taint = { key: "maintenance", effect: "NoExecute", timeAdded: time(-60) };
  const LOST: Taint = { key: "node.kubernetes.io/not-ready", effect: "NoExecute", timeAdded: time(-301) };
  const reported = target("NoExecuteTaint");
  const [here, lost] = [node({ taints: [TAINT] }), node({ ready: false, taints: [LOST] })];
  const cancelled = disrupted("NoExecuteTaint", 60, { status: { phase: "Withdrawn", nextAttemptTime: time(30) } });
  const off = guarded({}, { featureGates: gatesBut("NoExecuteTaint") });

  // prettier-ignore
  test.each<[string, Parameters<typeof plannedDisruptions>[0], expected: readonly string[]]>([
    ["of the pod's condition starts an evacuation",                        { pods: [reported] },                                          STARTED],
    ["of the node starts an evacuation if the condition was reset",     { pods: [pod()] },                                         STARTED],
    ["whose toleration has expired starts an evacuation",         { pods: [pod(tolerating(60))] },                           STARTED],
    ["whose toleration has not expired starts none",                         { pods: [pod(tolerating(61))] },                           []],
    ["whose toleration has not expired starts an evacuation if the taint manager acts",             { pods: [target("NoExecuteTaint", 0, tolerating(61))] },   STARTED],
    ["whose toleration has not expired starts none in a preemption", { pods: [target("Preemption", 0, tolerating(61))] }, []],
    ["tolerated without a time starts none, though the pod has the taint manager's condition", { pods: [{ ...reported, ...tolerating() }] }, []],
    ["tolerated without a time starts none",                           { pods: [pod(tolerating())] },                             []],
    ["that was removed starts none",                                  { pods: [reported], nodes: [node()] },                         []],
    ["of a missing node starts none",                  { pods: [reported], nodes: [] },                               []],
    ["with an Evacuation before its deadline starts none",                   { pods: [reported], evacuations: [disrupted("NoExecuteTaint", 60)] }, []],
    ["with a preemption's Evacuation starts one more", { pods: [reported], evacuations: [disrupted("Preemption", 60)] }, STARTED],
    ["whose evacuation a person has cancelled starts none",      { pods: [reported], evacuations: [cancelled] },                []],
    ["deletes the pod of a VM that cannot migrate",                     { pods: [reported], vmis: [vmi(PINNED)] },                     ["DeletePod", "Event"]],
    ["deletes the pod of a VM with strategy None",             { pods: [reported], vmis: [vmi({ evictionStrategy: "None" })] }, ["DeletePod"]],
    ["deletes the pod of a missing VM",                     { pods: [reported], vmis: [] },                                ["DeletePod"]],
    ["does not delete a preempted pod of a missing VM", { pods: [target("Preemption")], vmis: [] }, []],
    ["ignores a pod that is no launcher pod", { pods: [{ ...reported, labels: {} }], vmis: [] }, []],
    ["deletes the pod of a recreated VM",                               { pods: [reported], vmis: [vmi({ uid: "anew", activePods: {} })] }, ["DeletePod"]],
    ["ignores the target pod of a migration",                    { pods: [{ ...reported, uid: "other", nodeName: "node02" }] }, []],
    ["of a lost node deletes the pod, so its VM starts elsewhere",      { pods: [reported], nodes: [lost] },                           ["DeletePod"]],
    ["of a lost node deletes the pod if it was found late",                                 { pods: [pod()], nodes: [lost] },                          ["DeletePod"]],
    ["of a lost node keeps the pod if the taint's effect is NoSchedule", { pods: [pod()], nodes: [{ ...lost, taints: [{ ...LOST, effect: "NoSchedule" }] }] }, []],
    ["of a lost node that may return in time keeps the pod",                    { pods: [pod({ tolerations: [{ operator: "Exists", tolerationSeconds: 302 }] })], nodes: [lost] }, []],
    ["of a lost node keeps the pod that tolerates it without a time", { pods: [{ ...reported, tolerations: [{ operator: "Exists" }] }], nodes: [lost] }, []],
    ["whose feature gate is off does nothing",                              { pods: [reported], settings: off },                           []],
    ["whose feature gate is off keeps the pod of a missing VM", { pods: [reported], vmis: [], settings: off }, []],
    ["whose feature gate is off deletes the pod if the hold policy is installed",                    { pods: [pod()], settings: { ...off, isHoldingTaints: true } }, ["DeletePod"]],
  ])("%s", (_, tweak, expected) => expect(verbs(plannedDisruptions({ nodes: [here], ...tweak }))).toEqual(expected));

  test.each([
    ["a deletion that is refused", vmi(), "DeletionRefused"],
    ["a deletion that is allowed", vmi(PINNED), "DeletionAllowed"],
  ])("is reported as %s", (_, subject, reason) => {
    const actions = plannedDisruptions({ pods: [reported], nodes: [here], vmis: [subject] });
    expect(only("Event", actions)).toMatchObject([{ reason }]);
  });

  test("is reconciled again if only one of several pods starts an evacuation", () => {
    const tolerant = { ...reported, ...tolerating() };
    expect(disruptionPlan({ pods: [tolerant, reported], nodes: [here] }).again).toBe(true);
  });

  test("has a deadline that counts from the first time that Lifeboat sees the taint", () => {
    const [started] = plannedDisruptions({ pods: [target("NoExecuteTaint", -9999)], nodes: [here] });
    expect(started).toMatchObject({ evacuation: { spec: { cause: "NoExecuteTaint", deadline: time(300) } } });
  });
});
