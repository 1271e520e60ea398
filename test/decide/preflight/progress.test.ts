/** How far the emptying of a node is: state, what has gone, what is left and in which order. */
import { expect, test } from "vitest";
import { nodeProgress } from "../../../shared/preflight/progress.ts";
import { endedEvacuation, evacuation, migration, PINNED, time } from "../../support/fixtures.ts";
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
  ["one VM, nothing else",                  { facts: one,                                                       is: ["InUse",    0, 1] }],
  ["two VMs that are to leave an open node", { facts: { ...two, evacuations: [of("a"), of("b")] },              is: ["InUse",    0, 2] }],
  ["… because of a NoExecute taint",        { facts: { ...two, evacuations: [of("a", { spec: { cause: "NoExecuteTaint" } })] }, is: ["Emptying", 0, 2] }],
  ["cordoned, nothing asks",                { facts: one, node: CORDONED,                                       is: ["Cordoned", 0, 1] }],
  ["cordoned, one is to leave",             { facts: { ...one, evacuations: [of("web")] }, node: CORDONED,      is: ["Emptying", 0, 1] }],
  ["… because a person evacuates it",       { facts: { ...one, evacuations: [of("web", { spec: { cause: "Operator" } })] }, node: CORDONED, is: ["Cordoned", 0, 1] }],
  ["cordoned and empty",                    { facts: empty, node: CORDONED,                                     is: ["Emptied",  0, 0] }],
  ["with the drain taint, and empty",       { facts: empty, node: { taints: [DRAIN_TAINT] },                    is: ["Emptied",  0, 0] }],
  ["cordoned, all have left",               { facts: { ...empty, evacuations: [left("a"), left("b", "Gone")] }, node: CORDONED, is: ["Emptied", 2, 0] }],
  ["one that left and came back is here",   { facts: { ...one, evacuations: [left("web")] }, node: CORDONED,    is: ["Cordoned", 0, 1] }],
  ["one that left, not looked at since",    { facts: { ...empty, evacuations: [of("away")] }, node: CORDONED,   is: ["Emptied",  1, 0] }],
  ["one that left before the cordon",       { facts: { ...one, evacuations: [left("gone")] }, node: cordonedAt(-30),    is: ["Cordoned", 0, 1] }],
  ["one that left after the cordon",        { facts: { ...one, evacuations: [left("gone")] }, node: cordonedAt(-90),    is: ["Emptying", 1, 1] }],
  ["one that left before the others were asked", { facts: { ...two, evacuations: [left("gone", "Moved", -3000), of("a"), of("b")] }, is: ["InUse", 0, 2] }],
  ["one that left another node",            { facts: { ...empty, evacuations: [of("x", { status: { sourceNode: "node02" } })] }, node: CORDONED, is: ["Emptied", 0, 0] }],
];

test.each(STATES)("%s", (_, { node: its, facts: more, is }) => {
  const progress = nodeProgress(facts({ node: node("node01", its), evacuations: [], ...more }));
  expect([progress.state, progress.gone.length, progress.here.length]).toEqual(is);
});

test("what blocks comes first, then what moves, then what waits", () => {
  const names = ["waits", "moves", "pinned"];
  const { here } = nodeProgress(
    facts({
      node: node("node01", CORDONED),
      pods: names.map((name) => launcher(name)),
      vmis: [
        vmiOf("waits"),
        vmiOf("moves", { evacuationNodeName: "node01", isMigrating: true }),
        vmiOf("pinned", PINNED),
      ],
      migrations: [migration({ vmiName: "moves", phase: "Running", targetNode: "node02" })],
      evacuations: [of("moves")],
    }),
  );
  expect(here.map(({ row }) => [row.key, row.mood])).toEqual([
    ["VM apps/pinned", "blocked"],
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
