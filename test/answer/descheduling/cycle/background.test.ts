/**
 * Tests evictions in background (KEP-1397) of ordinary pods, over several cycles. A cycle finds the evictions of
 * earlier cycles only in the cluster's objects: the pods' annotations and the descheduler's Lease.
 */
import { describe, expect, test } from "vitest";
import { at } from "../../../support/fixtures.ts";
import { IN_PROGRESS, plainPod, REQUEST_ONLY, requestedPod, vmPod } from "../../../support/descheduling/worlds.ts";
import { annotated, clusterOf, cycle, leaseOf, put, results } from "./cycles.ts";

const order = ["a", "b", "c"];
const TTL = 600;

test("a pod counts as in progress from the request on, even without annotation, and is requested again only after the TTL", async () => {
  const fake = clusterOf(requestedPod("a"), requestedPod("b"));
  const policy = { limits: { evictionsTotal: 1 } };
  expect(results(await cycle(fake, { order, policy }))).toEqual(["Background", "evictionsTotal"]);
  fake.now = () => at(TTL);
  const second = await cycle(fake, { order, policy });
  expect([results(second), second.inProgress]).toEqual([["InProgress", "evictionsTotal"], 1]);
  expect(fake.evictions).toEqual(["a"]);
  fake.now = () => at(TTL + 1);
  const third = await cycle(fake, { order, policy });
  expect([results(third), third.inProgress]).toEqual([["Background", "evictionsTotal"], 1]);
  expect(fake.evictions).toEqual(["a", "a"]);
});

test("an annotated pod counts as in progress for one TTL, even if several cycles find the pod", async () => {
  const fake = clusterOf(requestedPod("a", true), plainPod("b"));
  const policy = { limits: { evictionsTotal: 1 } };
  for (const seconds of [0, 300, TTL]) {
    fake.now = () => at(seconds);
    expect(results(await cycle(fake, { order, policy }))).toEqual(["InProgress", "evictionsTotal"]);
  }
  for (const seconds of [TTL + 1, TTL + 301, 9 * TTL]) {
    fake.now = () => at(seconds);
    const done = await cycle(fake, { order: ["c"], policy });
    expect([results(done), done.inProgress]).toEqual([[], 0]);
  }
  expect(results(await cycle(fake, { order: ["b"], policy }))).toEqual(["Evicted"]);
});

test("an eviction that was confirmed and then cancelled is requested again in the next cycle", async () => {
  const fake = clusterOf(requestedPod("a"));
  await cycle(fake, { order });
  annotated(fake, "a", { [REQUEST_ONLY]: "", [IN_PROGRESS]: "" });
  expect(results(await cycle(fake, { order }))).toEqual(["InProgress"]);
  annotated(fake, "a", { [REQUEST_ONLY]: "" });
  expect(results(await cycle(fake, { order }))).toEqual(["Background"]);
});

// prettier-ignore
test.each([
  ["without request-evict-only is a refusal",                                plainPod("a", { annotations: {} }),                    "Eviction triggered", "Refused"],
  ["with only eviction-in-progress is a refusal",                            plainPod("a", { annotations: { [IN_PROGRESS]: "" } }), "Eviction triggered", "Refused"],
  ["with both annotations and a known message is an eviction in background", requestedPod("a"),                                     "Moved soon",         "Background"],
  ["with both annotations and an unknown message is a refusal",              requestedPod("a"),                                     "no",                 "Refused"],
])("a 429 for a pod %s", async (_, pod, message, outcome) => {
  const fake = clusterOf(pod);
  fake.evictionAnswers.set("a", { code: 429, message: `admission webhook "w" denied the request: ${message}` });
  const policy = { messagePrefixes: ["Eviction triggered", "Moved"] };
  const done = await cycle(fake, { order, policy });
  expect([results(done), leaseOf(fake).annotations?.["requested.lifeboat.dev/pod-a"]]).toEqual([
    [outcome],
    outcome === "Background" ? at(0).toISOString() : undefined,
  ]);
});

describe("the descheduler's Lease", () => {
  test("counts the requested evacuations, VMs included, without an additional request", async () => {
    const fake = clusterOf(vmPod("vm"), requestedPod("a"), plainPod("b"));
    const { requests } = await cycle(fake, { order: ["vm", "a", "b"] });
    expect(leaseOf(fake).annotations?.["lifeboat.dev/pod-evacuations"]).toBe("2");
    expect(requests.filter((request) => request.endsWith(" leases"))).toEqual(["create leases", "patch leases"]);
    put(fake, requestedPod("c"));
    await cycle(fake, { order: ["vm", "a", "c"] });
    expect(leaseOf(fake).annotations).toEqual({
      "lifeboat.dev/pod-evacuations": "3",
      "requested.lifeboat.dev/pod-a": at(0).toISOString(),
      "requested.lifeboat.dev/pod-c": at(0).toISOString(),
    });
  });

  test("is read and not written by a dry run", async () => {
    const fake = clusterOf(requestedPod("a"), requestedPod("b"));
    await cycle(fake, { order: ["a"] });
    const before = leaseOf(fake);
    expect(results(await cycle(fake, { order, dryRun: true }))).toEqual(["InProgress", "Background"]);
    expect(leaseOf(fake)).toEqual(before);
  });
});
