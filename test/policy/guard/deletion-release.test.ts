/** Deletions that are let go at once: every reason, and what is said about it. */
import { describe, expect, test } from "vitest";
import {
  decideDeletion,
  type DeletionFacts,
  RELEASE_REASONS,
  type ReleaseReason,
} from "../../../shared/policy/guard/deletion.ts";
import { DEAD_NODE_TAINTS } from "../../../shared/policy/kube/node-alive.ts";
import { releaseTable } from "../../../infra/tools/docs/policy/guard.ts";
import type { Toleration } from "../../../shared/policy/facts.ts";
import {
  answer,
  answerTo,
  begunBy,
  condition,
  deletion,
  disrupted,
  guarded,
  held,
  NODE_CONTROLLER,
  target,
} from "./disruptions.ts";
import {
  hotplug,
  marked,
  MOBILITY,
  NODE,
  node,
  only,
  owner,
  pod,
  POD_UID,
  settings,
  verbs,
  vmi,
  without,
} from "../fixtures.ts";

const BEFORE = { disruptionTarget: condition("Preemption") };

// prettier-ignore
const rows: readonly (readonly [string, Partial<DeletionFacts>, ReleaseReason, told: boolean])[] = [
  ["a user deletes a pod with a stale condition", { requester: "admin" },                                      "OtherRequester",    false],
  ["… of a VM under evacuation for one",          { requester: "admin", vmi: marked(), evacuations: [disrupted("Preemption", 100)] }, "OtherRequester", false],
  ["no condition",                                { pod: pod() },                                              "NotADisruption",    false],
  ["a condition that is False",                   { pod: pod({ disruptionTarget: condition("Preemption", { active: false }) }) }, "NotADisruption", false],
  ["for the eviction API",                        { pod: pod({ disruptionTarget: condition("Preemption", { reason: "EvictionByEvictionAPI" }) }) }, "NotADisruption", false],
  ["by the kubelet",                              { pod: pod({ disruptionTarget: condition("Preemption", { reason: "TerminationByKubelet" }) }) }, "NotADisruption", false],
  ["no reason, as after a reset",                 { pod: pod({ disruptionTarget: without(condition("Preemption"), "reason") }) }, "NotADisruption", false],
  ["a reason that every object has",              { pod: pod({ disruptionTarget: condition("Preemption", { reason: "constructor" }) }) }, "NotADisruption", false],
  ["no gate",                                     { settings: settings() },                                    "NotADisruption",    false],
  ["mode Off",                                    { settings: guarded({ mode: "Off" }) },                      "GuardOff",          false],
  ["the pod has succeeded",                       { pod: target("Preemption", 0, { phase: "Succeeded" }) },    "PodCompleted",      false],
  ["the pod has failed",                          { pod: target("Preemption", 0, { phase: "Failed" }) },       "PodCompleted",      false],
  ["no launcher pod",                             { pod: target("Preemption", 0, { labels: { app: "web" } }) },"NotAVirtualMachine", false],
  ["the VM is being deleted",                     { vmi: vmi({ deleting: true }) },                            "VmiGone",           false],
  ["the VM has ended",                            { vmi: vmi({ phase: "Succeeded" }) },                        "VmiGone",           false],
  ["the VM has failed",                           { vmi: vmi({ phase: "Failed" }) },                           "VmiGone",           false],
  ["a VM made anew under the name",               { vmi: vmi({ uid: "anew" }) },                               "VmiGone",           false],
  ["a VM that is on no node yet",                 { vmi: without(vmi({ evictionStrategy: "External" }), "nodeName") }, "NotScheduled", false],
  ["the node is not ready",                       { node: node({ ready: false }) },                            "NodeNotAlive",      false],
  ["a pod that only claims to be the VM's",       { pod: target("Preemption", 0, { uid: "other", nodeName: "node02" }), node: node({ name: "node02" }) }, "NotListed", false],
  ["… and on the VM's own node",                  { pod: target("Preemption", 0, { uid: "other" }) },          "NotListed",         false],
  ["strategy None",                               { vmi: vmi({ evictionStrategy: "None" }) },                  "StrategyNone",      false],
  ["a VM that cannot migrate",                    { vmi: vmi({ liveMigratable: MOBILITY.pinned }) },           "NotMigratable",     true],
  ["a strategy that KubeVirt does not know",      { vmi: vmi({ evictionStrategy: "Odd" }) },                   "UnknownStrategy",   true],
  ["past the deadline",                           { pod: target("Preemption", -120) },                         "DeadlinePassed",    true],
];

const byTaint = { pod: target("NoExecuteTaint"), requester: NODE_CONTROLLER };
const DRIVING = { key: "maintenance", value: "now", effect: "NoExecute" };
const tolerating = (...tolerations: readonly Toleration[]) => target("NoExecuteTaint", 0, { tolerations });

describe("a taint that is gone: the taint manager is told no, at once", () => {
  const untainted = { ...byTaint, node: node() };

  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, answer: "denied" | "held" | ReleaseReason]>([
    ["it is there",                           { ...byTaint, node: node({ taints: [DRIVING] }) },                                           "held"],
    ["it is gone",                            untainted,                                                                                   "denied"],
    ["… at the deadline",                     { ...untainted, pod: target("NoExecuteTaint", -300) },                                       "denied"],
    ["… long past it",                        { ...untainted, pod: target("NoExecuteTaint", -9999), vmi: marked(), evacuations: [disrupted("NoExecuteTaint", -9699)] }, "denied"],
    ["… of an External VM",                   { ...untainted, vmi: vmi({ evictionStrategy: "External" }) },                                "denied"],
    ["… of a VM that cannot migrate",         { ...untainted, vmi: vmi({ liveMigratable: MOBILITY.pinned }) },                              "denied"],
    ["… of an unknown strategy",              { ...untainted, vmi: vmi({ evictionStrategy: "Odd" }) },                                     "denied"],
    ["… of a VM that asks for no protection", { ...untainted, vmi: vmi({ evictionStrategy: "None" }) },                                    "StrategyNone"],
    ["… of a VM that is being deleted",       { ...untainted, vmi: vmi({ deleting: true }) },                                              "VmiGone"],
    ["… and the node is down",                { ...untainted, node: node({ ready: false }) },                                              "NodeNotAlive"],
    ["… and the node is unreachable",         { ...untainted, node: node({ taints: [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" }] }) }, "NodeNotAlive"],
    ["only NoSchedule is left",               { ...untainted, node: node({ taints: [{ ...DRIVING, effect: "NoSchedule" }] }) },            "denied"],
    ["what is left is tolerated",             { ...byTaint, node: node({ taints: [DRIVING] }), pod: tolerating({ operator: "Exists" }) },  "denied"],
    ["it was tolerated for a while",          { ...byTaint, node: node({ taints: [DRIVING] }), pod: tolerating({ operator: "Exists", tolerationSeconds: 60 }) }, "held"],
    ["another one is left",                   { ...byTaint, node: node({ taints: [DRIVING] }), pod: tolerating({ key: "other", operator: "Exists" }) }, "held"],
    ["a preemption needs no taint",           { node: node() },                                                                            "held"],
  ])("%s", (_, tweak, expected) => {
    const decision = decideDeletion(deletion(tweak));
    const held = decision.verdict === "Hold" && (decision.holdSeconds === 0 ? "denied" : "held");
    expect(held || answer(decision)).toBe(expected);
  });

  test("the answer names pod and node, and nothing is marked", () => {
    expect(held(untainted)).toEqual({
      verdict: "Hold",
      holdSeconds: 0,
      message: `pod "virt-launcher-web-x7k2p" stays: node "${NODE}" carries no NoExecute taint any more that it does not tolerate`,
      actions: [],
      story: [],
    });
  });
});

describe("let go", () => {
  test.each(rows)("%s", (_, tweak, reason, told) => {
    const decision = decideDeletion(deletion(tweak));
    expect(decision).toMatchObject({ verdict: "Release", reason });
    expect(verbs(decision.story)).toEqual(told ? ["Event"] : []);
  });

  test("a VM or a node that is gone", () => {
    expect(decideDeletion(without(deletion(), "vmi"))).toMatchObject({ reason: "VmiGone" });
    expect(decideDeletion(without(deletion(), "node"))).toMatchObject({ reason: "NodeNotAlive" });
  });

  test("every reason is shown above, but for blindness, which has no facts", () => {
    const shown = new Set<ReleaseReason>(["Blind", ...rows.map(([, , reason]) => reason)]);
    expect(shown).toEqual(new Set(RELEASE_REASONS));
  });

  test("POLICY.md says of each whether an Event tells of it", () => {
    const document = releaseTable();
    for (const [, , reason, told] of rows)
      expect(document).toMatch(new RegExp(`^\\| ${reason} .*\\| +${told ? "DisruptionNotHeld " : ""}\\|$`, "m"));
  });

  // prettier-ignore
  test.each([
    ["cannot migrate",     { vmi: vmi({ liveMigratable: MOBILITY.pinned }) },  "it is not live-migratable: DisksNotLiveMigratable"],
    ["odd strategy",       { vmi: vmi({ evictionStrategy: "Odd" }) },          'KubeVirt does not know spec.evictionStrategy "Odd"'],
    ["past the deadline",  { pod: target("Preemption", -121) },                "it has not moved within 120 s"],
  ] as const)("%s: an Event says why, once a pod", (_, tweak, why) => {
    expect(only("Event", decideDeletion(deletion(tweak)).story)).toMatchObject([
      {
        type: "Warning",
        reason: "DisruptionNotHeld",
        occasion: POD_UID,
        message: `pod virt-launcher-web-x7k2p is deleted by system:kube-scheduler (cause Preemption) and the VM with it: ${why}`,
      },
    ]);
  });
});

describe("a dead node", () => {
  test.each(DEAD_NODE_TAINTS.flatMap((key) => ["NoSchedule", "NoExecute"].map((effect) => [key, effect] as const)))(
    "%s:%s",
    (key, effect) => {
      expect(answerTo({ node: node({ taints: [{ key, effect }] }) })).toBe("NodeNotAlive");
    },
  );

  test("also in the middle of an evacuation", () => {
    const given = { vmi: marked(), evacuations: [disrupted("Preemption", 100)], node: node({ ready: false }) };
    expect(answerTo(given)).toBe("NodeNotAlive");
  });

  test.each(["node.kubernetes.io/unschedulable", "node.kubernetes.io/memory-pressure", "maintenance"])(
    "is not one with %s, nor a cordoned one",
    (key) => {
      const taints = [{ key, effect: "NoExecute" }];
      expect(answerTo({ node: node({ taints, unschedulable: true, pressures: ["MemoryPressure"] }) })).toBe("Hold");
    },
  );
});

describe("the pod that a migration goes to", () => {
  const there = { uid: "target", nodeName: "node02" };
  const given = { pod: target("Preemption", 0, there), node: node({ name: "node02" }) };
  const migrating = { activePods: { [POD_UID]: NODE, target: "node02" } };

  test.each([false, true])("is held without a mark, the guest there: %s", (guestOnTarget) => {
    const { actions, story, holdSeconds } = held({ ...given, vmi: vmi({ ...migrating, guestOnTarget }) });
    expect([actions, story, holdSeconds]).toEqual([[], [], 25]);
  });

  test.each([
    [false, []],
    [true, ["Event"]],
  ])("is let go at the deadline, and an Event tells of the VM if it is there: %s", (guestOnTarget, told) => {
    const overdue = { ...given, pod: target("Preemption", -120, there), vmi: vmi({ ...migrating, guestOnTarget }) };
    const decision = decideDeletion(deletion(overdue));
    expect([answer(decision), verbs(decision.story)]).toEqual(["DeadlinePassed", told]);
  });

  test("the source is held all the while", () => {
    expect(answerTo({ vmi: vmi({ ...migrating, guestOnTarget: true }) })).toBe("Hold");
  });

  test("once the VM is there it is like any other", () => {
    const moved = vmi({ ...migrating, nodeName: "node02" });
    expect(verbs(held({ ...given, vmi: moved }).actions)).toEqual(["CreateEvacuation", "GrowBudget", "Mark"]);
  });
});

describe("a hotplug pod follows its VM", () => {
  const volume = hotplug(BEFORE);

  test("held, and the VM is marked for its launcher pod", () => {
    expect(begunBy({ pod: volume, launcher: pod() })?.spec.pod).toEqual({ name: pod().name, uid: POD_UID });
  });

  test("held by the Evacuation of its launcher pod, without another one", () => {
    const given = { launcher: pod(), vmi: marked(), evacuations: [disrupted("Preemption", 100)] };
    expect(held({ ...given, pod: hotplug() }).actions).toEqual([]);
  });

  // prettier-ignore
  test.each([
    ["of a pinned VM",                        { launcher: pod(), vmi: vmi({ liveMigratable: MOBILITY.pinned }) },                              "NotMigratable"],
    ["of a VM that is going",                 { launcher: pod(), vmi: vmi({ deleting: true }) },                                               "VmiGone"],
    ["whose launcher pod is gone",            {},                                                                                              "VmiGone"],
    ["whose launcher pod is another by now",  { launcher: pod({ uid: "other" }) },                                                             "VmiGone"],
    ["of a pod that KubeVirt does not list",  { launcher: pod({ uid: "other", nodeName: "node02" }), pod: hotplug({ ...BEFORE, owners: [owner({ kind: "Pod", uid: "other" })] }) }, "NotListed"],
  ])("%s: %s", (_, tweak, expected) => expect(answerTo({ pod: volume, ...tweak })).toBe(expected));
});
