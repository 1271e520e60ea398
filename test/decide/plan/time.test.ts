/**
 * Tests the planned duration of a node's drain. The plan derives a range from the durations of the cluster's finished
 * migrations.
 */
import { expect, test } from "vitest";
import type { PlanFacts } from "../../../shared/plan/facts.ts";
import { planOf } from "../../../shared/plan/plan.ts";
import { migration, NOW } from "../../support/fixtures.ts";
import { cluster, GIB, options, ordinary, vm } from "../../support/plan/clusters.ts";

const seconds = (n: number) => new Date(NOW.getTime() + n * 1000);
const names = ["a", "b", "c", "d", "e", "f"];

/** Returns a cluster with six VMs of 2 GiB on node01. `took` contains the seconds of each finished migration. */
function fleet(took: readonly number[]): PlanFacts {
  const migrations = took.map((tookSeconds, i) => ({
    ...migration({ name: `m${i}`, uid: `m${i}`, vmiName: names[i] ?? "", phase: "Succeeded" }),
    createdAt: i,
    tookSeconds,
  }));
  return cluster({ node01: names.map((name) => vm(name, 2)), node02: [], node03: [] }, { migrations });
}

const plan = (f: PlanFacts, tweak: Parameters<typeof options>[1] = {}) =>
  planOf(f, options(f, { nodes: ["node01"], ...tweak }));

test("the duration follows from the cluster's migrations, two at a time", () => {
  const { takes, basis } = plan(fleet([20, 20, 20, 20, 20, 20]));
  expect(basis).toBe("based on 6 finished migrations, their sizes, and KubeVirt's limits");
  // The drain needs three rounds of 20 s, and some seconds to start.
  expect(takes.least).toBeGreaterThan(52);
  expect(takes.most).toBeLessThan(90);
  expect(takes.least).toBeLessThan(takes.most);
});

test("migrations of different durations widen the range", () => {
  const width = ({ takes }: ReturnType<typeof plan>) => takes.most - takes.least;
  expect(width(plan(fleet([5, 10, 20, 30, 40, 60])))).toBeGreaterThan(width(plan(fleet([27, 27, 27, 28, 28, 28]))));
});

test("without a finished migration, or with --bandwidth, the duration follows from the bandwidth", () => {
  const f = fleet([]);
  expect(plan(f).basis).toBe("no migration finished yet: assumes between 64 MiB/s and 10 Gbit/s for each VM");
  const slow = plan(f, { bandwidth: 16 * 1024 ** 2 });
  expect(slow.basis).toBe("16 MiB/s for each VM, as --bandwidth says");
  expect(slow.takes.least).toBeGreaterThan((3 * 2 * GIB) / (20 * 1024 ** 2));
});

test("a node starts when the node before it is empty, and nodes of one wave start together", () => {
  const f = cluster({ node01: [vm("a")], node02: [vm("b")], node03: [ordinary("x")], node04: [] });
  const starts = (parallel: number) => planOf(f, options(f, { parallel })).nodes.map((node) => node.starts.most > 0);
  expect(starts(1)).toEqual([false, true, true, true]);
  expect(starts(2)).toEqual([false, false, true, true]);
});

test("nodes that will not be empty in time are named", () => {
  const f = cluster({ node01: [vm("a")], node02: [vm("b")], node03: [] });
  const inTime = (until: Date) =>
    planOf(f, options(f, { nodes: ["node01", "node02"], until, bandwidth: GIB })).nodes.map(({ isInTime }) => isInTime);
  expect(inTime(seconds(3600))).toEqual([true, true]);
  expect(inTime(seconds(50))).toEqual([true, false]);
  expect(inTime(seconds(1))).toEqual([false, false]);
});

test("a node without VMs is empty at once", () => {
  const f = cluster({ node01: [], node02: [] });
  const [{ ends } = {}] = planOf(f, options(f, { nodes: ["node01"] })).nodes;
  expect(ends?.least).toBeGreaterThan(0);
  expect(ends?.most).toBeLessThan(60);
});
