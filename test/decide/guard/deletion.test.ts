/**
 * Tests which deletions the guard refuses, by eviction strategy, cause and whether the VM can migrate, and why the
 * guard allows the other deletions.
 */
import { describe, expect, test } from "vitest";
import {
  decideDeletion,
  type DeletionFacts,
  ALLOW_REASONS,
  type DeletionAllowReason,
} from "../../../shared/guard/decide.ts";
import { GUARD_CAUSES, isReviewed } from "../../../shared/settings/guarded.ts";
import { releaseTable } from "../../../infra/tools/docs/policy/guard.ts";
import {
  answer,
  answerTo,
  askedFor,
  evacuationOf,
  condition,
  deletion,
  disrupted,
  gatesBut,
  guarded,
  refused,
  SCHEDULER,
  TAINT_CONTROLLER,
  target,
  termination,
} from "../../support/guard/disruptions.ts";
import { type Cells, cellsOf } from "../cells.ts";
import {
  EXTERNAL,
  hotplug,
  marked,
  MOBILITY,
  NODE,
  node,
  only,
  owner,
  PINNED,
  pod,
  POD_UID,
  time,
  verbs,
  vmi,
  without,
} from "../../support/fixtures.ts";

// prettier-ignore
const CELLS: Cells<string> = {
  //                       migratable                pinned
  None:                  { migratable: "StrategyNone", pinned: "StrategyNone"  },
  LiveMigrate:           { migratable: "Refuse",         pinned: "NotMigratable" },
  LiveMigrateIfPossible: { migratable: "Refuse",         pinned: "NotMigratable" },
  External:              { migratable: "Refuse",         pinned: "Refuse"          },
};

describe.each(cellsOf(CELLS))(
  "the answer to a deletion of a VM with strategy %s, %s: %s",
  (evictionStrategy, mobility, expected) => {
    const own = vmi({ evictionStrategy, liveMigratable: MOBILITY[mobility] });

    test.each(GUARD_CAUSES.filter(isReviewed))("with the cause %s", (cause) => {
      const given = { vmi: own, ...askedFor(cause) };
      expect(answerTo(given)).toBe(expected);
      expect(answerTo({ ...given, settings: guarded({}, { featureGates: gatesBut(cause) }) })).toBe("NotADisruption");
      const byCluster = {
        vmi: without(own, "evictionStrategy"),
        settings: guarded({}, { clusterStrategy: evictionStrategy }),
      };
      expect(answerTo({ ...given, ...byCluster })).toBe(expected);
    });
  },
);

// prettier-ignore
test.each([
  ["the taint eviction controller",                             TAINT_CONTROLLER,                                                     "Refuse"],
  ["an administrator",                                          "kubernetes-admin",                                                   "OtherRequester"],
  ["a service account of the same name in another namespace",   "system:serviceaccount:apps:node-controller",                         "OtherRequester"],
])("a deletion by %s", (_, requester, expected) => expect(answerTo({ requester })).toBe(expected));

function conditioned(tweak: Parameters<typeof condition>[1]) {
  return { pod: pod({ disruptionTarget: condition("Preemption", tweak) }) };
}

const elsewhere = { uid: "other", nodeName: "node02" };

// prettier-ignore
const released: readonly (readonly [string, Partial<DeletionFacts>, DeletionAllowReason, told: boolean])[] = [
  ["a user who deletes a pod with a stale condition", { requester: "admin" },                                      "OtherRequester",    false],
  ["a pod without the condition",                     { pod: pod() },                                              "NotADisruption",    false],
  ["a pod whose condition is False",                  conditioned({ active: false }),                              "NotADisruption",    false],
  ["a pod whose condition is the eviction API's",     conditioned({ reason: "EvictionByEvictionAPI" }),            "NotADisruption",    false],
  ["a pod that has succeeded",                        { pod: target("Preemption", 0, { phase: "Succeeded" }) },    "PodCompleted",      false],
  ["a pod that is no launcher pod",                   { pod: target("Preemption", 0, { labels: { app: "web" } }) }, "NotAVirtualMachine", false],
  ["a VM that is being deleted",                      { vmi: vmi({ deleting: true }) },                            "VmiGone",           false],
  ["a VM that has ended",                             { vmi: vmi({ phase: "Succeeded" }) },                        "VmiGone",           false],
  ["a VM recreated under the same name",              { vmi: vmi({ uid: "anew" }) },                               "VmiGone",           false],
  ["a VM that is on no node yet",                     { vmi: without(vmi(EXTERNAL), "nodeName") },                 "NotScheduled",      false],
  ["a node that is not ready",                        { node: node({ ready: false }) },                            "NodeNotAlive",      false],
  ["a pod that only claims to be the VM's",           { pod: target("Preemption", 0, elsewhere), node: node({ name: "node02" }) }, "NotListed", false],
  ["a pod of another namespace with a listed UID",    { pod: target("Preemption", 0, { namespace: "other", nodeName: "node02" }), node: node({ name: "node02" }) }, "NotListed", false],
  ["a VM with strategy None",                         { vmi: vmi({ evictionStrategy: "None" }) },                  "StrategyNone",      false],
  ["a VM that cannot migrate",                        { vmi: vmi(PINNED) },                                        "NotMigratable",     true],
  ["a VM with an unknown strategy",                   { vmi: vmi({ evictionStrategy: "Odd" }) },                   "UnknownStrategy",   true],
  ["a VM past its deadline",                          { pod: target("Preemption", -120) },                         "DeadlinePassed",    true],
  ["a virt-handler that needs the room",              { makesRoomForHandler: true },                               "HandlerNeedsRoom",  true],
  ["a taint's condition by the scheduler",            { ...askedFor("NoExecuteTaint") },                           "NotADisruption",    false],
];

describe("a deletion is allowed for", () => {
  test.each(released)("%s", (_, tweak, reason, reported) => {
    const decision = decideDeletion(deletion(tweak));
    expect([answer(decision), verbs(decision.events)]).toEqual([reason, reported ? ["Event"] : []]);
    const event = reported ? "DeletionAllowed" : "–";
    expect(releaseTable()).toMatch(new RegExp(`^\\| ${reason} .*\\| ${event} +\\|$`, "m"));
  });

  test("a missing VM or node", () => {
    expect(answer(decideDeletion(without(deletion(), "vmi")))).toBe("VmiGone");
    expect(answer(decideDeletion(without(deletion(), "node")))).toBe("NodeNotAlive");
    expect(answer(decideDeletion(without(deletion(termination(100)), "node")))).toBe("NodeNotAlive");
  });

  test("every reason in the table", () => {
    expect(new Set(released.map(([, , reason]) => reason))).toEqual(new Set(ALLOW_REASONS));
  });

  // prettier-ignore
  test.each<[Partial<DeletionFacts>, why: string]>([
    [{ vmi: vmi(PINNED) },                        "the VM is not live-migratable: DisksNotLiveMigratable"],
    [{ vmi: vmi({ evictionStrategy: "Odd" }) },   'KubeVirt does not know spec.evictionStrategy "Odd"'],
    [{ pod: target("Preemption", -121) },         "the VM has not moved within 120 s"],
    [{ makesRoomForHandler: true },               "virt-handler is pending until this pod frees its memory, and without virt-handler the VM cannot move"],
  ])("a VM that cannot leave, with one Event per pod that says why: %#", (tweak, why) => {
    const message = `${SCHEDULER} deletes pod ${pod().name} (cause Preemption), and the VM ends with it: ${why}`;
    const event = { type: "Warning", reason: "DeletionAllowed", occasion: POD_UID, message };
    expect(only("Event", decideDeletion(deletion(tweak)).events)).toMatchObject([event]);
  });
});

describe("Lifeboat deletes the pod itself, with its UID and the requested grace period, if a policy may hold an allowed deletion", () => {
  const ending = node({ taints: [{ key: "karpenter.sh/disrupted", effect: "NoSchedule" }] });
  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, deleted: boolean]>([
    ["in a preemption",                                     { vmi: vmi(PINNED) },                                             true],
    ["not for a pod without the launcher's labels",         { pod: target("Preemption", 0, { labels: {} }) },                 false],
    ["at the end of a node",                                { ...termination(100, { node: ending }), vmi: vmi(PINNED) },      true],
    ["at the end of a cordoned node",                       { ...termination(100, { node: node({ unschedulable: true }) }), vmi: vmi(PINNED) }, true],
    ["not on a node that does not end",                     { ...termination(100), vmi: vmi(PINNED) },                        false],
    ["not on a node with less than a minute left",          { ...termination(59, { node: ending }), vmi: vmi(PINNED), graceSeconds: 59 }, false],
    ["not for a device's taint, which no policy holds",     { ...askedFor("DeviceTaint"), vmi: vmi(PINNED) },                 false],
    ["not for a pod that is already terminating",           { pod: target("Preemption", 0, { deleting: true }), vmi: vmi(PINNED) }, false],
    ["not for a pod that has ended",                        { pod: target("Preemption", 0, { phase: "Succeeded" }) },         false],
    ["in a preemption whose feature gate is off",           { settings: guarded({}, { featureGates: [] }) },                  true],
    ["not at the end of a node whose feature gate is off",  { ...termination(100, { node: ending }), settings: guarded({}, { featureGates: [] }) }, false],
    ["not without a disruption",                            { pod: pod() },                                                   false],
    ["not for another requester",                           { requester: "admin" },                                           false],
  ])("%s", (_, tweak, deleted) => {
    const decision = decideDeletion(deletion({ graceSeconds: 77, ...tweak }));
    expect(decision.actions).toMatchObject(deleted ? [{ verb: "DeletePod", graceSeconds: 77 }] : []);
    expect(decision.verdict === "Allow" && decision.isByLifeboat === true).toBe(deleted);
  });
});

describe("a deletion of a migration's target pod", () => {
  const there = { uid: "target", nodeName: "node02" };
  const given = { pod: target("Preemption", 0, there), node: node({ name: "node02" }) };
  const activePods = { [POD_UID]: NODE, target: "node02" };

  test.each([
    [false, []],
    [true, ["Event"]],
  ])(
    "is refused without a mark until the deadline; then an Event reports a guest on it: %s",
    (guestOnTarget, reported) => {
      const migrating = { ...given, vmi: vmi({ activePods, guestOnTarget }) };
      expect(refused(migrating)).toMatchObject({ actions: [], events: [], retryAfterSeconds: 10 });
      const decision = decideDeletion(deletion({ ...migrating, pod: target("Preemption", -120, there) }));
      expect([answer(decision), verbs(decision.events)]).toEqual(["DeadlinePassed", reported]);
    },
  );

  test.each([
    [-120, "Refuse"],
    [-120 - 300, "DeadlinePassed"],
  ])(
    "is like any other of its source pod, but refused for five minutes more after post-copy started: %i s",
    (since, expected) => {
      const leaving = {
        vmi: vmi({ activePods, isMigrating: true, guestOnTarget: true }),
        pod: target("Preemption", since),
      };
      expect(answerTo(leaving)).toBe(expected);
    },
  );

  test("is like any other when the VM runs in it", () => {
    const moved = vmi({ activePods, nodeName: "node02" });
    expect(verbs(refused({ ...given, vmi: moved }).actions)).toContain("Mark");
  });
});

describe("a deletion of a hotplug pod", () => {
  const volume = hotplug({ disruptionTarget: condition("Preemption") });
  const other = { ...volume, owners: [owner({ kind: "Pod", uid: "other" })] };

  test("is refused, and the VM is marked for its launcher pod", () => {
    expect(evacuationOf({ pod: volume, launcher: pod() })?.spec.pod).toEqual({ name: pod().name, uid: POD_UID });
  });

  test("is refused by the Evacuation of its launcher pod, without another Evacuation", () => {
    const given = { launcher: pod(), vmi: marked(), evacuations: [disrupted("Preemption", 100)] };
    expect(refused({ ...given, pod: volume }).actions).toEqual([]);
  });

  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, DeletionAllowReason]>([
    ["whose launcher pod is gone",                 {},                                                 "VmiGone"],
    ["whose launcher pod KubeVirt does not list",  { launcher: pod(elsewhere), pod: other },           "NotListed"],
  ])("%s is allowed with the reason %s", (_, tweak, expected) => expect(answerTo({ pod: volume, ...tweak })).toBe(expected));
});

describe("at the deadline, before the answer, the shield covers", () => {
  const shielding = { shield: { maxPodGracePeriodSeconds: 600, shutdownSeconds: 90 }, isShieldOn: true };
  const given = { pod: target("Preemption", -120), settings: guarded({}, shielding) };
  const moving = { isMigrating: true, graceSeconds: 300 };

  const volume = hotplug({ disruptionTarget: condition("Preemption", { since: time(-120) }) });
  const arrived = {
    vmi: vmi({ ...moving, activePods: { [POD_UID]: NODE, target: "node02" }, guestOnTarget: true }),
    pod: target("Preemption", -120, { uid: "target", nodeName: "node02" }),
    node: node({ name: "node02" }),
  };

  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, armed: boolean]>([
    ["a VM that is migrating",                 { vmi: vmi(moving) },                                          true ],
    ["no VM that waits",                       { vmi: vmi({ ...moving, isMigrating: false }) },               false],
    ["no VM with too short a grace period",    { vmi: vmi({ ...moving, graceSeconds: 299 }) },                false],
    ["no VM whose node ends",                  { vmi: vmi(moving), ...termination(0, { node: node({ unschedulable: true }), graceSeconds: 60 }) }, false],
    ["no VM whose hotplug pod is deleted",     { vmi: vmi(moving), pod: volume, launcher: pod() }, false],
    ["no VM without listed pods whose hotplug pod is deleted", { vmi: vmi({ ...moving, activePods: {} }), pod: volume, launcher: pod() }, false],
    ["no VM whose target pod is deleted",      arrived, false],
  ])("%s", (_, tweak, armed) => {
    const decision = decideDeletion(deletion({ ...given, ...tweak }));
    expect([answer(decision), verbs(decision.actions)]).toEqual(["DeadlinePassed", [...(armed ? ["Shield"] : []), "DeletePod"]]);
  });
});
