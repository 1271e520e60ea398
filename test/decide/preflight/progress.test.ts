/** The progress of a node's evacuation: its state, the VMs that have left, the VMs that remain, in order; and the progress of one VM, in words. */
import { expect, test } from "vitest";
import { nodeProgress, rowOf, subjectsOf } from "../../../shared/preflight/progress.ts";
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
  ["two VMs that are to leave an open node", { facts: { ...two, evacuations: [of("a"), of("b")] },              is: ["InUse",    0, 2] }],
  ["… because of a NoExecute taint",        { facts: { ...two, evacuations: [of("a", { spec: { cause: "NoExecuteTaint" } })] }, is: ["Draining", 0, 2] }],
  ["cordoned, nothing asks",                { facts: one, node: CORDONED,                                       is: ["Cordoned", 0, 1] }],
  ["cordoned, one is to leave",             { facts: { ...one, evacuations: [of("web")] }, node: CORDONED,      is: ["Draining", 0, 1] }],
  ["… because a person evacuates it",       { facts: { ...one, evacuations: [of("web", { spec: { cause: "Operator" } })] }, node: CORDONED, is: ["Cordoned", 0, 1] }],
  ["with the drain taint, and empty",       { facts: empty, node: { taints: [DRAIN_TAINT] },                    is: ["Drained",  0, 0] }],
  ["cordoned, all have left",               { facts: { ...empty, evacuations: [left("a"), left("b", "Gone")] }, node: CORDONED, is: ["Drained", 2, 0] }],
  ["one that left and came back is here",   { facts: { ...one, evacuations: [left("web")] }, node: CORDONED,    is: ["Cordoned", 0, 1] }],
  ["one that left, not looked at since",    { facts: { ...empty, evacuations: [of("away")] }, node: CORDONED,   is: ["Drained",  1, 0] }],
  ["one that left before the cordon",       { facts: { ...one, evacuations: [left("gone")] }, node: cordonedAt(-30),    is: ["Cordoned", 0, 1] }],
  ["one that left after the cordon",        { facts: { ...one, evacuations: [left("gone")] }, node: cordonedAt(-90),    is: ["Draining", 1, 1] }],
  ["one that left before the others were asked", { facts: { ...two, evacuations: [left("gone", "Moved", -3000), of("a"), of("b")] }, is: ["InUse", 0, 2] }],
  ["one that left another node",            { facts: { ...empty, evacuations: [of("x", { status: { sourceNode: "node02" } })] }, node: CORDONED, is: ["Drained", 0, 0] }],
];

test.each(STATES)("%s", (_, { node: its, facts: more, is }) => {
  const progress = nodeProgress(facts({ node: node("node01", its), evacuations: [], ...more }));
  expect([progress.state, progress.gone.length, progress.here.length]).toEqual(is);
});

test("what blocks comes first, then what fails, what moves, then what waits", () => {
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

test("pods that a drain leaves in place are not counted", () => {
  const daemon = plainPod("daemon", { owners: [{ kind: "DaemonSet", name: "ds", uid: "ds", controller: true }] });
  expect(nodeProgress(facts({ ...empty, pods: [daemon, plainPod("cart")] })).pods.map(({ key }) => key)).toEqual([
    "pod apps/cart",
  ]);
});

type Tweak = Parameters<typeof vmiOf>[1];
interface Seen {
  readonly vmi?: Tweak;
  readonly migration?: Parameters<typeof migration>[0];
  /** The reason in its Evacuation. */
  readonly reason?: string;
}

const MARKED = { evacuationNodeName: NODE };
const MOVING = { ...MARKED, isMigrating: true };
const to = (targetNode: string) => ({ targetNode });

// prettier-ignore
const ROWS: readonly (readonly [what: string, seen: Seen, mood: string, words: string])[] = [
  ["nothing asks it to leave",            {},                                                                      "waiting", "runs"],
  ["… nor would an eviction move it",     { vmi: { evictionStrategy: "None" } },                                   "waiting", "runs"],
  ["marked, no migration yet",            { vmi: MARKED },                                                         "waiting", "is to move"],
  ["its migration is new",                { vmi: MARKED, migration: { phase: "" } },                               "moving",  "is about to move"],
  ["… to a node that only its VMI names", { vmi: { ...MOVING, ...to("node02") }, migration: { phase: "Running" } }, "moving", "moves to node02"],
  ["… that it names itself",              { vmi: MOVING, migration: { phase: "Running", ...to("node03") } },       "moving",  "moves to node03"],
  ["… by KubeVirt's workload updater",    { vmi: MOVING, migration: { phase: "Running", automatic: true, ...to("node03") } }, "moving", "moves to node03 (WorkloadUpdate)"],
  ["KubeVirt delays it after a failure",  { vmi: MARKED, migration: { phase: "Pending" }, reason: "KubeVirtBackoff" }, "waiting", "waits for the end of KubeVirt's back-off"],
  ["… and has begun it since",            { vmi: MOVING, migration: { phase: "Running" }, reason: "KubeVirtBackoff" }, "moving", "moves"],
  ["virt-controller is away",             { vmi: MARKED, migration: { phase: "" }, reason: "KubeVirtNotAnswering" }, "waiting", "waits: KubeVirt's evacuation controller migrates the VM"],
  ["it cannot move",                      { vmi: PINNED },                                                         "blocked", "blocked: NotMigratable"],
  ["its owner moves it",                  { vmi: { ...EXTERNAL, ...MARKED } },                                     "blocked", "blocked: External"],
  ["… and has asked KubeVirt to",         { vmi: { ...EXTERNAL, ...MARKED }, migration: { phase: "Pending" } },    "waiting", "waits for KubeVirt to start its migration"],
];

test.each(ROWS)("%s", (_, { vmi, migration: its, reason = "Pending" }, mood, words) => {
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
