/** Tests the plan of a rolling maintenance. The plan judges each node in the state after the previous nodes. */
import { expect, test } from "vitest";
import type { PlanFacts, PlanOptions } from "../../../shared/plan/facts.ts";
import { planOf } from "../../../shared/plan/plan.ts";
import { time } from "../../support/fixtures.ts";
import { cluster, GIB, node, options, ordinary, vm } from "../../support/plan/clusters.ts";

const A = { namespace: "apps", name: "a" };

function verdicts(f: PlanFacts, tweak: Partial<PlanOptions> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(planOf(f, options(f, tweak)).nodes.map(({ node, verdict }) => [node, verdict]));
}

/** Returns the target node of each VM, in the order of the drained nodes. */
function moves(f: PlanFacts, tweak: Partial<PlanOptions> = {}): readonly string[] {
  return planOf(f, options(f, tweak)).nodes.flatMap(({ node, pods }) =>
    pods.flatMap(({ vmi, room }) => (vmi === undefined ? [] : [`${vmi}: ${node} > ${room?.node ?? "nowhere"}`])),
  );
}

test("an evacuated node returns empty, and takes the VMs of the next node", () => {
  const f = cluster({ node01: [], node02: [vm("a", 12)], node03: [vm("b", 12)] });
  expect(moves(f)).toEqual(["a: node02 > node01", "b: node03 > node02"]);
  expect(new Set(Object.values(verdicts(f)))).toEqual(new Set(["WillSucceed"]));
});

test("a node is judged with the VMs that earlier nodes left elsewhere", () => {
  const f = cluster({ node01: [vm("a", 9)], node02: [vm("b", 9)], node03: [] });
  const filling = {
    ...f,
    nodes: f.nodes.map((one) =>
      one.name === "node01" ? { ...one, allocatable: { ...one.allocatable, memory: 8 * GIB } } : one,
    ),
  };
  // node03 has enough memory for each VM alone.
  expect(verdicts(filling, { nodes: ["node02"] })).toEqual({ node02: "WillSucceed" });
  expect(verdicts(filling)).toEqual({ node01: "WillSucceed", node02: "NoRoom", node03: "NoRoom" });
});

test("replacements of ordinary pods need room, too", () => {
  const f = cluster({ node01: [ordinary("x", 10)], node02: [vm("a", 10)], node03: [] }, {});
  const smaller = {
    ...f,
    nodes: f.nodes.map((one) =>
      one.name === "node01"
        ? node("node01", { allocatable: { memory: 10 * GIB - 1, cpu: 8000, pods: 110 }, labels: one.labels })
        : one,
    ),
  };
  expect(verdicts(smaller, { nodes: ["node02"] })).toEqual({ node02: "WillSucceed" });
  expect(verdicts(smaller, { nodes: ["node01", "node02"] })).toEqual({ node01: "WillSucceed", node02: "NoRoom" });
});

test("VMs that cannot leave stay, and their node returns with them", () => {
  const pinned = vm("pinned", 10, { vmi: { liveMigratable: { migratable: false, reason: "DisksNotLiveMigratable" } } });
  const f = cluster({ node01: [pinned, vm("a", 2)], node02: [vm("b", 10)], node03: [vm("c", 10)] });
  expect(verdicts(f)).toEqual({ node01: "WillBlock", node02: "NoRoom", node03: "NoRoom" });
});

test("nodes that are evacuated at the same time take no VM of each other", () => {
  const f = cluster({ node01: [vm("a", 8)], node02: [vm("b", 8)], node03: [vm("c", 4)] });
  expect(moves(f, { nodes: ["node01", "node02"] })).toEqual(["a: node01 > node03", "b: node02 > node01"]);
  expect(verdicts(f, { nodes: ["node01", "node02"], parallel: 2 })).toEqual({
    node01: "WillSucceed",
    node02: "NoRoom",
  });
});

test("a plan promises success only for any choice of the scheduler and any order of VMs", () => {
  // If the smallest VMs leave first, both small VMs can use the memory that the large VM needs.
  const f = cluster({
    node01: [vm("s1", 5), vm("s2", 5), vm("large", 12)],
    node02: [vm("x", 2)],
    node03: [vm("y", 4)],
  });
  const [first] = planOf(f, options(f, { nodes: ["node01"] })).nodes;
  expect(["NoRoom", "Unknown"]).toContain(first?.verdict);
});

test("VMs that a plan moves twice keep the CPU model of their first node", () => {
  const f = cluster({ node01: [vm("a")], node02: [], node03: [] });
  const other = {
    labels: {
      "host-model-cpu.node.kubevirt.io/Haswell": "true",
      "cpu-model-migration.node.kubevirt.io/Haswell": "true",
    },
  };
  const nodes = f.nodes.map((one) => (one.name === "node03" ? node("node03", other) : one));
  expect(moves({ ...f, nodes }, { nodes: ["node01", "node02"] })).toEqual(["a: node01 > node02", "a: node02 > node01"]);
});

test("a VMI that could not be read is not taken for gone: the plan is Unknown, and proposes to delete no pod", () => {
  const before = cluster({ node01: [vm("a")], node02: [] });
  const f = { ...before, vmis: [], unreadVmis: new Set(["apps/a"]), unread: ["1 of the virtualmachineinstances"] };
  const [node01] = planOf(f, options(f, { nodes: ["node01"] })).nodes;
  expect(node01).toMatchObject({ verdict: "Unknown", pods: [] });
  expect(node01?.unknown).toContainEqual(expect.stringMatching(/^the VMI of pod apps\//));
});

test("a plan names a node that does not exist", () => {
  const f = cluster({ node01: [], node02: [] });
  expect(planOf(f, options(f, { nodes: ["node01", "nowhere"] })).missing).toEqual(["nowhere"]);
});

test.each([
  ["a day after its turn", time(86_400), "Respected", "Unknown"],
  ["a text that is not a time", "tomorrow", "Respected", "Unknown"],
  ["before its turn", time(-60), "Respected", "WillSucceed"],
  ["a day after its turn, which is ignored", time(86_400), "Ignored", "WillSucceed"],
] as const)("a node with a VM that its owner keeps until %s", (_, notBefore, ownersChoice, verdict) => {
  const kept = { ...A, uid: "vm-a", runStrategy: "Always", isChanging: false, notBefore };
  const f = cluster({ node01: [vm("a")], node02: [] }, { vms: new Map([["apps/a", kept]]) });
  const { template } = options(f);
  const asked = { ...template, virtualMachines: { ...template.virtualMachines, ownersChoice } };
  const [node01] = planOf(f, options(f, { nodes: ["node01"], template: asked })).nodes;
  expect(node01?.verdict).toBe(verdict);
  expect(node01?.unknown.some((one) => one.includes("the owner of VM apps/a wants the VM to stay"))).toBe(
    verdict === "Unknown",
  );
});
