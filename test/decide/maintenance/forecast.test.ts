/** Tests the forecast of a NodeEvacuation, including VMs that Lifeboat restarts or stops. */
import { describe, expect, test } from "vitest";
import { textOf } from "../../../shared/facts/facts.ts";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { ClusterError } from "../../../shared/kube/failures.ts";
import { PLAIN } from "../../../shared/kube/guest.ts";
import { ACTIVE_EVACUATIONS, selectEvacuationsFrom } from "../../../shared/kube/selections.ts";
import { aheadOf, placedFirst } from "../../../shared/maintenance/beside.ts";
import { forecastOf } from "../../../shared/maintenance/forecast.ts";
import { preflightBeside } from "../../../shared/maintenance/questions.ts";
import { OddList } from "../../support/facts.ts";
import { NODE, NOW, owner, time } from "../../support/fixtures.ts";
import { facts, foreignBudget, launcher, node, plainPod, vmiOf } from "../../support/preflight/fixtures.ts";
import { asked, nodeWorld, pinnedVm, started } from "../../support/maintenance/worlds.ts";

const GIB = 1024 ** 3;
const VMIS = [pinnedVm("a"), pinnedVm("b")];

// prettier-ignore
test.each([
  // another node, its GiB, the outcomes of the two VMs of 2 GiB, the verdict
  ["with room for both VMs", 4, ["ShutsDown Restart", "ShutsDown Restart"],    "WillSucceedWithShutdowns"],
  ["with room for one VM",   3, ["ShutsDown Restart", "Blocked NoRestart"],    "WillBlock"],
])("restarts share the room of other nodes: %s", (_, gib, outcomes, verdict) => {
  const otherNodes = [node("node02", { allocatable: { memory: gib * GIB } })];
  const pods = [launcher("a"), launcher("b")];
  const ne = started({ spec: { virtualMachines: { whenBlocked: "Restart" } } });
  const vms = { "apps/a": {}, "apps/b": {} };
  const { found } = forecastOf(facts({ pods, vmis: VMIS, otherNodes }), nodeWorld({ ne, vms }));
  expect(found.pods.map(({ outcome, reason }) => `${outcome} ${reason}`)).toEqual(outcomes);
  expect(found.verdict).toBe(verdict);
});

// prettier-ignore
test.each([
  ["that cannot migrate",                 pinnedVm("a")],
  ["that its strategy would shut down",   vmiOf("a", { evictionStrategy: "None" })],
])("a VM %s blocks the drain if its VirtualMachine cannot be read", (_, vmi) => {
  const odd = new ClusterError({ reason: "Unintelligible", request: "GET a", issue: "x: too large", odd: true });
  const w = nodeWorld({ more: { "virtualmachines apps/a": odd } });
  const { found } = forecastOf(facts({ pods: [launcher("a")], vmis: [vmi] }), w);
  const whoCanFix = "the owner of the object: correct what the message names, or make the object smaller";
  expect(found.verdict).toBe("WillBlock");
  expect(found.pods).toMatchObject([{ outcome: "Blocked", reason: "Unreadable", remedy: whoCanFix }]);
});

const onOther = (name: string, liveMigratable = { migratable: true }) => ({
  pod: launcher(name, { nodeName: "node02" }),
  vmi: vmiOf(name, { nodeName: "node02", activePods: { [`pod-${name}`]: "node02" }, liveMigratable }),
});

describe("two nodes that are evacuated at the same time", () => {
  const [started1, due, later] = [
    asked({
      name: "bios",
      uid: "u1",
      spec: { nodeName: "node02" },
      status: { phase: "Evacuating", startTime: time(-9) },
    }),
    asked({ name: "bios", uid: "u1", createdAt: 0, spec: { nodeName: "node02" } }),
    asked({ name: "bios", uid: "u1", createdAt: NOW.getTime(), spec: { nodeName: "node02" } }),
  ];

  // prettier-ignore
  test.each([
    ["an older NodeEvacuation that is due is ahead: it will start first",    due,      ["bios"]],
    ["a started NodeEvacuation is not ahead, because the preflight reads its VMs", started1, []],
    ["a younger NodeEvacuation is not ahead",                  later,    []],
    ["a paused NodeEvacuation is not ahead",             asked({ ...due, spec: { nodeName: "node02", progress: "Paused" } }), []],
    ["an ended NodeEvacuation is not ahead",             asked({ ...due, spec: { nodeName: "node02" }, status: { phase: "Evacuated" } }), []],
    ["a NodeEvacuation of the same node is not ahead",           asked({ name: "bios", uid: "u1", createdAt: 0 }), []],
    ["a withdrawn NodeEvacuation is not ahead",          asked({ ...due, spec: { nodeName: "node02", intent: "Withdrawn" } }), []],
    ["of two of the same age, the one with the smaller UID is ahead", asked({ name: "bios", uid: "u1", spec: { nodeName: "node02" } }),     ["bios"]],
    ["of two of the same age, the one with the greater UID is not ahead",   asked({ name: "bios", uid: "zz", spec: { nodeName: "node02" } }),     []],
  ])("%s", (_, other, expected) => {
    expect(aheadOf(asked(), [asked(), other], NOW).map(({ name }) => name)).toEqual(expected);
  });

  // prettier-ignore
  test.each([
    // node03, its GiB, the VM on the other node (each VM has 2 GiB), whenBlocked of the other node, the verdict
    ["with room for both VMs",                                4, onOther("b"),                                   "Wait",    "WillSucceed"],
    ["with room for one VM",                                  2, onOther("b"),                                   "Wait",    "NoRoom"],
    ["with room for one VM, when the other VM stays",         2, onOther("b", { migratable: false }),            "Wait",    "WillSucceed"],
    ["with room for one VM, when the other VM restarts",      2, onOther("b", { migratable: false }),            "Restart", "NoRoom"],
  ] as const)("the forecast %s: $4", (...[, gib, other, whenBlocked, verdict]) => {
    const otherNodes = [
      node("node02", { unschedulable: true }),
      node("node03", { allocatable: { memory: gib * GIB } }),
    ];
    const seen = facts({ pods: [launcher("a")], vmis: [vmiOf("a")], otherNodes, otherPods: [other.pod] });
    const ne = asked({ name: "bios", uid: "u1", spec: { nodeName: "node02", virtualMachines: { whenBlocked } } });
    const placed = placedFirst(seen, [{ ne, pods: [other.pod], vmis: [other.vmi] }]);
    expect(forecastOf(placed, nodeWorld()).found.verdict).toBe(verdict);
  });

  test("a NodeEvacuation of a node that does not exist changes no forecast", () => {
    const seen = facts();
    expect(placedFirst(seen, [{ ne: asked({ spec: { nodeName: "gone" } }), pods: [], vmis: [] }])).toEqual(seen);
  });
});

test("a VM with a disk file on its node is not restarted, because it would start elsewhere with an empty disk", () => {
  const f = facts({
    pods: [launcher("a")],
    vmis: [{ ...pinnedVm("a"), hostDisk: "/data/a.img" }],
    otherNodes: [node("node02")],
  });
  const ne = started({ spec: { virtualMachines: { whenBlocked: "Restart" } } });
  const vms = { "apps/a": {} };
  const { found } = forecastOf(f, nodeWorld({ ne, vms }));
  expect(found.pods).toMatchObject([
    { outcome: "Blocked", message: expect.stringContaining("/data/a.img is a file of this node") },
  ]);
  expect(found.verdict).toBe("WillBlock");
});

// prettier-ignore
test.each([
  ["of the VM's owner", {},                                                                               "Blocked BudgetExhausted",  "WillBlock"],
  ["of a controller",   { owners: [owner({ kind: "Cluster", name: "b", uid: "c", controller: true })] }, "Waits BudgetOfController", "Unknown"],
])("a restart refused by a budget %s: %j", (_, tweak, outcome, verdict) => {
  const pod = launcher("a", { labels: { ...launcher("a").labels, app: "db" } });
  const f = facts({ pods: [pod], vmis: [pinnedVm("a")], budgets: [foreignBudget("b", "db", tweak)] });
  const ne = started({ spec: { virtualMachines: { whenBlocked: "Restart" } } });
  const vms = { "apps/a": {} };
  const { found } = forecastOf(f, nodeWorld({ ne, vms }));
  expect(found.pods.map((one) => `${one.outcome} ${one.reason}`)).toEqual([outcome]);
  expect(found.verdict).toBe(verdict);
});

// prettier-ignore
test.each([
  ["two restarts, because each VM runs again before the next restart", "Restart",  {},                      ["ShutsDown Restart", "ShutsDown Restart"]],
  ["only one stop",                                                    "ShutDown", {},                      ["ShutsDown ShutDown", "Blocked BudgetExhausted"]],
  ["a stop beside a VM that stays",                                    "ShutDown", { whenBlocked: "Wait" }, ["Blocked NotMigratable", "ShutsDown ShutDown"]],
] as const)("a budget that allows one disruption allows %s", (_, whenBlocked, ofA, outcomes) => {
  const pods = ["a", "b"].map((name) => launcher(name, { labels: { ...launcher(name).labels, app: "db" } }));
  const budgets = [foreignBudget("b", "db", { status: { disruptionsAllowed: 1 } })];
  const ne = started({ spec: { virtualMachines: { whenBlocked } } });
  const w = nodeWorld({ ne, vms: { "apps/a": ofA, "apps/b": {} } });
  const { found } = forecastOf(facts({ pods, vmis: VMIS, budgets }), w);
  expect(found.pods.map(({ outcome, reason }) => `${outcome} ${reason}`)).toEqual(outcomes);
});

// prettier-ignore
test.each([
  ["of the node",    selectEvacuationsFrom("node01"), "Unknown",     ["1 Evacuations"]],
  ["of other nodes", ACTIVE_EVACUATIONS,              "WillSucceed", []],
] as const)("the verdict while an Evacuation %s cannot be read", (_, selection, verdict, unread) => {
  const more = { [textOf({ kind: "evacuations", selection })]: new OddList([], "apps/a-1: spec: too large") };
  const w = nodeWorld({ ne: asked(), preflight: facts(), more });
  const found = preflightBeside(w);
  expect(found?.unread).toEqual(unread);
  expect(found && forecastOf(found, w).found.verdict).toBe(verdict);
});

// prettier-ignore
test.each([
  ["with room for both VMs",  4,  "ShutsDown Restart",   "WillSucceedWithShutdowns"],
  ["with room for one VM",    3,  "Blocked NoRestart",   "WillBlock"],
])("a VM that restarts needs room beside a VM that migrates: %s", (_, gib, outcome, verdict) => {
  const otherNodes = [node("node02", { allocatable: { memory: gib * GIB } })];
  const f = facts({ pods: [launcher("m"), launcher("a")], vmis: [vmiOf("m"), pinnedVm("a")], otherNodes });
  const ne = started({ spec: { virtualMachines: { whenBlocked: "Restart" } } });
  const { found } = forecastOf(f, nodeWorld({ ne, vms: { "apps/m": {}, "apps/a": {} } }));
  expect(found.pods.map((one) => `${one.outcome} ${one.reason}`)).toEqual(["Moves EvacuationTriggered", outcome]);
  expect(found.verdict).toBe(verdict);
});

const asking = (asks: Partial<VmiFacts["asks"]>, vmi = vmiOf("a")) => ({ ...vmi, asks: { ...PLAIN, ...asks } });
const bound = asking({ nodeSelector: { "kubernetes.io/hostname": NODE } });
const tolerant = asking(
  { tolerations: [{ key: "node.kubernetes.io/unschedulable", operator: "Exists" }] },
  pinnedVm("a"),
);
const RESTART = { whenBlocked: "Restart" };
const STOP = { whenBlocked: "ShutDown" };

const forecastOfOne = (vmi: VmiFacts, virtualMachines: object, gib: number, vm = {}) => {
  const otherNodes = [node("node02", { allocatable: { memory: gib * GIB } })];
  const f = facts({ pods: [launcher("a")], vmis: [vmi], otherNodes });
  const ne = started({ spec: { virtualMachines } });
  return forecastOf(f, nodeWorld({ ne, vms: { "apps/a": vm }, preflight: f })).found;
};

// prettier-ignore
test.each<readonly [what: string, vmi: VmiFacts, virtualMachines: object, gib: number, outcome: string, verdict: string]>([
  // `gib` is the memory of the other node, and the VM has 2 GiB.
  ["that is stopped needs no room",                 pinnedVm("a"),  STOP,     0,  "ShutsDown ShutDown",     "WillSucceedWithShutdowns"],
  ["that is restarted needs room",                  pinnedVm("a"),  RESTART,  0,  "Blocked NotMigratable",  "WillBlock"],
  ["that tolerates the cordon is not restarted",    tolerant,       RESTART,  4,  "Blocked NotMigratable",  "WillBlock"],
  ["that no other node can run is stopped",         bound,          STOP,     4,  "ShutsDown ShutDown",     "WillSucceedWithShutdowns"],
  ["that no other node can run stays by default",   bound,          {},       4,  "Blocked BoundToNode",    "WillBlock"],
  ["that cannot migrate stays by default",          pinnedVm("a"),  {},       4,  "Blocked NotMigratable",  "WillBlock"],
  ["of an external controller stays",               vmiOf("a", { evictionStrategy: "External" }), RESTART, 4, "Blocked External", "WillBlock"],
])("in the forecast, a VM %s", (...[, vmi, virtualMachines, gib, outcome, verdict]) => {
  const found = forecastOfOne(vmi, virtualMachines, gib);
  expect(found.pods.map((one) => `${one.outcome} ${one.reason}`)).toEqual([outcome]);
  expect(found.verdict).toBe(verdict);
});

test("in the forecast, a VM that its owner keeps for a time is shut down later", () => {
  const found = forecastOfOne(pinnedVm("a"), RESTART, 4, { notBefore: time(60) });
  expect(found.pods).toMatchObject([{ outcome: "ShutsDown", reason: "Restart" }]);
  expect(found.pods[0]?.remedy).toBeUndefined();
  expect(found.pods[0]?.message).toMatch(
    /^cannot migrate: KubeVirt restarts it on another node, as requested; its owner wants it to stay until /u,
  );
  expect(found.verdict).toBe("WillSucceedWithShutdowns");
});

test("in the forecast, a VM that its owner keeps for a time stays if it cannot restart elsewhere", () => {
  const found = forecastOfOne({ ...pinnedVm("a"), hostDisk: "/data/a.img" }, RESTART, 4, { notBefore: time(60) });
  expect(found.pods.map((one) => `${one.outcome} ${one.reason}`)).toEqual(["Blocked NotMigratable"]);
  expect(found.verdict).toBe("WillBlock");
});

const UNJUDGED = { unchecked: ["hostPort"] };
const elsewhere = launcher("a", { namespace: "other", uid: "pod-other", ...UNJUDGED });

// prettier-ignore
test.each([
  ["in the same namespace",              [launcher("a"), launcher("b", UNJUDGED)], [pinnedVm("a"), pinnedVm("b")], ["ShutsDown Restart", "Blocked NotMigratable"]],
  ["with the same name in another namespace", [elsewhere, launcher("a")], [{ ...pinnedVm("a"), namespace: "other", activePods: { "pod-other": NODE } }, pinnedVm("a")], ["Blocked NotMigratable", "ShutsDown Restart"]],
])("whether a VM can restart depends on its own pod, not on the pod of another VM %s", (_, pods, vmis, outcomes) => {
  const ne = started({ spec: { virtualMachines: { whenBlocked: "Restart" } } });
  const vms = { "apps/a": {}, "apps/b": {}, "other/a": {} };
  const { found } = forecastOf(facts({ pods, vmis }), nodeWorld({ ne, vms }));
  expect(found.pods.map(({ outcome, reason }) => `${outcome} ${reason}`)).toEqual(outcomes);
});

test.each([
  ["Evict", "WillBlock"],
  ["Leave", "WillSucceed"],
] as const)("with otherPods %s, the verdict for a node with a pod without a controller is %s", (otherPods, verdict) => {
  const f = facts({ pods: [launcher("web"), plainPod("loner", { owners: [] })] });
  expect(forecastOf(f, nodeWorld({ ne: asked({ spec: { otherPods } }) })).found.verdict).toBe(verdict);
});
