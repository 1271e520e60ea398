/** Tests attempts to migrate: the length of the back-off, failed migrations, and migrations that cannot start. */
import { describe, expect, test } from "vitest";
import {
  backoffSeconds,
  blockedBecause,
  isStalled,
  uncountedFailures,
  whyFailed,
} from "../../../shared/evacuation/attempts.ts";
import { whyNotStarted } from "../../../shared/evacuation/not-started.ts";
import type { EvacuationCase } from "../../../shared/evacuation/world.ts";
import type { MigrationFacts, PodFacts } from "../../../shared/kube/facts.ts";
import type { SeenEvent } from "../../../shared/kube/seen-event.ts";
import { OVER_QUOTA } from "../../../shared/kube/names.ts";
import {
  at,
  evacuation,
  marked,
  migration,
  NODE,
  NOW,
  pod,
  POD_UID,
  settings,
  time,
  without,
} from "../../support/fixtures.ts";
import { type Around, world } from "../../support/worlds.ts";

// prettier-ignore
test.each([
  // attempts  base  most  seconds
  [0,          20,   320,  20],
  [2,          20,   320,  40],
  [6,          20,   320,  320],
  [1e9,        20,   320,  320],
  [1e9,        0,    320,  0],
])("after %d failures, with a back-off from %d s to %d s: %d s", (attempts, backoff, most, seconds) => {
  const given = settings({ evacuation: { backoffSeconds: backoff, maxBackoffSeconds: most } });
  expect(backoffSeconds(attempts, given)).toBe(seconds);
});

function failed(uid: string, seconds: number, tweak: Partial<MigrationFacts> = {}): MigrationFacts {
  return migration({ name: uid, uid, phase: "Failed", createdAt: at(seconds).getTime(), ...tweak });
}

function counted(uid: string, underWay = uid) {
  const migration = { name: underWay, uid: underWay };
  return evacuation({ status: { attempts: 1, migration, lastFailedMigration: { name: uid, uid } } });
}

const [a, b, c] = [failed("a", -50), failed("b", -40), failed("c", -40)];

describe("failures not counted yet, oldest first", () => {
  // prettier-ignore
  test.each([
    ["a failure of the same second was counted with its neighbour",                          counted("b"),  [a, b, c],                                 []],
    ["a failure of the same second is not counted if the recorded migration started since",  counted("c", "b"), [a, b, c],                             ["b"]],
    ["a failure of the same second was counted if the next migration is in progress",        counted("b", "d"), [a, b, c],                             []],
    ["a failure counts if the last counted one is no longer listed",                         counted("x"),  [b],                                       ["b"]],
    ["an older failure does not count if the last counted one was deleted",                  counted("x"),  [a, b],                                    ["b"]],
    ["a failure as old as the Evacuation counts",                                            evacuation(),  [failed("d", -60)],                        ["d"]],
    ["a failure older than the Evacuation does not count",                                   evacuation(),  [failed("d", -61)],                        []],
    ["an older failure counts if the Evacuation recorded its migration",                     evacuation({ status: { migration: { name: "d", uid: "d" } } }), [failed("d", -61)], ["d"]],
    ["a failure waits while a migration of the same second runs",                            evacuation(),  [a, b, { ...c, phase: "Running" }],        ["a"]],
    ["a failure that is being deleted does not count",                                       evacuation(),  [failed("d", -30, { deleting: true })],    []],
  ] as const)("%s", (_, subject, migrations, expected) => {
    expect(uncountedFailures(subject, migrations).map(({ uid }) => uid)).toEqual(expected);
  });
});

describe("the reason of a failed migration", () => {
  const lastMigration = { uid: migration().uid, failureReason: "no room" };
  test.each([
    ["is the VMI's, which KubeVirt sets first", migration(), marked({ lastMigration }), "no room"],
    [
      "is unknown if the VMI's reason is about another migration",
      migration({ uid: "x" }),
      marked({ lastMigration }),
      "KubeVirt gives no reason",
    ],
  ])("%s", (_, of, vmi, expected) => expect(whyFailed(of, vmi)).toBe(expected));
});

const FULL_NODE = { running: 2, leaving: 2 };
const FREE = { running: 4, leaving: 1 };
const old = migration({ phase: "Pending", createdAt: at(-180).getTime() });
const target = without(pod({ uid: "target", name: "target", phase: "Pending" }), "nodeName");
const listed = marked({ activePods: { [POD_UID]: NODE, target: "" } });

interface Tweak {
  readonly launchers?: readonly PodFacts[];
  readonly queue?: Around["queue"];
  readonly stalledSince?: string;
  readonly stalled?: "True" | "False";
  /** The UID of the migration in the status. It is the waiting migration's UID by default. */
  readonly recorded?: string;
  readonly attempts?: number;
  readonly events?: readonly SeenEvent[];
  readonly off?: boolean;
}

function facts(
  of: MigrationFacts,
  {
    launchers = [pod()],
    queue,
    stalledSince,
    stalled = "True",
    recorded = of.uid,
    attempts = 0,
    events = [],
    off = false,
  }: Tweak,
): EvacuationCase {
  const seen = { type: "Stalled", status: stalled, reason: "LimitsNotReached", message: "" } as const;
  const conditions = stalledSince === undefined ? [] : [{ ...seen, lastTransitionTime: stalledSince }];
  const e = evacuation({ status: { attempts, conditions, migration: { name: of.name, uid: recorded } } });
  const w = world({
    vmis: [listed],
    evacuations: [e],
    migrations: [of],
    pods: launchers,
    queue,
    events,
    ...(off && { settings: OFF }),
  });
  return { e, vmi: listed, migrations: [of], migration: of, w };
}

const OFF = settings({ limits: { ...settings().limits, parallelMigrationsPerCluster: 0 } });
const other = pod({ uid: "target", name: "target", phase: "Pending", nodeName: "node02", ready: false });
const bound = { ...other, labels: { ...other.labels, "kubevirt.io/migrationJobUID": migration().uid } };
const said = (about: string, reason: string, message: string): SeenEvent => {
  return { about, reason, message, last: NOW.getTime() };
};

function unplaced(seconds: number, tweak: Partial<PodFacts> = {}) {
  const unschedulable = { message: "0/3 nodes are available", since: time(-seconds) };
  return { launchers: [pod(), { ...target, unschedulable, ...tweak }] };
}

describe("an unfinished migration", () => {
  const quota = { type: OVER_QUOTA, message: "exceeded quota" };
  const backup = { type: "Backup", reason: "BackupRunning", message: "a backup runs" };
  const QUOTA = `a resource quota refuses the target pod of migration migration (${OVER_QUOTA}): exceeded quota`;
  const stalled = { queue: FREE, stalledSince: time(-180) };
  const scheduling = { ...old, phase: "Scheduling", targetPod: "target" };
  const UNSCHEDULABLE = "target pod target cannot be scheduled: 0/3 nodes are available";
  const STALLED = "KubeVirt has not started the migration for 180 s, although KubeVirt's limits are not reached";

  // prettier-ignore
  test.each<[string, MigrationFacts, Tweak, string | undefined]>([
    ["is blocked by a quota for stuckSeconds",            { ...old, blockedBy: quota },               {},                    QUOTA],
    ["is not blocked by a quota for less: its controller may raise it", { ...old, blockedBy: quota, createdAt: at(-179).getTime() }, {}, undefined],
    ["is blocked by a backup for stuckSeconds",           { ...old, blockedBy: backup },              {},                    "a backup runs"],
    ["is blocked by a backup without a message",                  { ...old, blockedBy: { type: "Backup", reason: "BackupRunning" } }, {}, "BackupRunning"],
    ["is blocked by a backup without a reason",                   { ...old, blockedBy: { type: "Backup" } },  {},                    "Backup"],
    ["is not blocked by a backup for less",                           { ...old, blockedBy: backup, createdAt: at(-179).getTime() }, {}, undefined],
    ["is not blocked by a quota once it runs",                        { ...old, blockedBy: quota, phase: "Running" }, {},                undefined],
    ["is not blocked by a target pod that has just become unschedulable", scheduling,                           unplaced(0),           undefined],
    ["is not blocked by an unschedulable target pod for less than stuckSeconds",         scheduling,                                 unplaced(179),         undefined],
    ["is blocked by an unschedulable target pod for stuckSeconds",                   scheduling,                                 unplaced(180),         UNSCHEDULABLE],
    ["is blocked by an unschedulable target pod without a time if the migration is that old", scheduling,                   { launchers: [{ ...target, unschedulable: { message: "0/3 nodes are available", since: "" } }] }, UNSCHEDULABLE],
    ["is not blocked by a target pod that is being deleted",            scheduling,                                 unplaced(999, { deleting: true }), undefined],
    ["is not blocked by a target pod that KubeVirt does not list",       scheduling,                                 unplaced(999, { uid: "forged" }), undefined],
    ["is blocked by a scheduling gate for stuckSeconds",  scheduling,                                 { launchers: [pod(), { ...target, gates: ["example.com/wait"] }] }, "target pod target waits for the removal of scheduling gate example.com/wait"],
    ["is not blocked by a scheduling gate for less",                           { ...scheduling, schedulingSince: at(-179).getTime() }, { launchers: [pod(), { ...target, gates: ["example.com/wait"] }] }, undefined],
    ["is blocked by a scheduled target pod that does not start", scheduling,                      { launchers: [pod(), bound] },                                    "target pod target of migration migration is starting: the pod has not started within 180 s"],
    ["is blocked by a volume of its target pod",                scheduling,                                 { launchers: [pod(), bound], events: [said("target", "FailedAttachVolume", "in use")] }, "target pod target has not started: FailedAttachVolume: in use"],
    ["is not blocked by a target pod that has been starting for less",                           { ...scheduling, schedulingSince: at(-179).getTime() }, { launchers: [pod(), bound] },                       undefined],
    ["is blocked by a policy that refuses its target pod",      old,                                        { ...stalled, events: [said("vmi-uid", "FailedCreate", "denied by policy")] }, "KubeVirt cannot create the target pod of migration migration: denied by policy"],
    ["is not blocked by the refusal of an earlier migration's target pod",       old,                                        { ...stalled, events: [{ ...said("vmi-uid", "FailedCreate", "denied by policy"), last: at(-999).getTime() }] }, STALLED],
    ["is blocked by a second launcher pod of the VM",      old,                                        { ...stalled, launchers: [pod(), { ...other, ready: true }] },    "KubeVirt does not start migration migration while the VM has a second launcher pod, target on node node02"],
    ["is not blocked by a KubeVirt limit of 0",                old,                                        { ...stalled, queue: FREE, off: true },                           undefined],
    ["is not blocked while its node's limit is reached",   old,                                        { ...stalled, queue: FULL_NODE }, undefined],
    ["is not blocked when it is first seen stalled",     old,                                        { queue: FREE },       undefined],
    ["is not blocked while stalled for less than stuckSeconds",                        old,                                        { queue: FREE, stalledSince: time(-179) }, undefined],
    ["is blocked when stalled for stuckSeconds",                   old,                                        stalled,               STALLED],
    ["is not blocked when only an earlier migration was stalled",                  old,                                        { ...stalled, recorded: "earlier" }, undefined],
    ["is not blocked when it was stalled and then queued",                         old,                                        { ...stalled, stalled: "False" }, undefined],
    ["is not blocked when stalled if it has its target pod",          { ...old, targetPod: "target" },            stalled,               undefined],
    ["is not blocked during KubeVirt's back-off of 40 s more",  old,                                        { ...stalled, attempts: 2 }, undefined],
    ["is blocked after KubeVirt's back-off",                   { ...old, createdAt: at(-220).getTime() },  { ...stalled, attempts: 2 }, STALLED],
    ["is blocked after KubeVirt's longest back-off of 320 s",                 { ...old, createdAt: at(-500).getTime() },  { ...stalled, attempts: 99 }, STALLED],
  ])("%s", (_, given, tweak, expected) => expect(blockedBecause(given, facts(given, tweak))).toBe(expected));

  // prettier-ignore
  test.each<[string, MigrationFacts, Tweak, boolean]>([
    ["with its limits reached is not stalled", old,                                 { queue: FULL_NODE }, false],
    ["with its limits free is stalled",        old,                                 { queue: FREE },      true],
  ])("an old migration %s", (_, given, tweak, expected) => expect(isStalled(given, facts(given, tweak))).toBe(expected));

  const LONG = "x".repeat(401);
  const CUT = "x".repeat(400);
  const gone = { ...other, ready: true };
  const isCut = { launchers: [pod(), bound], events: [said("target", "FailedAttachVolume", LONG)] };
  const refused = { queue: FREE, events: [said("vmi-uid", "FailedCreate", LONG)] };
  const young = { ...old, createdAt: at(-179).getTime() };
  // prettier-ignore
  test.each<[string, MigrationFacts, Tweak, reason: string, message?: string]>([
    ["a scheduling gate",                                  scheduling,   { launchers: [pod(), { ...target, gates: ["example.com/wait"] }] },    "SchedulingGated"],
    ["an Event about its target pod, whose message is cut", scheduling,  isCut,                                                                 "TargetNotStarted", `target pod target has not started: FailedAttachVolume: ${CUT}`],
    ["a KubeVirt limit of 0",                              old,          { queue: FREE, off: true },                                            "MigrationsOff"],
    ["a refused target pod, with a message that is cut",   old,          refused,                                                               "TargetRefused",    `KubeVirt cannot create the target pod of migration migration: ${CUT}`],
    ["a target pod that was refused in the second of its creation", { ...old, createdAt: at(-200).getTime() }, { queue: FREE, events: [{ ...said("vmi-uid", "FailedCreate", "no"), last: at(-200).getTime() }] }, "TargetRefused"],
    ["a second launcher pod",                              old,          { queue: FREE, launchers: [pod(), gone] },                             "LeftOver"],
    ["no second launcher pod if that pod has ended",       old,          { queue: FREE, launchers: [pod(), { ...gone, phase: "Failed" }] },     "Queued"],
    ["no second launcher pod if that pod is being deleted", old,         { queue: FREE, launchers: [pod(), { ...gone, deleting: true }] },      "Queued"],
    ["no second launcher pod if that pod is on the VM's node", old,      { queue: FREE, launchers: [pod(), { ...gone, nodeName: NODE }] },      "Queued"],
    ["no second launcher pod if that pod is on no node",   old,          { queue: FREE, launchers: [pod(), { ...without(gone, "nodeName") }] }, "Queued"],
    ["KubeVirt's limits",                                  old,          { queue: FULL_NODE },                                                  "Queued",           "migration migration waits in KubeVirt's queue: KubeVirt's limits are reached"],
    ["a target pod that does not exist yet, with its limits free", old,  { queue: FREE },                                                       "Queued",           "KubeVirt has not created the target pod of migration migration yet"],
    ["a target pod that does not exist yet, because it is young", young, { queue: FULL_NODE },                                                  "Queued",           "KubeVirt has not created the target pod of migration migration yet"],
  ])("waits for %s: $3", (...[, given, tweak, reason, message]) => {
    const found = whyNotStarted(given, facts(given, tweak));
    expect(found).toMatchObject({ reason, ...(message !== undefined && { message }) });
  });
});
