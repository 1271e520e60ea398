/** DefaultEvictor: upstream's cases, protection by protection. */
import { describe, expect, test } from "vitest";
import {
  DEFAULT_PROTECTIONS,
  type EvictorArguments,
  type PodProtection,
  defaultEvictor,
} from "../../../../shared/descheduling/plugins/default-evictor.ts";
import type { ScheduledPod } from "../../../../shared/kube/scheduled-pod.ts";
import { owner } from "../../../support/fixtures.ts";
import {
  ANYWHERE,
  evictorArguments,
  evictorWorld,
  labelled,
  node,
  pod,
} from "../../../support/descheduling/fixtures.ts";

const evict = { "descheduler.alpha.kubernetes.io/evict": "true" };
const preferStay = { "descheduler.alpha.kubernetes.io/prefer-no-eviction": "true" };
const mirror = { "kubernetes.io/config.mirror": "hash" };

function without(...off: readonly PodProtection[]): Partial<EvictorArguments> {
  return { protections: DEFAULT_PROTECTIONS.filter((protection) => !off.includes(protection)) };
}

function withExtra(extra: PodProtection): Partial<EvictorArguments> {
  return { protections: [...DEFAULT_PROTECTIONS, extra] };
}

function passes(tweak: Partial<ScheduledPod>, args: Partial<EvictorArguments>) {
  const subject = pod("p", tweak);
  const world = evictorWorld({ nodes: [node("n1")], pods: [subject] });
  return defaultEvictor(evictorArguments(args))(world).filter(subject);
}

const bare = { owners: [] };
const critical = { priority: 2_000_000_000 };
const high = { priority: 900 };
const low = { priorityThreshold: { value: 800 } };
const noCritical = without("SystemCriticalPods");
const mandatory = { obeysPreference: true };

// prettier-ignore
const rows: readonly (readonly [string, Partial<ScheduledPod>, Partial<EvictorArguments>, boolean])[] = [
  // pod                                             facts                                              arguments                          may go
  ["an ordinary one",                                {},                                                {},                                true],
  ["without owner, running",                         bare,                                              {},                                false],
  ["without owner, failed",                          { ...bare, phase: "Failed" },                      {},                                false],
  ["without owner, running, unprotected",                 bare,                                              without("FailedBarePods"),         false],
  ["without owner, failed, unprotected",                  { ...bare, phase: "Failed" },                      without("FailedBarePods"),         true],
  ["with local storage",                             { localStorage: true },                            {},                                false],
  ["with local storage, unprotected",                { localStorage: true },                            without("PodsWithLocalStorage"),   true],
  ["with local storage, annotated evict",            { localStorage: true, annotations: evict },        {},                                true],
  ["of a DaemonSet",                                 { owners: [owner({ kind: "DaemonSet" })] },        {},                                false],
  ["of a DaemonSet, unprotected",                    { owners: [owner({ kind: "DaemonSet" })] },        without("DaemonSetPods"),          true],
  ["of a DaemonSet, annotated evict",                { owners: [owner({ kind: "DaemonSet" })], annotations: evict }, {},                   true],
  ["a mirror pod",                                   { annotations: mirror },                           {},                                false],
  ["a mirror pod, all protections off",              { annotations: mirror },                           { protections: [] },               false],
  ["a mirror pod, annotated evict",                  { annotations: { ...mirror, ...evict } },          {},                                true],
  ["a static pod",                                   { annotations: { "kubernetes.io/config.source": "file" } }, {},                       false],
  ["a pod from the API",                             { annotations: { "kubernetes.io/config.source": "api" } },  {},                       true],
  ["terminating",                                    { deleting: true },                                {},                                false],
  ["terminating, annotated evict",                   { deleting: true, annotations: evict },            {},                                true],
  ["system critical",                                critical,                                          {},                                false],
  ["nearly system critical",                         { priority: 1_999_999_999 },                       {},                                true],
  ["system critical, unprotected",                   critical,                                          noCritical,                        true],
  ["system critical, annotated evict",               { ...critical, annotations: evict },               {},                                true],
  ["above the threshold",                            high,                                              low,                               false],
  ["at the threshold",                               { priority: 800 },                                 low,                               false],
  ["below the threshold",                            { priority: 799 },                                 low,                               true],
  ["without priority",                               {},                                                low,                               true],
  ["above the threshold, annotated evict",           { ...high, annotations: evict },                   low,                               true],
  ["above the threshold, critical unprotected",      high,                                              { ...noCritical, ...low },         true],
  ["selected by label",                              { labels: { app: "web" } },                        { labelSelector: labelled({ app: "web" }) }, true],
  ["not selected by label",                          {},                                                { labelSelector: labelled({ app: "web" }) }, false],
  ["an empty label selector",                        {},                                                { labelSelector: labelled({}) },             true],
  ["prefers to stay",                                { annotations: preferStay },                       {},                                true],
  ["prefers to stay, which is obeyed",               { annotations: preferStay },                       mandatory,                         false],
  ["prefers to stay, obeyed, but annotated evict",   { annotations: { ...preferStay, ...evict } },      mandatory,                         true],
  ["with a claim",                                   { claims: ["data"] },                              {},                                true],
  ["with a claim, protected",                        { claims: ["data"] },                              withExtra("PodsWithPVC"),          false],
  ["without claims, claims protected",               {},                                                withExtra("PodsWithPVC"),          true],
  ["with resource claims",                           { hasResourceClaims: true },                       {},                                true],
  ["with resource claims, protected",                { hasResourceClaims: true },                       withExtra("PodsWithResourceClaims"), false],
  ["without resource claims, protected",             {},                                                withExtra("PodsWithResourceClaims"), true],
];

test.each(rows)("%s", (_, tweak, args, expected) => expect(passes(tweak, args)).toBe(expected));

describe("minReplicas", () => {
  const [a, b] = [owner({ uid: "a" }), owner({ uid: "b" })];
  // prettier-ignore
  test.each([
    [2, "2 replicas",                   [[a], [a]],      true],
    [3, "2 replicas",                   [[a], [a]],      false],
    [2, "1 replica",                    [[a]],           false],
    [1, "1 replica: counts from 2 on",  [[a]],           true],
    [2, "replicas of others",           [[a], [b]],      false],
    [2, "two owners: not asked",        [[a, b], [b]],   true],
  ] as const)("%i: %s", (minReplicas, _, owners, expected) => {
    const pods = owners.map((of, i) => pod(`p${i}`, { owners: of }));
    const evictor = defaultEvictor(evictorArguments({ minReplicas }))(evictorWorld({ nodes: [], pods }));
    expect(pods.map((p) => evictor.filter(p))[0]).toBe(expected);
  });

  test("pods without owner are not asked", () => {
    expect(passes({ ...bare, phase: "Failed" }, { ...without("FailedBarePods"), minReplicas: 9 })).toBe(true);
  });
});

describe("preEvictionFilter", () => {
  const fit = { nodeFit: true };
  const west = { placement: { ...ANYWHERE, nodeSelector: { datacenter: "west" } } };
  const named = [
    node("node2", { labels: { name: "node2" }, unschedulable: true }),
    node("node3", { labels: { name: "node3" } }),
  ];
  // prettier-ignore
  test.each([
    ["no node as selected",                            west,                           fit,       named,                false],
    ["no node as selected, nodeFit not asked for",     west,                           {},        named,                true],
    ["its own node is no other",                       {},                             fit,       [node("n1")],         false],
    ["nodeFit among all nodes",                        {},                             fit,       named,                true],
  ] as const)("%s", (...[, tweak, args, nodes, expected]) => {
    const subject = pod("p", tweak);
    const evictor = defaultEvictor(evictorArguments(args))(evictorWorld({ nodes, pods: [subject] }));
    expect(evictor.preEvictionFilter(subject)).toBe(expected);
  });

  test("nodeFit is not asked by filter", () => {
    expect(passes({ nodeName: "n1" }, fit)).toBe(true);
  });
});
