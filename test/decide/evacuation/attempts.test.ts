/** Attempts: how long they back off, which migrations have failed, and which cannot begin. */
import { describe, expect, test } from "vitest";
import {
  backoffSeconds,
  blockedBecause,
  isStalled,
  uncountedFailures,
  whyFailed,
} from "../../../shared/evacuation/attempts.ts";
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
])("after %d failures of %d s at first and %d s at most: %d s", (attempts, backoff, most, seconds) => {
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

describe("failures that are not counted yet, oldest first", () => {
  // prettier-ignore
  test.each([
    ["of the same second: counted with it",   counted("b"),  [a, b, c],                                 []],
    ["… but begun since",                     counted("c", "b"), [a, b, c],                             ["b"]],
    ["… and the next one is under way",       counted("b", "d"), [a, b, c],                             []],
    ["the counted one is history",            counted("x"),  [b],                                       ["b"]],
    ["… and a person has deleted it",         counted("x"),  [a, b],                                    ["b"]],
    ["as old as the Evacuation",              evacuation(),  [failed("d", -60)],                        ["d"]],
    ["older than the Evacuation",             evacuation(),  [failed("d", -61)],                        []],
    ["… but joined by it",                    evacuation({ status: { migration: { name: "d", uid: "d" } } }), [failed("d", -61)], ["d"]],
    ["while one of the same second goes on",  evacuation(),  [a, b, { ...c, phase: "Running" }],        ["a"]],
    ["being deleted",                         evacuation(),  [failed("d", -30, { deleting: true })],    []],
  ] as const)("%s", (_, subject, migrations, expected) => {
    expect(uncountedFailures(subject, migrations).map(({ uid }) => uid)).toEqual(expected);
  });
});

describe("why it failed", () => {
  const lastMigration = { uid: migration().uid, failureReason: "no room" };
  test.each([
    ["the VMI's, which tells first", migration(), marked({ lastMigration }), "no room"],
    ["the VMI's about another one", migration({ uid: "x" }), marked({ lastMigration }), "KubeVirt gives no reason"],
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
  readonly attempts?: number;
  readonly events?: readonly SeenEvent[];
  readonly off?: boolean;
}

function facts(
  of: MigrationFacts,
  { launchers = [pod()], queue, stalledSince, attempts = 0, events = [], off = false }: Tweak,
): EvacuationCase {
  const seen = { type: "Stalled", status: "True", reason: "LimitsNotReached", message: "" } as const;
  const conditions = stalledSince === undefined ? [] : [{ ...seen, lastTransitionTime: stalledSince }];
  const e = evacuation({ status: { attempts, conditions, migration: { name: of.name, uid: of.uid } } });
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

/** Its target pod, without a node for so many seconds. */
function unplaced(seconds: number, tweak: Partial<PodFacts> = {}) {
  const unschedulable = { message: "0/3 nodes are available", since: time(-seconds) };
  return { launchers: [pod(), { ...target, unschedulable, ...tweak }] };
}

describe("why an unfinished migration cannot begin", () => {
  const quota = { type: OVER_QUOTA, message: "exceeded quota" };
  const backup = { type: "Backup", reason: "BackupRunning", message: "a backup runs" };
  const QUOTA = `a resource quota refuses the target pod of migration migration (${OVER_QUOTA}): exceeded quota`;
  const stalled = { queue: FREE, stalledSince: time(-180) };
  const scheduling = { ...old, phase: "Scheduling", targetPod: "target" };
  const UNSCHEDULABLE = "target pod target cannot be scheduled: 0/3 nodes are available";
  const STALLED = "KubeVirt has not started it for 180 s, although its limits are not reached";

  // prettier-ignore
  test.each<[string, MigrationFacts, Tweak, string | undefined]>([
    ["a quota, for stuckSeconds",            { ...old, blockedBy: quota },               {},                    QUOTA],
    ["… for less: its controller may raise it", { ...old, blockedBy: quota, createdAt: at(-179).getTime() }, {}, undefined],
    ["a backup, for stuckSeconds",           { ...old, blockedBy: backup },              {},                    "a backup runs"],
    ["… without a message",                  { ...old, blockedBy: { type: "Backup", reason: "BackupRunning" } }, {}, "BackupRunning"],
    ["… without a reason",                   { ...old, blockedBy: { type: "Backup" } },  {},                    "Backup"],
    ["… for less",                           { ...old, blockedBy: backup, createdAt: at(-179).getTime() }, {}, undefined],
    ["… but it runs",                        { ...old, blockedBy: quota, phase: "Running" }, {},                undefined],
    ["no node for its target pod, at first sight", scheduling,                           unplaced(0),           undefined],
    ["… for less than stuckSeconds",         scheduling,                                 unplaced(179),         undefined],
    ["… for stuckSeconds",                   scheduling,                                 unplaced(180),         UNSCHEDULABLE],
    ["… since nobody knows when: as old as the migration", scheduling,                   { launchers: [{ ...target, unschedulable: { message: "0/3 nodes are available", since: "" } }] }, UNSCHEDULABLE],
    ["… which is on its way out",            scheduling,                                 unplaced(999, { deleting: true }), undefined],
    ["… which KubeVirt does not list",       scheduling,                                 unplaced(999, { uid: "forged" }), undefined],
    ["a scheduling gate, for stuckSeconds",  scheduling,                                 { launchers: [pod(), { ...target, gates: ["example.com/wait"] }] }, "target pod target waits for its scheduling gate example.com/wait to be removed"],
    ["… for less",                           { ...scheduling, schedulingSince: at(-179).getTime() }, { launchers: [pod(), { ...target, gates: ["example.com/wait"] }] }, undefined],
    ["a target pod that has a node and does not start", scheduling,                      { launchers: [pod(), bound] },                                    "target pod target of migration migration is starting: it has not started within 180 s"],
    ["… because of a volume",                scheduling,                                 { launchers: [pod(), bound], events: [said("target", "FailedAttachVolume", "in use")] }, "target pod target has not started: FailedAttachVolume: in use"],
    ["… for less",                           { ...scheduling, schedulingSince: at(-179).getTime() }, { launchers: [pod(), bound] },                       undefined],
    ["a policy refuses its target pod",      old,                                        { ...stalled, events: [said("vmi-uid", "FailedCreate", "denied by policy")] }, "KubeVirt cannot create the target pod of migration migration: denied by policy"],
    ["… that of an earlier migration",       old,                                        { ...stalled, events: [{ ...said("vmi-uid", "FailedCreate", "denied by policy"), last: at(-999).getTime() }] }, STALLED],
    ["a second launcher pod of the VM",      old,                                        { ...stalled, launchers: [pod(), { ...other, ready: true }] },    "KubeVirt does not start migration migration while the VM has a second launcher pod, target on node node02"],
    ["KubeVirt's limit is 0",                old,                                        { ...stalled, queue: FREE, off: true },                           undefined],
    ["it waits, its node's limit is full",   old,                                        { ...stalled, queue: FULL_NODE }, undefined],
    ["it could begin, as seen just now",     old,                                        { queue: FREE },       undefined],
    ["… for a while",                        old,                                        { queue: FREE, stalledSince: time(-179) }, undefined],
    ["… for stuckSeconds",                   old,                                        stalled,               STALLED],
    ["… but it has its target pod",          { ...old, targetPod: "target" },            stalled,               undefined],
    ["… but KubeVirt backs off: 40 s more",  old,                                        { ...stalled, attempts: 2 }, undefined],
    ["… and that is over",                   { ...old, createdAt: at(-220).getTime() },  { ...stalled, attempts: 2 }, STALLED],
    ["… 320 s more at most",                 { ...old, createdAt: at(-500).getTime() },  { ...stalled, attempts: 99 }, STALLED],
  ])("%s", (_, given, tweak, expected) => expect(blockedBecause(given, facts(given, tweak))).toBe(expected));

  // prettier-ignore
  test.each<[string, MigrationFacts, Tweak, boolean]>([
    ["old, limits reached", old,                                 { queue: FULL_NODE }, false],
    ["old, limits free",    old,                                 { queue: FREE },      true],
  ])("stalled: %s", (_, given, tweak, expected) => expect(isStalled(given, facts(given, tweak))).toBe(expected));
});
