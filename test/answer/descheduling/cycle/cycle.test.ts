/**
 * One descheduling cycle after another over a fake cluster: what is requested, what is not, and how a cycle ends. VMs are asked for by
 * an Evacuation, pods that another product evacuates by their eviction.
 */
import { describe, expect, test } from "vitest";
import { type Before, failing, UNREACHABLE } from "../../../support/fake-cluster.ts";
import type { FakeCluster } from "../../../support/fake-cluster.ts";
import { ClusterError } from "../../../../shared/kube/failures.ts";
import { isActive } from "../../../../shared/kube/evacuation.ts";
import { at, newborn, time, without } from "../../../support/fixtures.ts";
import { clusterOf, cycle, leaseOf, leaving, nth, podsOf, put, results, setStatus } from "./cycles.ts";
import {
  askedPod,
  IN_PROGRESS,
  plainPod,
  REQUEST_ONLY,
  REQUESTED,
  vmPod,
} from "../../../support/descheduling/worlds.ts";

function annotate(fake: FakeCluster, name: string, annotations: Readonly<Record<string, string>>): void {
  for (const pod of podsOf(fake).filter((one) => one.name === name)) fake.pods.put({ ...pod, annotations });
}

const FORMS = {
  Evacuation: {
    podOf: vmPod,
    confirm: (fake: FakeCluster, name: string) =>
      setStatus(fake, `pod-${name}`, { phase: "Migrating", reason: "Running" }),
    cancel: (fake: FakeCluster, name: string) => setStatus(fake, `pod-${name}`, { phase: "Withdrawn" }),
  },
  eviction: {
    podOf: askedPod,
    confirm: (fake: FakeCluster, name: string) =>
      annotate(fake, name, { [REQUEST_ONLY]: "", [IN_PROGRESS]: "true", [REQUESTED]: time(0) }),
    cancel: (fake: FakeCluster, name: string) => annotate(fake, name, { [REQUEST_ONLY]: "" }),
  },
} as const;
const BOTH = ["Evacuation", "eviction"] as const;

/** What upstream's cache test goes through, (evacuations in progress, pods evicted) after each step. */
test.each(BOTH)("by %s: requested, confirmed, cancelled and ended, cycle after cycle", async (form) => {
  const { podOf, confirm, cancel } = FORMS[form];
  const p2 = podOf("p2");
  const fake = clusterOf(podOf("p1"), p2, plainPod("p3"), plainPod("p4"));
  const gone = ["p3", "p4", "p5"];
  const counts = async () => {
    const { inProgress } = await cycle(fake, { order: ["p1", "p2", ...gone] });
    return [inProgress, fake.evictions.filter((name) => gone.includes(name)).length];
  };
  expect(await counts()).toEqual([2, 2]);
  expect(await counts()).toEqual([2, 2]);
  confirm(fake, "p2");
  expect(await counts()).toEqual([2, 2]);
  confirm(fake, "p1");
  expect(await counts()).toEqual([2, 2]);
  fake.pods.delete(podOf("p1"));
  expect(await counts()).toEqual([1, 2]);
  put(fake, plainPod("p5"));
  expect(await counts()).toEqual([1, 3]);
  cancel(fake, "p2");
  expect((await cycle(fake, { order: [] })).inProgress).toBe(0);
  expect(await counts()).toEqual([1, 3]);
  fake.pods.put({ ...p2, phase: "Succeeded" });
  expect((await cycle(fake, { order: [] })).inProgress).toBe(0);
});

describe("what is not requested", () => {
  test("the target of a migration, nor a launcher pod whose VMI is not known", async () => {
    const source = vmPod("web");
    const target = vmPod("web", { name: "target", uid: "pod-target", nodeName: "node02" });
    const fake = clusterOf(target, source, vmPod("orphan"));
    fake.vmis.delete({ namespace: "apps", name: "orphan" });
    expect((await cycle(fake, { order: ["target", "orphan"] })).nominations).toEqual([]);
    expect([fake.evictions, fake.evacuations.list()]).toEqual([[], []]);
  });

  // prettier-ignore
  test.each<[string, (fake: FakeCluster) => void]>([
    ["of a drain",                     (fake) => fake.evacuations.put(evacuationOf("vm", { requestedBy: "admin" }))],
    ["of a person, not looked at yet", (fake) => fake.evacuations.put({ ...evacuationOf("vm"), spec: without(evacuationOf("vm").spec, "pod") })],
    ["that only its pod tells of",     (fake) => fake.pods.put(vmPod("vm", { annotations: { [IN_PROGRESS]: "true" } }))],
  ])("a VM with an evacuation %s; its nomination counts as accepted", async (_, begin) => {
    const fake = clusterOf(vmPod("vm"));
    begin(fake);
    const done = await cycle(fake, { order: ["vm"] });
    expect([results(done), done.heard, done.inProgress]).toEqual([["InProgress"], [["vm", "Accepted"]], 1]);
    expect(fake.evictions).toEqual([]);
  });

  test("a VM whose evacuation begins while the cycle runs", async () => {
    const fake = clusterOf(vmPod("vm"), vmPod("other"));
    const before = nth(2, /^list evacuations/, () => fake.evacuations.put(evacuationOf("vm")));
    const limits = { evictionsTotal: 1 };
    const done = await cycle(fake, { order: ["vm", "other"], before, policy: { limits } });
    expect([results(done), done.inProgress]).toEqual([["InProgress", "evictionsTotal"], 1]);
  });

  test("a VM whose last evacuation ended without a move, until its back-off is over", async () => {
    const fake = clusterOf(vmPod("vm"));
    const ended = evacuationOf("vm");
    const status = { ...ended.status, phase: "Abandoned", nextAttemptTime: time(60) } as const;
    fake.evacuations.put({ ...ended, status });
    expect(results(await cycle(fake, { order: ["vm"] }))).toEqual(["BackingOff"]);
    fake.now = () => at(61);
    expect(results(await cycle(fake, { order: ["vm"] }))).toEqual(["Background"]);
  });

  test("a VM that has just moved: another one goes in its place", async () => {
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

describe("limits", () => {
  test("gate off: nothing is in progress, each 429 is a failure, and the whole node is asked for: the storm", async () => {
    const fake = clusterOf(vmPod("a"), vmPod("b"));
    const off = { order: ["a", "b"], inBackground: false, policy: { limits: { evictionsTotal: 1 } } };
    expect(results(await cycle(fake, off))).toEqual(["Refused", "Refused"]);
    expect([fake.evictions.length, leaving(fake)]).toEqual([2, []]);
  });
});

const fails: Before = () => {
  throw new ClusterError(UNREACHABLE);
};

describe("how a cycle ends", () => {
  // prettier-ignore
  test.each<[string, Before, string, readonly string[], string]>([
    ["the look before a VM's request",  nth(2, /^list evacuations/, fails),  "vm",     [],             "ClusterUnavailable"],
    ["the creation of its Evacuation",  failing(/^create evacuations$/),       "vm",     ["Unknown"],    "Finished"],
    ["the time on a pod",               failing(/^patch pods$/),            "asked",  [],             "ClusterUnavailable"],
    ["the eviction of a pod",           failing(/^create pods\/eviction$/),                  "plain",  ["Unknown"],    "Finished"],
    ["an Event",                        failing(/^create events$/),                  "vm",     ["Background"], "Finished"],
  ])("%s fails: %4$s", async (_, before, name, ...[found, ended]) => {
    const fake = clusterOf(vmPod("vm"), askedPod("asked"), plainPod("plain"));
    const done = await cycle(fake, { order: [name], before });
    expect([results(done), done.ended]).toEqual([found, ended]);
    expect(leaseOf(fake).holder).toBeUndefined();
  });

  test("a cycle that has stalled makes no request any more", async () => {
    const fake = clusterOf(vmPod("vm"), askedPod("asked"));
    const stall: Before = () => void (fake.now = () => at(201));
    const stalled = await cycle(fake, { order: ["vm"], before: nth(2, /^list evacuations/, stall) });
    expect([stalled.ended, fake.evacuations.list().filter(isActive)]).toEqual(["OutOfTime", []]);
    const again = await cycle(fake, {
      order: ["asked"],
      seconds: 100,
      before: nth(1, /^patch pods$/, () => void (fake.now = () => at(999))),
    });
    expect([again.ended, fake.evictions, leaving(fake)]).toEqual(["OutOfTime", [], []]);
  });
});
