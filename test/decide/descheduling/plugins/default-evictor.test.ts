/** Tests DefaultEvictor with the test cases of kubernetes-sigs/descheduler, one for each protection. */
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
  // pod                                             facts                                              arguments       
  // evictable
  ["an ordinary pod is evictable",                                {},                                                {},                                true],
  ["a failed pod without owner is protected",                          { ...bare, phase: "Failed" },                      {},                                false],
  ["a failed pod without owner is evictable without FailedBarePods",  { ...bare, phase: "Failed" },                      without("FailedBarePods"),         true],
  ["a pod with the evict annotation is evictable, whatever protects it",   { annotations: { "descheduler.alpha.kubernetes.io/evict": "" }, localStorage: true }, {}, true],
  ["a static pod is protected by its source",                           { annotations: { "kubernetes.io/config.source": "file" } }, {},                       false],
  ["a pod of the API server's source is evictable",                     { annotations: { "kubernetes.io/config.source": "api" } }, {},                        true],
  ["a running pod without owner is protected without FailedBarePods",                 bare,                                              without("FailedBarePods"),         false],
  ["a pod with local storage is protected",                             { localStorage: true },                            {},                                false],
  ["a pod with local storage is evictable without its protection",                { localStorage: true },                            without("PodsWithLocalStorage"),   true],
  ["a DaemonSet's pod is protected",                                 { owners: [owner({ kind: "DaemonSet" })] },        {},                                false],
  ["a DaemonSet's pod is evictable without its protection",                    { owners: [owner({ kind: "DaemonSet" })] },        without("DaemonSetPods"),          true],
  ["a mirror pod is protected",                                   { annotations: mirror },                           {},                                false],
  ["a terminating pod is protected",                                    { deleting: true },                                {},                                false],
  ["a system-critical pod is protected",                                critical,                                          {},                                false],
  ["a system-critical pod is evictable without its protection",                   critical,                                          noCritical,                        true],
  ["a pod above the priority threshold is protected",                            high,                                              low,                               false],
  ["a pod below the priority threshold is evictable",                            { priority: 799 },                                 low,                               true],
  ["a pod with a selected label is evictable",                              { labels: { app: "web" } },                        { labelSelector: labelled({ app: "web" }) }, true],
  ["a pod without a selected label is protected",                          {},                                                { labelSelector: labelled({ app: "web" }) }, false],
  ["a pod that prefers to stay is evictable",                                { annotations: preferStay },                       {},                                true],
  ["a pod that prefers to stay is protected if the preference is obeyed",               { annotations: preferStay },                       mandatory,                         false],
  ["a pod with a PersistentVolumeClaim is protected by PodsWithPVC",                        { claims: ["data"] },                              withExtra("PodsWithPVC"),          false],
  ["a pod with resource claims is protected by PodsWithResourceClaims",                { hasResourceClaims: true },                       withExtra("PodsWithResourceClaims"), false],
];

test.each(rows)("%s", (_, tweak, args, expected) => expect(passes(tweak, args)).toBe(expected));

describe("minReplicas", () => {
  const [a, b] = [owner({ uid: "a" }), owner({ uid: "b" })];
  // prettier-ignore
  test.each([
    [2, "2 replicas",                   [[a], [a]],      true],
    [2, "1 replica",                    [[a]],           false],
    [1, "1 replica, as only values from 2 on apply",  [[a]],           true],
    [2, "a pod of another owner",       [[a], [b]],      false],
    [2, "two owners, so no minimum",    [[a, b], [b]],   true],
    [0, "no minimum",                   [[a]],           true],
  ] as const)("minReplicas %i, %s: evictable or not", (minReplicas, _, owners, expected) => {
    const pods = owners.map((of, i) => pod(`p${i}`, { owners: of }));
    const evictor = defaultEvictor(evictorArguments({ minReplicas }))(evictorWorld({ nodes: [], pods }));
    expect(pods.map((p) => evictor.filter(p))[0]).toBe(expected);
  });
});

test.each([
  [true, false],
  [false, true],
])("if nodeFit is %s, a pod that fits no node is evictable: %s", (nodeFit, expected) => {
  const subject = pod("p", { placement: { ...ANYWHERE, nodeSelector: { datacenter: "west" } } });
  const seen = evictorWorld({ nodes: [node("node2")], pods: [subject] });
  expect(defaultEvictor(evictorArguments({ nodeFit }))(seen).preEvictionFilter(subject)).toBe(expected);
});
