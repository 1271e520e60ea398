/** The guard refuses some deletions that bypass evictions, by strategy × migratable × cause, and says why it allows the others. */
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

describe.each(cellsOf(CELLS))("%s, %s: %s", (evictionStrategy, mobility, expected) => {
  const own = vmi({ evictionStrategy, liveMigratable: MOBILITY[mobility] });

  test.each(GUARD_CAUSES.filter(isReviewed))("%s", (cause) => {
    const given = { vmi: own, ...askedFor(cause) };
    expect(answerTo(given)).toBe(expected);
    expect(answerTo({ ...given, settings: guarded({}, { featureGates: gatesBut(cause) }) })).toBe("NotADisruption");
    const byCluster = {
      vmi: without(own, "evictionStrategy"),
      settings: guarded({}, { clusterStrategy: evictionStrategy }),
    };
    expect(answerTo({ ...given, ...byCluster })).toBe(expected);
  });
});

// prettier-ignore
test.each([
  ["the taint eviction controller",   TAINT_CONTROLLER,                                                     "Refuse"],
  ["an administrator",                "kubernetes-admin",                                                   "OtherRequester"],
  ["a namesake elsewhere",            "system:serviceaccount:apps:node-controller",                         "OtherRequester"],
])("asked for by %s", (_, requester, expected) => expect(answerTo({ requester })).toBe(expected));

function conditioned(tweak: Parameters<typeof condition>[1]) {
  return { pod: pod({ disruptionTarget: condition("Preemption", tweak) }) };
}

const elsewhere = { uid: "other", nodeName: "node02" };

// prettier-ignore
const released: readonly (readonly [string, Partial<DeletionFacts>, DeletionAllowReason, told: boolean])[] = [
  ["a user deletes a pod with a stale condition", { requester: "admin" },                                      "OtherRequester",    false],
  ["no condition",                                { pod: pod() },                                              "NotADisruption",    false],
  ["a condition that is False",                   conditioned({ active: false }),                              "NotADisruption",    false],
  ["for the eviction API",                        conditioned({ reason: "EvictionByEvictionAPI" }),            "NotADisruption",    false],
  ["the pod has succeeded",                       { pod: target("Preemption", 0, { phase: "Succeeded" }) },    "PodCompleted",      false],
  ["no launcher pod",                             { pod: target("Preemption", 0, { labels: { app: "web" } }) }, "NotAVirtualMachine", false],
  ["the VM is being deleted",                     { vmi: vmi({ deleting: true }) },                            "VmiGone",           false],
  ["the VM has ended",                            { vmi: vmi({ phase: "Succeeded" }) },                        "VmiGone",           false],
  ["a VM made anew under the name",               { vmi: vmi({ uid: "anew" }) },                               "VmiGone",           false],
  ["a VM that is on no node yet",                 { vmi: without(vmi(EXTERNAL), "nodeName") },                 "NotScheduled",      false],
  ["the node is not ready",                       { node: node({ ready: false }) },                            "NodeNotAlive",      false],
  ["a pod that only claims to be the VM's",       { pod: target("Preemption", 0, elsewhere), node: node({ name: "node02" }) }, "NotListed", false],
  ["strategy None",                               { vmi: vmi({ evictionStrategy: "None" }) },                  "StrategyNone",      false],
  ["a VM that cannot migrate",                    { vmi: vmi(PINNED) },                                        "NotMigratable",     true],
  ["a strategy that KubeVirt does not know",      { vmi: vmi({ evictionStrategy: "Odd" }) },                   "UnknownStrategy",   true],
  ["past the deadline",                           { pod: target("Preemption", -120) },                         "DeadlinePassed",    true],
  ["virt-handler needs the room",                 { makesRoomForHandler: true },                               "HandlerNeedsRoom",  true],
  ["for a taint of its node",                     { ...askedFor("NoExecuteTaint") },                           "NotADisruption",    false],
];

describe("let go", () => {
  test.each(released)("%s", (_, tweak, reason, reported) => {
    const decision = decideDeletion(deletion(tweak));
    expect([answer(decision), verbs(decision.events)]).toEqual([reason, reported ? ["Event"] : []]);
    expect(releaseTable()).toMatch(new RegExp(`^\\| ${reason} .*\\| +${reported ? "DeletionAllowed " : ""}\\|$`, "m"));
  });

  test("a VM or a node that is gone", () => {
    expect(answer(decideDeletion(without(deletion(), "vmi")))).toBe("VmiGone");
    expect(answer(decideDeletion(without(deletion(), "node")))).toBe("NodeNotAlive");
  });

  test("every reason is shown above", () => {
    expect(new Set(released.map(([, , reason]) => reason))).toEqual(new Set(ALLOW_REASONS));
  });

  // prettier-ignore
  test.each<[Partial<DeletionFacts>, why: string]>([
    [{ vmi: vmi(PINNED) },                        "it is not live-migratable: DisksNotLiveMigratable"],
    [{ vmi: vmi({ evictionStrategy: "Odd" }) },   'KubeVirt does not know spec.evictionStrategy "Odd"'],
    [{ pod: target("Preemption", -121) },         "it has not moved within 120 s"],
  ])("%#: an Event says why, once a pod", (tweak, why) => {
    const message = `pod ${pod().name} is deleted by ${SCHEDULER} (cause Preemption) and the VM with it: ${why}`;
    const event = { type: "Warning", reason: "DeletionAllowed", occasion: POD_UID, message };
    expect(only("Event", decideDeletion(deletion(tweak)).events)).toMatchObject([event]);
  });
});

describe("a deletion that a policy may hold, and that may go: Lifeboat deletes the pod, by its UID and with the grace period asked for", () => {
  const ending = node({ taints: [{ key: "karpenter.sh/disrupted", effect: "NoSchedule" }] });
  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, deleted: boolean]>([
    ["a preemption",                          { vmi: vmi(PINNED) },                                             true],
    ["a preemption, of another pod",          { pod: target("Preemption", 0, { labels: {} }) },                 false],
    ["the end of a node",                     { ...termination(100, { node: ending }), vmi: vmi(PINNED) },      true],
    ["the end of a cordoned node",            { ...termination(100, { node: node({ unschedulable: true }) }), vmi: vmi(PINNED) }, true],
    ["a node that does not end",              { ...termination(100), vmi: vmi(PINNED) },                        false],
    ["a node without a minute left",          { ...termination(59, { node: ending }), vmi: vmi(PINNED), graceSeconds: 59 }, false],
    ["a device's taint: no policy holds it",  { ...askedFor("DeviceTaint"), vmi: vmi(PINNED) },                 false],
    ["a pod that ends already",               { pod: target("Preemption", 0, { deleting: true }), vmi: vmi(PINNED) }, false],
    ["a pod that has ended",                  { pod: target("Preemption", 0, { phase: "Succeeded" }) },         false],
    ["a preemption whose gate is off",        { settings: guarded({}, { featureGates: [] }) },                  true],
    ["the end of a node whose gate is off",   { ...termination(100, { node: ending }), settings: guarded({}, { featureGates: [] }) }, false],
    ["no disruption",                         { pod: pod() },                                                   false],
    ["another requester",                     { requester: "admin" },                                           false],
  ])("%s", (_, tweak, deleted) => {
    const decision = decideDeletion(deletion({ graceSeconds: 77, ...tweak }));
    const deletions = decision.actions.filter(({ verb }) => verb === "DeletePod");
    expect(deletions).toMatchObject(deleted ? [{ graceSeconds: 77 }] : []);
    expect(decision.verdict === "Allow" && decision.isByLifeboat === true).toBe(deleted);
  });
});

describe("the pod that a migration goes to", () => {
  const there = { uid: "target", nodeName: "node02" };
  const given = { pod: target("Preemption", 0, there), node: node({ name: "node02" }) };
  const activePods = { [POD_UID]: NODE, target: "node02" };

  test.each([
    [false, []],
    [true, ["Event"]],
  ])(
    "is refused without a mark until the deadline; then an Event tells of a guest that is there: %s",
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
  ])("the source of a guest that moves by post-copy is refused for five minutes more: %i s", (since, expected) => {
    const leaving = {
      vmi: vmi({ activePods, isMigrating: true, guestOnTarget: true }),
      pod: target("Preemption", since),
    };
    expect(answerTo(leaving)).toBe(expected);
  });

  test("once the VM is there its new pod is like any other", () => {
    const moved = vmi({ activePods, nodeName: "node02" });
    expect(verbs(refused({ ...given, vmi: moved }).actions)).toContain("Mark");
  });
});

describe("a hotplug pod follows its VM", () => {
  const volume = hotplug({ disruptionTarget: condition("Preemption") });
  const other = { ...volume, owners: [owner({ kind: "Pod", uid: "other" })] };

  test("refused, and the VM is marked for its launcher pod", () => {
    expect(evacuationOf({ pod: volume, launcher: pod() })?.spec.pod).toEqual({ name: pod().name, uid: POD_UID });
  });

  test("refused because of the Evacuation of its launcher pod, without another one", () => {
    const given = { launcher: pod(), vmi: marked(), evacuations: [disrupted("Preemption", 100)] };
    expect(refused({ ...given, pod: volume }).actions).toEqual([]);
  });

  // prettier-ignore
  test.each<[string, Partial<DeletionFacts>, DeletionAllowReason]>([
    ["whose launcher pod is gone",            {},                                                 "VmiGone"],
    ["of a pod that KubeVirt does not list",  { launcher: pod(elsewhere), pod: other },           "NotListed"],
  ])("%s: %s", (_, tweak, expected) => expect(answerTo({ pod: volume, ...tweak })).toBe(expected));
});

describe("at the deadline the shield covers, before the answer", () => {
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
    ["a VM that has begun to move",             { vmi: vmi(moving) },                                          true ],
    ["none that waits",                         { vmi: vmi({ ...moving, isMigrating: false }) },               false],
    ["none with too short a grace period",      { vmi: vmi({ ...moving, graceSeconds: 299 }) },                false],
    ["none whose node ends",                    { vmi: vmi(moving), ...termination(0, { node: node({ unschedulable: true }), graceSeconds: 60 }) }, false],
    ["none for a hotplug pod's deletion",       { vmi: vmi(moving), pod: volume, launcher: pod() }, false],
    ["none for that of the pod it moves to",    arrived, false],
  ])("%s", (_, tweak, armed) => {
    const decision = decideDeletion(deletion({ ...given, ...tweak }));
    expect([answer(decision), verbs(decision.actions)]).toEqual(["DeadlinePassed", [...(armed ? ["Shield"] : []), "DeletePod"]]);
  });
});
