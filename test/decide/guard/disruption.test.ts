/** Disruptions under way: what the guard did not see, and what the taint manager gave up on. */
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
import { at, marked, node, PINNED, pod, settings, time, verbs, vmi, without } from "../../support/fixtures.ts";

const STARTED = ["CreateEvacuation", "CreateBudget", "Label", "Mark", "Event"] as const;

describe("the watch", () => {
  const terminating = target("Preemption", -3, { deleting: true });

  test.each([
    ["Preemption", 117],
    ["NoExecuteTaint", 297],
  ] as const)("a terminating pod (%s): its VM is marked as urgent, and looked at again", (cause, left) => {
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
    ["of a drain, the mark lost",   [drained()],                                                                   true],
    ["of the guard, rested",        [disrupted("Preemption", 60, { status: { phase: "Abandoned", nextAttemptTime: time(0) } })], true],
    ["of the guard",                [disrupted("Preemption", 60)],                                                 false],
    ["of the guard, beside a drain's", [drained(), disrupted("Preemption", 60, { status: { phase: "Duplicate" } })], false],
    ["of the guard, given up",      [disrupted("Preemption", 60, { status: { phase: "Abandoned", nextAttemptTime: time(30) } })], false],
  ])("beside an Evacuation %s: begun %s", (_, evacuations, started) => {
    expect(verbs(plannedDisruptions({ evacuations, pods: [terminating] }))).toEqual(started ? STARTED : []);
  });

  test.each([
    ["by the same preemption, a minute after its deadline", -3, false],
    ["by another one since", 180, true],
  ] as const)("a pod that terminates %s, beside a drain's Duplicate: begun %s", (_, since, started) => {
    const evacuations = [drained(), disrupted("Preemption", 117, { status: { phase: "Duplicate" } })];
    const pods = [target("Preemption", since, { deleting: true })];
    expect(verbs(plannedDisruptions({ evacuations, pods, now: at(190) }))).toEqual(started ? STARTED : []);
  });

  // prettier-ignore
  test.each([
    ["a plain deletion",               { pods: [pod({ deleting: true })] }],
    ["an eviction",                    { pods: [pod({ deleting: true, disruptionTarget: condition("Preemption", { reason: "EvictionByEvictionAPI" }) })] }],
    ["gate off: taint",                { pods: [target("NoExecuteTaint", 0, { deleting: true })], settings: guarded({}, { featureGates: gatesBut("NoExecuteTaint") }) }],
    ["the VM is marked",               { pods: [terminating], vmis: [marked()] }],
    ["the VM is not known",            { pods: [terminating], vmis: [] }],
    ["the VM is going",                { pods: [terminating], vmis: [vmi({ deleting: true })] }],
    ["the VM has ended",               { pods: [terminating], vmis: [vmi({ phase: "Failed" })] }],
    ["a VM made anew",                 { pods: [terminating], vmis: [vmi({ uid: "anew", activePods: {} })] }],
    ["the VM is on no node",           { pods: [terminating], vmis: [without(vmi({ activePods: {} }), "nodeName")] }],
    ["the target of a migration",      { pods: [{ ...terminating, uid: "other", nodeName: "node02" }] }],
    ["an unknown strategy",            { pods: [terminating], vmis: [vmi({ evictionStrategy: "Odd" })] }],
    ["a dead node",                    { pods: [terminating], nodes: [node({ ready: false })] }],
  ])("%s: nothing", (_, tweak) => expect(plannedDisruptions(tweak)).toEqual([]));

  test("works where the node was not read", () => {
    const given = { pods: [terminating], nodes: [] };
    expect(verbs(plannedDisruptions(given))).toEqual(STARTED);
  });
});

describe("the deadline keeper", () => {
  const TAINT: Taint = { key: "CriticalAddonsOnly", value: "true", effect: "NoExecute" };
  const tainted = node({ taints: [TAINT] });
  const overdue = disrupted("NoExecuteTaint", 0);
  const given = { vmis: [marked()], evacuations: [overdue], pods: [pod()], nodes: [tainted] };
  const DELETED = ["DeletePod", "Event"] as const;

  test("past the deadline, untolerated: the pod is deleted under its UID, and an Event says so", () => {
    const message = `it has not left node node01 by ${time(0)} (taint CriticalAddonsOnly): deleting pod ${pod().name}`;
    const event = { type: "Warning", reason: "DeadlineKept", occasion: overdue.uid, message };
    expect(plannedDisruptions(given)).toMatchObject([{ verb: "DeletePod", pod: pod() }, event]);
  });

  test("of a VM that has begun to move the shield comes first, where it is in force", () => {
    const shield = { maxPodGracePeriodSeconds: 600, shutdownSeconds: 90 };
    const settings = guarded({}, { shield, isShieldOn: true });
    const moving = { ...marked(), isMigrating: true, graceSeconds: 300 };
    expect(verbs(plannedDisruptions({ ...given, vmis: [moving], settings }))).toEqual(["Shield", ...DELETED]);
    expect(verbs(plannedDisruptions({ ...given, vmis: [moving] }))).toEqual(DELETED);
  });

  // prettier-ignore
  test.each<[string, readonly EvacuationFacts[], deleted: boolean]>([
    ["in back-off",                   [disrupted("NoExecuteTaint", 0, { status: { phase: "BackingOff", nextAttemptTime: time(9) } })], true],
    ["before its deadline",           [disrupted("NoExecuteTaint", 0.5)],                                             false],
    ["a drain's Duplicate",           [drained(), disrupted("NoExecuteTaint", 0, { status: { phase: "Duplicate" } })], true],
    ["… of a drain that is given up, and rests", [drained({ status: { phase: "Abandoned", nextAttemptTime: time(9) } }), disrupted("NoExecuteTaint", 0, { status: { phase: "Duplicate" } })], false],
    ["… of a drain that a person has just cancelled", [drained({ spec: { intent: "Withdrawn" } }), disrupted("NoExecuteTaint", 0, { status: { phase: "Duplicate" } })], false],
    ["that a person has just cancelled", [disrupted("NoExecuteTaint", 0, { spec: { intent: "Withdrawn" } })],         false],
    ["that was given up",             [disrupted("NoExecuteTaint", 0, { status: { phase: "Abandoned", nextAttemptTime: time(9) } })], false],
  ])("the Evacuation: %s", (_, evacuations, deleted) => {
    expect(verbs(plannedDisruptions({ ...given, evacuations }))).toEqual(deleted ? DELETED : []);
  });

  test.each([
    ["of its time", 29, DELETED],
    ["of another taint since", 31, ["CreateEvacuation", "Label", "Event"]],
  ] as const)("a drain's Duplicate, and the pod's condition is %s", (_, since, deleted) => {
    const evacuations = [drained(), disrupted("NoExecuteTaint", 0, { status: { phase: "Duplicate" } })];
    const pods = [target("NoExecuteTaint", since)];
    expect(verbs(plannedDisruptions({ ...given, evacuations, pods, now: at(40) }))).toEqual(deleted);
  });

  // prettier-ignore
  test.each<[string, Partial<Parameters<typeof plannedDisruptions>[0]>]>([
    ["the taint is gone",            { nodes: [node()] }],
    ["it is tolerated",              { pods: [pod({ tolerations: [{ operator: "Exists" }] })] }],
    ["a VM made anew",               { vmis: [marked({ uid: "anew" })] }],
    ["the VM has moved",             { vmis: [marked({ nodeName: "node02" })] }],
    ["the guest has gone over",      { vmis: [marked({ isMigrating: true, guestOnTarget: true })] }],
    ["the VM is going",              { vmis: [marked({ deleting: true })] }],
    ["no gate",                      { settings: settings() }],
  ])("%s: nothing", (_, tweak) => expect(plannedDisruptions({ ...given, ...tweak })).toEqual([]));

  test("without virt-handler the VM could not leave: it stays", () => {
    const virtHandler = { isSchedulable: false, saidAt: time(-60) };
    expect(plannedDisruptions({ ...given, nodes: [{ ...tainted, virtHandler }] })).toEqual([]);
    const back = { isSchedulable: true, saidAt: time(-60) };
    expect(verbs(plannedDisruptions({ ...given, nodes: [{ ...tainted, virtHandler: back }] }))).toEqual(DELETED);
  });

  test("deletes once the time has come, and then has nothing to look at again", () => {
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
    ["as the condition says",                        { pods: [reported] },                                          STARTED],
    ["as the node says, the condition is reset",     { pods: [pod()] },                                         STARTED],
    ["tolerated for as long as it is there",         { pods: [pod(tolerating(60))] },                           STARTED],
    ["tolerated for longer",                         { pods: [pod(tolerating(61))] },                           []],
    ["… but the taint manager has come",             { pods: [target("NoExecuteTaint", 0, tolerating(61))] },   STARTED],
    ["tolerated for good",                           { pods: [pod(tolerating())] },                             []],
    ["gone by now",                                  { pods: [reported], nodes: [node()] },                         []],
    ["of a node that is gone",                  { pods: [reported], nodes: [] },                               []],
    ["known, before its deadline",                   { pods: [reported], evacuations: [disrupted("NoExecuteTaint", 60)] }, []],
    ["whose evacuation a person has cancelled",      { pods: [reported], evacuations: [cancelled] },                []],
    ["a VM that cannot migrate",                     { pods: [reported], vmis: [vmi(PINNED)] },                     ["DeletePod", "Event"]],
    ["a VM that asks for no protection",             { pods: [reported], vmis: [vmi({ evictionStrategy: "None" })] }, ["DeletePod"]],
    ["a VM that does not exist",                     { pods: [reported], vmis: [] },                                ["DeletePod"]],
    ["a VM made anew",                               { pods: [reported], vmis: [vmi({ uid: "anew", activePods: {} })] }, ["DeletePod"]],
    ["the target of a migration",                    { pods: [{ ...reported, uid: "other", nodeName: "node02" }] }, []],
    ["of a lost node: its VMs start elsewhere",      { pods: [reported], nodes: [lost] },                           ["DeletePod"]],
    ["… found late",                                 { pods: [pod()], nodes: [lost] },                          ["DeletePod"]],
    ["… that comes back in time",                    { pods: [pod({ tolerations: [{ operator: "Exists", tolerationSeconds: 302 }] })], nodes: [lost] }, []],
    ["the gate is off",                              { pods: [reported], settings: off },                           []],
    ["… and the policy is there",                    { pods: [pod()], settings: { ...off, isHoldingTaints: true } }, ["DeletePod"]],
  ])("%s", (_, tweak, expected) => expect(verbs(plannedDisruptions({ nodes: [here], ...tweak }))).toEqual(expected));

  test("the VM has its time from when Lifeboat sees it", () => {
    const [started] = plannedDisruptions({ pods: [target("NoExecuteTaint", -9999)], nodes: [here] });
    expect(started).toMatchObject({ evacuation: { spec: { cause: "NoExecuteTaint", deadline: time(300) } } });
  });
});
