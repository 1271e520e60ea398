/** Tests the planned order of nodes. No node runs out of memory, and few VMs move twice. */
import { expect, test } from "vitest";
import { planOf } from "../../../shared/plan/plan.ts";
import { cluster, options, vm } from "../../support/plan/clusters.ts";

test("if an order has room for each node, the planned order has room for each node", () => {
  const f = cluster({ node01: [vm("a", 14)], node02: [vm("b", 6)], node03: [vm("c", 4)] });
  const given = planOf(f, options(f));
  expect(given.nodes[0]).toMatchObject({
    node: "node01",
    verdict: "NoRoom",
    shortage: "1 VM needs 14 GiB of memory; no other node has more than 12 GiB free",
  });
  const planned = planOf(f, options(f, { order: "planned" }));
  expect(planned.nodes.map(({ node, verdict }) => [node, verdict])).toEqual([
    ["node02", "WillSucceed"],
    ["node01", "WillSucceed"],
    ["node03", "WillSucceed"],
  ]);
  expect(planned.stuck).toEqual([]);
  expect(given.nodes[0]?.roomAfter).toBe("node02");
});

test("if no order has room for each node, the plan names the nodes in the way and the missing room", () => {
  const f = cluster({ node01: [vm("a", 12)], node02: [vm("b", 12)], node03: [vm("c", 12)] });
  const { stuck, nodes } = planOf(f, options(f, { order: "planned" }));
  expect(stuck).toEqual(["node01", "node02", "node03"]);
  expect(nodes.map(({ shortage }) => shortage)).toEqual(
    Array(3).fill("1 VM needs 12 GiB of memory; no other node has more than 4 GiB free"),
  );
});

test.each([
  [["a"], "VM apps/a: no other node has room for it: Resources"],
  [["a", "b"], "VM apps/a: no other node has room for it: Resources (other VMs without room: 1)"],
])("if memory is not the obstacle for %j, the plan says why no other node fits", (names, expected) => {
  const requests = { cpu: 9000, memory: 2 * 1024 ** 3 };
  const f = cluster({ node01: names.map((name) => vm(name, 2, { pod: { requests } })), node02: [], node03: [] });
  expect(planOf(f, options(f)).nodes[0]?.shortage).toBe(expected);
});

test("the planned order moves each VM once, where the given order moves VMs twice", () => {
  const f = cluster({ node01: [vm("a"), vm("b"), vm("c"), vm("d")], node02: [vm("e")], node03: [] });
  const nodes = ["node01", "node02"];
  const moves = (order: "given" | "planned") =>
    planOf(f, options(f, { nodes, order })).nodes.map((each) => [each.node, each.moves]);
  expect(moves("given")).toEqual([
    ["node01", 4],
    ["node02", 3],
  ]);
  expect(moves("planned")).toEqual([
    ["node02", 1],
    ["node01", 4],
  ]);
});
