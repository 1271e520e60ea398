/**
 * Tests for which pods a descheduling cycle requests an eviction, which pods the cycle skips, and how the cycle ends.
 * To evict a VM's pod, the cycle creates an Evacuation.
 */
import { describe, expect, test } from "vitest";
import { type Before, failing, type FakeCluster, UNREACHABLE } from "../../../support/cluster.ts";
import { ClusterError } from "../../../../shared/kube/failures.ts";
import { isActive } from "../../../../shared/kube/evacuation.ts";
import { at, newborn, time, without } from "../../../support/fixtures.ts";
import { clusterOf, cycle, leaseOf, nth, put, results, setStatus } from "./cycles.ts";
import { plainPod, vmPod } from "../../../support/descheduling/worlds.ts";

/**
 * Follows the steps of the cache test of kubernetes-sigs/descheduler. Each step checks the evacuations in progress and
 * the evicted pods.
 */
test("cycles count evacuations that are requested, confirmed, cancelled and ended as upstream does", async () => {
  const p2 = vmPod("p2");
  const fake = clusterOf(vmPod("p1"), p2, plainPod("p3"), plainPod("p4"));
  const gone = ["p3", "p4", "p5"];
  const counts = async () => {
    const { inProgress } = await cycle(fake, { order: ["p1", "p2", ...gone] });
    return [inProgress, fake.evictions.filter((name) => gone.includes(name)).length];
  };
  expect(await counts()).toEqual([2, 2]);
  expect(await counts()).toEqual([2, 2]);
  setStatus(fake, "pod-p1", { phase: "Migrating", reason: "Running" });
  expect(await counts()).toEqual([2, 2]);
  fake.pods.delete(vmPod("p1"));
  expect(await counts()).toEqual([1, 2]);
  put(fake, plainPod("p5"));
  expect(await counts()).toEqual([1, 3]);
  setStatus(fake, "pod-p2", { phase: "Withdrawn" });
  expect((await cycle(fake, { order: [] })).inProgress).toBe(0);
  expect(await counts()).toEqual([1, 3]);
  fake.pods.put({ ...p2, phase: "Succeeded" });
  expect((await cycle(fake, { order: [] })).inProgress).toBe(0);
});

describe("a cycle does not request the eviction of", () => {
  test("the target pod of a migration, or a launcher pod of an unknown VMI", async () => {
    const source = vmPod("web");
    const target = vmPod("web", { name: "target", uid: "pod-target", nodeName: "node02" });
    const fake = clusterOf(target, source, vmPod("orphan"));
    fake.vmis.delete({ namespace: "apps", name: "orphan" });
    expect((await cycle(fake, { order: ["target", "orphan"] })).nominations).toEqual([]);
    expect([fake.evictions, fake.evacuations.list()]).toEqual([[], []]);
  });

  // prettier-ignore
  test.each<[string, (fake: FakeCluster) => void]>([
    ["of a drain",                              (fake) => fake.evacuations.put(evacuationOf("vm", { requestedBy: "admin" }))],
    ["of a person that was not reconciled yet", (fake) => fake.evacuations.put({ ...evacuationOf("vm"), spec: without(evacuationOf("vm").spec, "pod") })],
  ])("a VM with an evacuation %s, whose nomination counts as accepted", async (_, begin) => {
    const fake = clusterOf(vmPod("vm"));
    begin(fake);
    const done = await cycle(fake, { order: ["vm"] });
    expect([results(done), done.heard, done.inProgress]).toEqual([["InProgress"], [["vm", "Accepted"]], 1]);
    expect(fake.evictions).toEqual([]);
  });

  test("a VM whose evacuation starts while the cycle runs", async () => {
    const fake = clusterOf(vmPod("vm"), vmPod("other"));
    const before = nth(2, /^list evacuations/, () => fake.evacuations.put(evacuationOf("vm")));
    const limits = { evictionsTotal: 1 };
    const done = await cycle(fake, { order: ["vm", "other"], before, policy: { limits } });
    expect([results(done), done.inProgress]).toEqual([["InProgress", "evictionsTotal"], 1]);
    const requesters = ["lifeboat-descheduling: vms/Scripted"];
    expect(fake.evacuations.list()).toMatchObject([{ status: { requesters } }]);
  });

  test("a VM in the back-off of its last evacuation", async () => {
    const fake = clusterOf(vmPod("vm"));
    const ended = evacuationOf("vm");
    const status = { ...ended.status, phase: "Abandoned", nextAttemptTime: time(60) } as const;
    fake.evacuations.put({ ...ended, status });
    expect(results(await cycle(fake, { order: ["vm"] }))).toEqual(["BackingOff"]);
    fake.now = () => at(61);
    expect(results(await cycle(fake, { order: ["vm"] }))).toEqual(["Background"]);
  });

  test("a VM that has just moved, and requests another VM instead", async () => {
    const fake = clusterOf(vmPod("fresh"), vmPod("old"));
    fake.change({ namespace: "apps", name: "fresh" }, { movedAt: at(-60).getTime() });
    const done = await cycle(fake, { order: ["fresh", "old"], policy: { limits: { evictionsTotal: 1 } } });
    expect(done.heard).toEqual([
      ["fresh", "Skipped"],
      ["old", "Accepted"],
    ]);
    expect(results(done)).toEqual(["MovedRecently", "Background"]);
  });
});

function evacuationOf(name: string, spec: Partial<ReturnType<typeof newborn>["spec"]> = {}) {
  const about = { vmiName: name, cause: "ApiEviction", pod: { uid: `pod-${name}` } } as const;
  return newborn({ name: `${name}-by-another`, uid: `evacuation-${name}`, spec: { ...about, ...spec } });
}

const fails: Before = () => {
  throw new ClusterError(UNREACHABLE);
};

describe("a cycle ends", () => {
  // prettier-ignore
  test.each<[string, Before, string, readonly string[], string]>([
    ["when the read before a VM's request fails",   nth(2, /^list evacuations/, fails),  "vm",     [],             "ClusterUnavailable"],
    ["despite a failed creation of an Evacuation",  failing(/^create evacuations$/),       "vm",     ["Unknown"],    "Finished"],
    ["despite a failed eviction of a pod",          failing(/^create pods\/eviction$/),                  "plain",  ["Unknown"],    "Finished"],
    ["despite a failed Event",                      failing(/^create events$/),                  "vm",     ["Background"], "Finished"],
  ])("%s", async (_, before, name, ...[found, ended]) => {
    const fake = clusterOf(vmPod("vm"), plainPod("plain"));
    const done = await cycle(fake, { order: [name], before });
    expect([results(done), done.ended]).toEqual([found, ended]);
    expect(leaseOf(fake).holder).toBeUndefined();
  });

  test("without further requests when it has stalled", async () => {
    const fake = clusterOf(vmPod("vm"));
    const stall: Before = () => void (fake.now = () => at(201));
    const stalled = await cycle(fake, { order: ["vm"], before: nth(2, /^list evacuations/, stall) });
    expect([stalled.ended, fake.evacuations.list().filter(isActive)]).toEqual(["OutOfTime", []]);
  });
});
