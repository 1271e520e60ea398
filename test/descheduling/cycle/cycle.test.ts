/**
 * One descheduling cycle after another over a simulated cluster: what is requested, what is not, and how a cycle ends.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { at, time } from "../../policy/fixtures.ts";
import { annotationsOf, answering, clusterOf, cycle, ending, results } from "./cycles.ts";
import { IN_PROGRESS, plainPod, REQUESTED, vmiOf, vmPod } from "../worlds.ts";

/** What upstream's cache test goes through, (evacuations in progress, pods evicted) after each step. */
test("requested, confirmed, cancelled and ended evacuations, cycle after cycle", () => {
  const cluster = clusterOf(vmPod("p1"), vmPod("p2"), plainPod("p3"), plainPod("p4"));
  const all = ["p1", "p2", "p3", "p4", "p5"];
  const counts = () => [cycle(cluster, { order: all }).inProgress, cluster.evicted];
  expect(counts()).toEqual([2, 2]);
  expect(counts()).toEqual([2, 2]);
  cluster.confirm("pod-p2");
  expect(counts()).toEqual([2, 2]);
  cluster.confirm("pod-p1");
  expect(counts()).toEqual([2, 2]);
  cluster.finish("pod-p1");
  expect(counts()).toEqual([1, 2]);
  const p5 = plainPod("p5");
  cluster.pods.set(p5.uid, p5);
  expect(counts()).toEqual([1, 3]);
  cluster.cancel("pod-p2");
  expect(cycle(cluster, { order: [] }).inProgress).toBe(0);
  expect(counts()).toEqual([1, 3]);
  expect(cluster.requests.map(({ pod }) => pod.uid)).toEqual(["pod-p1", "pod-p2", "pod-p2"]);
  const p2 = cluster.pods.get("pod-p2");
  if (p2 !== undefined) cluster.pods.set(p2.uid, { ...p2, phase: "Succeeded" });
  expect(cycle(cluster, { order: [] }).inProgress).toBe(0);
});

describe("what is not requested", () => {
  test("the target of a migration, nor a launcher pod whose VMI is not known", () => {
    const source = vmPod("web");
    const target = vmPod("web", { name: "target", uid: "pod-target", nodeName: "node02" });
    const cluster = clusterOf(source, target, vmPod("orphan"));
    const done = cycle(cluster, { order: ["target", "orphan"], vmis: [vmiOf(source)] });
    expect(done.nominations).toEqual([]);
    expect(cluster.requests).toEqual([]);
  });

  test("what is in progress; its nomination counts as accepted", () => {
    const cluster = clusterOf(vmPod("vm", { annotations: { [IN_PROGRESS]: "true" } }));
    const done = cycle(cluster, { order: ["vm"] });
    expect([results(done), done.heard]).toEqual([["InProgress"], [["vm", "Accepted"]]]);
    expect(cluster.requests).toEqual([]);
  });

  test("a VM that has just moved: another one goes in its place", () => {
    const [fresh, old] = [vmPod("fresh"), vmPod("old")];
    const moved = vmiOf(fresh, { movedAt: at(-60).getTime() });
    const one = { limits: { evictionsTotal: 1 } };
    const done = cycle(clusterOf(fresh, old), { order: ["fresh", "old"], vmis: [moved, vmiOf(old)], policy: one });
    expect(done.heard).toEqual([
      ["fresh", "Skipped"],
      ["old", "Accepted"],
    ]);
    expect(results(done)).toEqual(["MovedRecently", "Background"]);
  });

  test("what was refused or requested in the same cycle, by another plugin", () => {
    const cluster = clusterOf(vmPod("vm"), vmPod("pinned"));
    const perform = answering("Refused", "pod-pinned");
    const done = cycle(cluster, { order: ["vm", "pinned", "vm", "pinned"], perform });
    expect(results(done)).toEqual(["Background", "Refused", "InProgress", "Refused"]);
    expect(done.steps.filter(({ step }) => step === "Evict")).toHaveLength(2);
  });

  test("anything, where there is only one node to be on", () => {
    const cluster = clusterOf(vmPod("vm"));
    expect(cycle(cluster, { order: ["vm"], nodes: ["node01"] })).toMatchObject({ ended: "Finished", nominations: [] });
  });
});

describe("limits", () => {
  const three = [vmPod("a"), vmPod("b"), vmPod("c", { nodeName: "node02", namespace: "shop" })];

  // prettier-ignore
  test.each([
    ["evictionsTotal",          [["a", "Accepted"], ["b", "TotalLimit"]]],
    ["evictionsPerNode",        [["a", "Accepted"], ["b", "NodeLimit"], ["c", "Accepted"]]],
    ["evictionsPerNamespace",   [["a", "Accepted"], ["b", "Skipped"], ["c", "Accepted"]]],
    ["evacuationsPerNode",      [["a", "Accepted"], ["b", "Skipped"], ["c", "Accepted"]]],
    ["evacuationsPerNamespace", [["a", "Accepted"], ["b", "Skipped"], ["c", "Accepted"]]],
  ] as const)("%s of 1", (limit, expected) => {
    const done = cycle(clusterOf(...three), { order: ["a", "b", "c"], policy: { limits: { [limit]: 1 } } });
    expect(done.heard).toEqual(expected);
  });

  test.each(["evictionsTotal", "evictionsPerNode", "evictionsPerNamespace"] as const)(
    "%s of 4, two VMs and three ordinary pods in any order: never more than four in all",
    (limit) => {
      const five = [vmPod("p1"), vmPod("p2"), plainPod("p3"), plainPod("p4"), plainPod("p5")];
      for (const order of fc.sample(fc.shuffledSubarray(["p1", "p2", "p3", "p4", "p5"], { minLength: 5 }), {
        numRuns: 10,
        seed: 4,
      })) {
        const cluster = clusterOf(...five);
        const { inProgress } = cycle(cluster, { order, policy: { limits: { [limit]: 4 } } });
        expect(inProgress + cluster.evicted).toBe(4);
      }
    },
  );

  test("what is in progress at the start of a cycle counts", () => {
    const cluster = clusterOf(vmPod("a", { annotations: { [REQUESTED]: time(-599) } }), vmPod("b"));
    const limits = { evictionsTotal: 1 };
    expect(results(cycle(cluster, { order: ["b", "a"], policy: { limits } }))).toEqual(["evictionsTotal"]);
    cluster.now = at(2);
    expect(results(cycle(cluster, { order: ["b"], policy: { limits } }))).toEqual(["Background"]);
  });

  test("gate off: nothing is in progress, each 429 is a failure, and the whole node is asked for: the storm", () => {
    const cluster = clusterOf(vmPod("a"), vmPod("b"));
    const off = { order: ["a", "b"], inBackground: false, policy: { limits: { evictionsTotal: 1 } } };
    expect(results(cycle(cluster, off))).toEqual(["Refused", "Refused"]);
    expect(cluster.evacuating.size).toBe(2);
    expect(annotationsOf(cluster, "pod-a")).not.toHaveProperty([REQUESTED]);
  });
});

describe("how a cycle ends", () => {
  // prettier-ignore
  test.each([
    ["Write",         "Conflict", "AnotherCycle"],
    ["Write",         "Failed",   "ClusterUnavailable"],
    ["AnnotatePod",   "Failed",   "ClusterUnavailable"],
    ["Event",         "Failed",   "Finished"],
  ] as const)("%s %s: %s", (verb, outcome, ended) => {
    const cluster = clusterOf(vmPod("vm"));
    const done = cycle(cluster, { order: ["vm"], perform: ending(verb, outcome) });
    expect(done.ended).toBe(ended);
    expect(cluster.requests.length).toBe(ended === "Finished" ? 1 : 0);
  });

  test("claimed: gives way to a cycle that has begun meanwhile, though there is nothing to request", () => {
    const cluster = clusterOf();
    expect(cycle(cluster, { order: [], claimed: true })).toMatchObject({ ended: "Finished" });
    expect(cluster.register.lastCycle).toBe(time(0));
    expect(cycle(cluster, { order: [], claimed: true, perform: ending("Write", "Conflict") }).ended).toBe(
      "AnotherCycle",
    );
  });

  test("when its time is over nothing more is requested", () => {
    const cluster = clusterOf(vmPod("vm"));
    expect(cycle(cluster, { order: ["vm"], until: at(-1) })).toMatchObject({ ended: "OutOfTime", nominations: [] });
    expect(cluster.requests).toEqual([]);
  });

  test("what another cycle has written to the register meanwhile is kept", () => {
    const cluster = clusterOf(vmPod("vm"));
    const theirs = { profile: "p", plugin: "Other", result: "Evicted", count: 7 } as const;
    const done = cycle(cluster, {
      order: ["vm"],
      perform: (step) => {
        if (step.step === "Evict") {
          cluster.register = { ...cluster.register, counts: [theirs], found: { found: "Text", text: "theirs" } };
        }
        return undefined;
      },
    });
    expect(done.steps.at(-1)).toMatchObject({ step: "Write" });
    expect(cluster.register.counts).toEqual([
      theirs,
      { profile: "vms", plugin: "Scripted", result: "Background", count: 1 },
    ]);
  });
});
