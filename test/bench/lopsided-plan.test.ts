/** The lopsided cluster: as many pods as it says, of which a fifth are launchers, and not spread evenly. */
import { describe, expect, test } from "vitest";
import { numbered } from "../../infra/tools/in-parallel.ts";
import { planNode, PODS_A_NODE, STUCK } from "../../infra/bench/lopsided-plan.ts";

describe.each([50, 500, 5000])("%d nodes", (size) => {
  const nodes = numbered(size).map(planNode);
  const vms = nodes.flatMap((node) => node.vms);
  const pods = nodes.flatMap((node) => node.pods);

  test("have ten pods each on average, a fifth of them launchers", () => {
    expect(vms.length + pods.length).toBe(size * PODS_A_NODE);
    expect(vms.length).toBe((size * PODS_A_NODE) / 5);
  });

  test("are full in places and empty in others", () => {
    const withVms = Map.groupBy(nodes, (node) => node.vms.length);
    const counts = [4, 2, 0].map((vms) => withVms.get(vms)?.length);
    expect(counts).toEqual([0.4 * size, 0.2 * size, 0.4 * size]);
  });

  test("have as many stuck pods as any other number of them, each on a node of its own", () => {
    const stuck = pods.filter(({ kind }) => kind === "Stuck");
    expect(new Set(stuck.map(({ node }) => node)).size).toBe(STUCK);
    expect(stuck).toHaveLength(STUCK);
  });

  test("share no names", () => {
    const names = [...vms, ...pods].map(({ namespace, name }) => `${namespace}/${name}`);
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(nodes.map(({ name }) => name)).size).toBe(size);
  });
});
