/** A rolling maintenance, rehearsed: each node is judged on what the nodes before it leave behind. */
import { expect, test } from "vitest";
import type { PlanFacts, PlanOptions } from "../../../shared/plan/facts.ts";
import { planOf } from "../../../shared/plan/plan.ts";
import { cluster, GIB, node, options, ordinary, vm } from "../../support/plan/clusters.ts";

function verdicts(f: PlanFacts, tweak: Partial<PlanOptions> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(planOf(f, options(f, tweak)).nodes.map(({ node, verdict }) => [node, verdict]));
}

/** Returns the target of each VM, node by node. */
function moves(f: PlanFacts, tweak: Partial<PlanOptions> = {}): readonly string[] {
  return planOf(f, options(f, tweak)).nodes.flatMap(({ node, pods }) =>
    pods.flatMap(({ vmi, room }) => (vmi === undefined ? [] : [`${vmi}: ${node} > ${room?.node ?? "nowhere"}`])),
  );
}

test("a node comes back empty, and takes what the next one has", () => {
  const f = cluster({ node01: [], node02: [vm("a", 12)], node03: [vm("b", 12)] });
  expect(moves(f)).toEqual(["a: node02 > node01", "b: node03 > node02"]);
  expect(new Set(Object.values(verdicts(f)))).toEqual(new Set(["WillSucceed"]));
});

test("a node is judged on what those before it leave behind", () => {
  const f = cluster({ node01: [vm("a", 9)], node02: [vm("b", 9)], node03: [] });
  const filling = {
    ...f,
    nodes: f.nodes.map((one) =>
      one.name === "node01" ? { ...one, allocatable: { ...one.allocatable, memory: 8 * GIB } } : one,
    ),
  };
  // Alone, each would have room on node03.
  expect(verdicts(filling, { nodes: ["node02"] })).toEqual({ node02: "WillSucceed" });
  expect(verdicts(filling)).toEqual({ node01: "WillSucceed", node02: "NoRoom", node03: "NoRoom" });
});

test("replacements of ordinary pods take room, too", () => {
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

test("what cannot leave stays, and its node comes back with it", () => {
  const pinned = vm("pinned", 10, { vmi: { liveMigratable: { migratable: false, reason: "DisksNotLiveMigratable" } } });
  const f = cluster({ node01: [pinned, vm("a", 2)], node02: [vm("b", 10)], node03: [vm("c", 10)] });
  expect(verdicts(f)).toEqual({ node01: "WillBlock", node02: "NoRoom", node03: "NoRoom" });
});

test("of nodes that are emptied at a time none takes what the other has", () => {
  const f = cluster({ node01: [vm("a", 8)], node02: [vm("b", 8)], node03: [vm("c", 4)] });
  expect(moves(f, { nodes: ["node01", "node02"] })).toEqual(["a: node01 > node03", "b: node02 > node01"]);
  expect(verdicts(f, { nodes: ["node01", "node02"], parallel: 2 })).toEqual({
    node01: "WillSucceed",
    node02: "NoRoom",
  });
});

test("a promise holds whatever the scheduler chooses and in whatever order VMs leave", () => {
  // Smallest first, both small ones take the room that the large one needs, or do not.
  const f = cluster({
    node01: [vm("s1", 5), vm("s2", 5), vm("large", 12)],
    node02: [vm("x", 2)],
    node03: [vm("y", 4)],
  });
  const [first] = planOf(f, options(f, { nodes: ["node01"] })).nodes;
  expect(["NoRoom", "Unknown"]).toContain(first?.verdict);
});

test("VMs that a plan moves twice keep the CPU of the node that they started on", () => {
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

test("a node that does not exist is said", () => {
  const f = cluster({ node01: [], node02: [] });
  expect(planOf(f, options(f, { nodes: ["node01", "nowhere"] })).missing).toEqual(["nowhere"]);
});
