/** Tests the progress of a node's evacuation: the state, the order of the VMs, and the text about each VM. */
import { expect, test } from "vitest";
import { isBlocked, isInQueue, nodeProgress, rowOf, subjectsOf } from "../../../shared/preflight/progress.ts";
import { endedEvacuation, evacuation, migration, PINNED, time, EXTERNAL, NODE } from "../../support/fixtures.ts";
import { facts, launcher, node, plainPod, vmiOf } from "../../support/preflight/fixtures.ts";

const CORDONED = { unschedulable: true };
const cordonedAt = (seconds: number) => {
  const taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule", timeAdded: time(seconds) };
  return { ...CORDONED, taints: [taint] };
};
const of = (vmiName: string, tweak: Parameters<typeof evacuation>[0] = {}) => {
  const named = { name: `evacuation-of-${vmiName}`, uid: `e-${vmiName}`, ...tweak };
  return evacuation({ ...named, spec: { vmiName, pod: { uid: `pod-${vmiName}` }, ...tweak.spec } });
};
const left = (vmiName: string, phase: "Moved" | "Gone" = "Moved", seconds = -60) => {
  const { spec, ...ended } = endedEvacuation(phase, { uid: `left-${vmiName}` });
  const status = { ...ended.status, completionTime: time(seconds) };
  return { ...ended, status, name: `left-${vmiName}`, spec: { ...spec, vmiName } };
};

interface Row {
  readonly node?: Parameters<typeof node>[1];
  readonly facts: Parameters<typeof facts>[0];
  readonly is: readonly [state: string, gone: number, here: number];
}
const empty = { pods: [], vmis: [] };
const two = { pods: [launcher("a"), launcher("b")], vmis: [vmiOf("a"), vmiOf("b")] };
const DRAIN_TAINT = { key: "kubevirt.io/drain", effect: "NoSchedule" };
const one = { pods: [launcher("web")], vmis: [vmiOf("web")] };

// prettier-ignore
const STATES: readonly (readonly [what: string, row: Row])[] = [
  ["an open node with two Evacuations is in use", { facts: { ...two, evacuations: [of("a"), of("b")] },              is: ["InUse",    0, 2] }],
  ["an open node with a NoExecute taint's Evacuation is draining",        { facts: { ...two, evacuations: [of("a", { spec: { cause: "NoExecuteTaint" } })] }, is: ["Draining", 0, 2] }],
  ["a cordoned node without Evacuations is cordoned",                { facts: one, node: CORDONED,                                       is: ["Cordoned", 0, 1] }],
  ["a cordoned node with an Evacuation is draining",             { facts: { ...one, evacuations: [of("web")] }, node: CORDONED,      is: ["Draining", 0, 1] }],
  ["a cordoned node whose VM a person evacuates is cordoned",       { facts: { ...one, evacuations: [of("web", { spec: { cause: "Operator" } })] }, node: CORDONED, is: ["Cordoned", 0, 1] }],
  ["an empty node with the drain taint is drained",       { facts: empty, node: { taints: [DRAIN_TAINT] },                    is: ["Drained",  0, 0] }],
  ["a cordoned node that all VMs have left is drained",               { facts: { ...empty, evacuations: [left("a"), left("b", "Gone")] }, node: CORDONED, is: ["Drained", 2, 0] }],
  ["a VM that returned to a cordoned node counts as there",   { facts: { ...one, evacuations: [left("web")] }, node: CORDONED,    is: ["Cordoned", 0, 1] }],
  ["a VM that left since the last reconcile counts as gone",    { facts: { ...empty, evacuations: [of("away")] }, node: CORDONED,   is: ["Drained",  1, 0] }],
  ["a VM that left before the cordon is not counted",       { facts: { ...one, evacuations: [left("gone")] }, node: cordonedAt(-30),    is: ["Cordoned", 0, 1] }],
  ["a VM that left after the cordon is counted",        { facts: { ...one, evacuations: [left("gone")] }, node: cordonedAt(-90),    is: ["Draining", 1, 1] }],
  ["a VM that left before the other Evacuations started is not counted", { facts: { ...two, evacuations: [left("gone", "Moved", -3000), of("a"), of("b")] }, is: ["InUse", 0, 2] }],
  ["a VM that left another node is not counted",            { facts: { ...empty, evacuations: [of("x", { status: { sourceNode: "node02" } })] }, node: CORDONED, is: ["Drained", 0, 0] }],
];

test.each(STATES)("%s", (_, { node: its, facts: more, is }) => {
  const progress = nodeProgress(facts({ node: node("node01", its), evacuations: [], ...more }));
  expect([progress.state, progress.gone.length, progress.here.length]).toEqual(is);
});

test("the VMs are listed in the order: blocked, failing, moving, waiting", () => {
  const names = ["waits", "moves", "failing", "pinned"];
  const { here } = nodeProgress(
    facts({
      node: node("node01", CORDONED),
      pods: names.map((name) => launcher(name)),
      vmis: [
        vmiOf("waits", { evictionStrategy: "None" }),
        vmiOf("failing"),
        vmiOf("moves", { evacuationNodeName: "node01", isMigrating: true }),
        vmiOf("pinned", PINNED),
      ],
      migrations: [migration({ vmiName: "moves", phase: "Running", targetNode: "node02" })],
      evacuations: [of("moves"), of("failing", { status: { phase: "BackingOff" } })],
    }),
  );
  expect(here.map(({ row }) => [row.key, row.mood])).toEqual([
    ["VM apps/pinned", "blocked"],
    ["VM apps/failing", "waiting"],
    ["VM apps/moves", "moving"],
    ["VM apps/waits", "waiting"],
  ]);
});

test("a drain's progress omits pods that stay in place", () => {
  const daemon = plainPod("daemon", { owners: [{ kind: "DaemonSet", name: "ds", uid: "ds", controller: true }] });
  expect(nodeProgress(facts({ ...empty, pods: [daemon, plainPod("cart")] })).pods.map(({ key }) => key)).toEqual([
    "pod apps/cart",
  ]);
});

type Tweak = Parameters<typeof vmiOf>[1];
interface Seen {
  readonly vmi?: Tweak;
  readonly migration?: Parameters<typeof migration>[0];
  readonly reason?: string;
}

const MARKED = { evacuationNodeName: NODE };
const MOVING = { ...MARKED, isMigrating: true };
const to = (targetNode: string) => ({ targetNode });

// prettier-ignore
const ROWS: readonly (readonly [what: string, seen: Seen, mood: string, words: string])[] = [
  ["without an Evacuation runs",                {},                                                                      "waiting", "runs"],
  ["with strategy None runs",                   { vmi: { evictionStrategy: "None" } },                                   "waiting", "runs"],
  ["marked, without a migration, is to move",   { vmi: MARKED },                                                         "waiting", "has to move"],
  ["with a new migration is about to move",     { vmi: MARKED, migration: { phase: "" } },                               "moving",  "is about to move"],
  ["moving to a node that only its VMI names",  { vmi: { ...MOVING, ...to("node02") }, migration: { phase: "Running" } }, "moving", "moves to node02"],
  ["moving to a node that its migration names", { vmi: MOVING, migration: { phase: "Running", ...to("node03") } },       "moving",  "moves to node03"],
  ["moved by KubeVirt's workload updater",      { vmi: MOVING, migration: { phase: "Running", automatic: true, ...to("node03") } }, "moving", "moves to node03 (WorkloadUpdate)"],
  ["delayed by KubeVirt after a failure waits", { vmi: MARKED, migration: { phase: "Pending" }, reason: "KubeVirtBackoff" }, "waiting", "waits for the end of KubeVirt's back-off"],
  ["moving after KubeVirt's delay",             { vmi: MOVING, migration: { phase: "Running" }, reason: "KubeVirtBackoff" }, "moving", "moves"],
  ["waits while virt-controller is away",       { vmi: MARKED, migration: { phase: "" }, reason: "KubeVirtNotAnswering" }, "waiting", "waits: KubeVirt's evacuation controller migrates the VM"],
  ["that cannot move is blocked",               { vmi: PINNED },                                                         "blocked", "blocked: NotMigratable"],
  ["that its owner has to move is blocked",     { vmi: { ...EXTERNAL, ...MARKED } },                                     "blocked", "blocked: External"],
  ["whose owner has created a migration waits", { vmi: { ...EXTERNAL, ...MARKED }, migration: { phase: "Pending" } },    "waiting", "waits for KubeVirt to start its migration"],
];

test.each(ROWS)("a VM %s: %s", (_, { vmi, migration: its, reason = "Pending" }, mood, words) => {
  const migrations = its === undefined ? [] : [migration(its)];
  const [subject] = subjectsOf(
    facts({
      pods: [launcher("web")],
      vmis: [vmiOf("web", vmi)],
      migrations,
      evacuations: [evacuation({ status: { reason } })],
    }),
  );
  expect(subject && rowOf(subject)).toMatchObject({ key: "VM apps/web", isVm: true, mood, words });
});

test("the progress of a VM that a person migrates is shown without an Evacuation", () => {
  const rows = [migration({ phase: "Running", targetNode: "node02" }), migration({ phase: "Pending" })].map((its) => {
    const [subject] = subjectsOf(facts({ vmis: [vmiOf("web", MOVING)], migrations: [its] }));
    return subject && rowOf(subject);
  });
  expect(rows.map((row) => row?.words)).toEqual(["moves to node02", "waits for KubeVirt to start its migration"]);
  expect(rows.map((row) => row && isInQueue(row))).toEqual([false, true]);
});

// prettier-ignore
test.each<[string, Tweak, Seen["migration"], isIt: boolean]>([
  ["has no migration",                 {},                    undefined,                                            true],
  ["is migrating",                     { isMigrating: true }, undefined,                                            false],
  ["has a migration",                  {},                    {},                                                   false],
  ["has a migration that cannot start", {},                   { blockedBy: { type: "migrationBlockedByBackup" } },  true],
])("an External VM that %s counts as blocked: $3", (_, tweak, its, isIt) => {
  const migrations = its === undefined ? [] : [migration(its)];
  const [subject] = subjectsOf(facts({ vmis: [vmiOf("web", { ...EXTERNAL, ...tweak })], migrations }));
  expect(subject && isBlocked(subject)).toBe(isIt);
});
