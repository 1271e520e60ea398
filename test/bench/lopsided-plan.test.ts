/** The lopsided cluster: as many pods as it says, of which a fifth are launchers, and not spread evenly. */
import { expect, test } from "vitest";
import { numbered } from "../../infra/tools/in-parallel.ts";
import { planNode, PODS_A_NODE, STUCK } from "../../infra/bench/lopsided-plan.ts";

test.each([50, 5000])("%d nodes: full in places, empty in others, no name twice", (size) => {
  const nodes = numbered(size).map(planNode);
  const vms = nodes.flatMap((node) => node.vms);
  const pods = nodes.flatMap((node) => node.pods);
  expect([vms.length, pods.length]).toEqual([0.2 * size * PODS_A_NODE, 0.8 * size * PODS_A_NODE]);
  const withVms = Map.groupBy(nodes, (node) => node.vms.length);
  expect([4, 2, 0].map((count) => withVms.get(count)?.length)).toEqual([0.4 * size, 0.2 * size, 0.4 * size]);
  const stuck = pods.filter(({ kind }) => kind === "Stuck");
  expect([stuck.length, new Set(stuck.map(({ node }) => node)).size]).toEqual([STUCK, STUCK]);
  const names = [...vms, ...pods].map(({ namespace, name }) => `${namespace}/${name}`);
  expect(new Set(names).size).toBe(names.length);
});
