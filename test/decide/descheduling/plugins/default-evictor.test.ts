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
  ["without owner, failed",                          { ...bare, phase: "Failed" },                      {},                                false],
  ["without owner, running, unprotected",                 bare,                                              without("FailedBarePods"),         false],
  ["with local storage",                             { localStorage: true },                            {},                                false],
  ["with local storage, unprotected",                { localStorage: true },                            without("PodsWithLocalStorage"),   true],
  ["of a DaemonSet",                                 { owners: [owner({ kind: "DaemonSet" })] },        {},                                false],
  ["of a DaemonSet, unprotected",                    { owners: [owner({ kind: "DaemonSet" })] },        without("DaemonSetPods"),          true],
  ["a mirror pod",                                   { annotations: mirror },                           {},                                false],
  ["terminating",                                    { deleting: true },                                {},                                false],
  ["system critical",                                critical,                                          {},                                false],
  ["system critical, unprotected",                   critical,                                          noCritical,                        true],
  ["above the threshold",                            high,                                              low,                               false],
  ["below the threshold",                            { priority: 799 },                                 low,                               true],
  ["selected by label",                              { labels: { app: "web" } },                        { labelSelector: labelled({ app: "web" }) }, true],
  ["not selected by label",                          {},                                                { labelSelector: labelled({ app: "web" }) }, false],
  ["prefers to stay",                                { annotations: preferStay },                       {},                                true],
  ["prefers to stay, which is obeyed",               { annotations: preferStay },                       mandatory,                         false],
  ["with a claim, protected",                        { claims: ["data"] },                              withExtra("PodsWithPVC"),          false],
  ["with resource claims, protected",                { hasResourceClaims: true },                       withExtra("PodsWithResourceClaims"), false],
];

test.each(rows)("%s", (_, tweak, args, expected) => expect(passes(tweak, args)).toBe(expected));

describe("minReplicas", () => {
  const [a, b] = [owner({ uid: "a" }), owner({ uid: "b" })];
  // prettier-ignore
  test.each([
    [2, "2 replicas",                   [[a], [a]],      true],
    [2, "1 replica",                    [[a]],           false],
    [1, "1 replica: counts from 2 on",  [[a]],           true],
    [2, "replicas of others",           [[a], [b]],      false],
    [2, "two owners: not asked",        [[a, b], [b]],   true],
  ] as const)("%i: %s", (minReplicas, _, owners, expected) => {
    const pods = owners.map((of, i) => pod(`p${i}`, { owners: of }));
    const evictor = defaultEvictor(evictorArguments({ minReplicas }))(evictorWorld({ nodes: [], pods }));
    expect(pods.map((p) => evictor.filter(p))[0]).toBe(expected);
  });
});

test.each([
  [true, false],
  [false, true],
])("nodeFit is %s: a pod that no node takes may go: %s", (nodeFit, expected) => {
  const subject = pod("p", { placement: { ...ANYWHERE, nodeSelector: { datacenter: "west" } } });
  const seen = evictorWorld({ nodes: [node("node2")], pods: [subject] });
  expect(defaultEvictor(evictorArguments({ nodeFit }))(seen).preEvictionFilter(subject)).toBe(expected);
});
