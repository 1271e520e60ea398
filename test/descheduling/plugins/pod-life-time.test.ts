/** PodLifeTime: upstream's cases, filter by filter, and the order over the whole cluster. */
import { describe, expect, test } from "vitest";
import type { PodState, ScheduledPod } from "../../../shared/kube/scheduled-pod.ts";
import { type Arguments, podLifeTime } from "../../../shared/descheduling/plugins/pod-life-time.ts";
import { NOW, owner } from "../../policy/fixtures.ts";
import { drive, evicted, labelled, node, nominated, pod, saying, world } from "../fixtures.ts";

function args(tweak: Partial<Arguments> = {}): Arguments {
  return { states: [], includingInitContainers: false, ...tweak };
}

const agoSeconds = (seconds: number) => NOW.getTime() - seconds * 1000;
const OLD: Partial<ScheduledPod> = { createdAt: agoSeconds(1_000_000) };
const MAX = { maxPodLifeTimeSeconds: 600 };

function goes(tweak: Partial<ScheduledPod>, given: Partial<Arguments>): boolean {
  return evicted(podLifeTime, args(given), world({ nodes: [node("n1")], pods: [pod("p", tweak)] })).length === 1;
}

// prettier-ignore
test.each([
  ["very old",                      OLD,                                       true],
  ["new",                           {},                                        false],
  ["605 s old",                     { createdAt: agoSeconds(605) },            true],
  ["601 s old",                     { createdAt: agoSeconds(601) },            true],
  ["600.9 s old: whole seconds",    { createdAt: agoSeconds(600.9) },          false],
  ["595 s old",                     { createdAt: agoSeconds(595) },            false],
  ["of tomorrow",                   { createdAt: agoSeconds(-86_400) },        false],
  ["old and Succeeded",             { ...OLD, phase: "Succeeded" },            true],
  ["old with a claim",              { ...OLD, claims: ["foo"] },               true],
] as const)("at most 600 s: %s", (_, tweak, expected) => expect(goes(tweak, MAX)).toBe(expected));

const inState = (of: PodState["of"], reason: string): Partial<ScheduledPod> => ({
  phase: "Pending",
  states: [{ of, reason }],
});

// prettier-ignore
test.each([
  ["the phase",                                 { phase: "Pending" },                                       { states: ["Pending"] },                 true],
  ["another phase",                             { phase: "Running" },                                       { states: ["Pending"] },                 false],
  ["one of several",                            { phase: "Unknown" },                                       { states: ["Pending", "Unknown"] },      true],
  ["the pod's own reason",                      { ...inState("Pod", "Shutdown"), phase: "Failed" },         { states: ["Shutdown"] },                true],
  ["what a container waits for",                inState("Container", "ContainerCreating"),                  { states: ["ContainerCreating"] },       true],
  ["what another does not wait for",            inState("Container", "PodInitializing"),                    { states: ["ContainerCreating"] },       false],
  ["what a container ended with",               { ...inState("Container", "NodeAffinity"), phase: "Failed" }, { states: ["NodeAffinity"] },          true],
  ["an init container, not asked for",          inState("InitContainer", "CreateContainerError"),           { states: ["CreateContainerError"] },    false],
  ["an init container, asked for",              inState("InitContainer", "CreateContainerError"),           { states: ["CreateContainerError"], includingInitContainers: true }, true],
] as const satisfies readonly (readonly [string, Partial<ScheduledPod>, Partial<Arguments>, boolean])[])("states: %s", (_, tweak, given, expected) => {
  expect(goes(tweak, given)).toBe(expected);
});

const job = owner({ kind: "Job" });
const replicaSet = owner({ kind: "ReplicaSet" });

// prettier-ignore
test.each([
  ["excluded",                        [job],              { exclude: ["Job"] },  false],
  ["one of two excluded",             [replicaSet, job],  { exclude: ["Job"] },  false],
  ["another is excluded",             [replicaSet],       { exclude: ["Job"] },  true],
  ["included",                        [job],              { include: ["Job"] },  true],
  ["one of two included",             [replicaSet, job],  { include: ["Job"] },  true],
  ["another is included",             [replicaSet],       { include: ["Job"] },  false],
  ["an empty list says nothing",      [replicaSet],       { include: [] },       true],
] as const)("owner kinds: %s", (_, owners, ownerKinds, expected) => {
  expect(goes({ phase: "Failed", owners }, { states: ["Failed"], ownerKinds })).toBe(expected);
});

test("all filters must hold", () => {
  const stale: Partial<ScheduledPod> = { ...OLD, phase: "Failed", labels: { foo: "bar" } };
  const given: Partial<Arguments> = {
    ...MAX,
    states: ["Failed"],
    labelSelector: labelled({ foo: "bar" }),
    ownerKinds: { exclude: ["Job"] },
  };
  const one: readonly Partial<ScheduledPod>[] = [
    { createdAt: NOW.getTime() },
    { phase: "Running" },
    { labels: { foo: "bar1" } },
    { owners: [job] },
  ];
  expect(goes(stale, given)).toBe(true);
  expect(one.filter((tweak) => goes({ ...stale, ...tweak }, given))).toEqual([]);
});

const aged = (name: string, days: number, nodeName: string) =>
  pod(name, { nodeName, createdAt: agoSeconds(days * 86_400) });

describe("over all nodes", () => {
  const nodes = [node("n2"), node("n1")];
  const pods = [aged("b", 1, "n1"), aged("a", 1, "n2"), aged("c", 3, "n2"), aged("d", 2, "n1"), pod("young")];
  // prettier-ignore
  test.each([
    ["the oldest first",             [],    undefined,                    ["c", "d", "a", "b"]],
    ["those in progress before it",  ["b"], undefined,                    ["b", "c", "d", "a"]],
    ["node limit: the next pod",     [],    saying("NodeLimit", "c"),     ["c", "d", "a", "b"]],
  ] as const)("%s", (...[, inProgress, judge, expected]) => {
    expect(nominated(podLifeTime, args(MAX), world({ nodes, pods }, {}, [...inProgress]), judge)).toEqual(expected);
  });

  // prettier-ignore
  test.each([
    [MAX,                     "it is older than 600 s"],
    [{ states: ["Running"] }, undefined],
  ] as const)("%j: the reason is %s", (given, reason) => {
    expect(drive(podLifeTime, args(given), world({ nodes, pods }))[0]?.nomination.reason).toBe(reason);
  });
});
