/** PodLifeTime: upstream's cases, filter by filter, and the order over the whole cluster. */
import { describe, expect, test } from "vitest";
import type { ScheduledPod } from "../../../../shared/kube/scheduled-pod.ts";
import { podLifeTime } from "../../../../shared/descheduling/plugins/pod-life-time.ts";
import { NOW } from "../../../support/fixtures.ts";
import { evicted, node, nominated, pod, world } from "../../../support/descheduling/fixtures.ts";

const agoSeconds = (seconds: number) => NOW.getTime() - seconds * 1000;
const OLD: Partial<ScheduledPod> = { createdAt: agoSeconds(1_000_000) };
const MAX = { maxPodLifeTimeSeconds: 600 };

function goes(tweak: Partial<ScheduledPod>, given: typeof MAX): boolean {
  return evicted(podLifeTime, given, world({ nodes: [node("n1")], pods: [pod("p", tweak)] })).length === 1;
}

// prettier-ignore
test.each([
  ["new",                           {},                                        false],
  ["601 s old",                     { createdAt: agoSeconds(601) },            true],
  ["600.9 s old: whole seconds",    { createdAt: agoSeconds(600.9) },          false],
  ["old and Succeeded",             { ...OLD, phase: "Succeeded" },            true],
] as const)("at most 600 s: %s", (_, tweak, expected) => expect(goes(tweak, MAX)).toBe(expected));

const aged = (name: string, days: number, nodeName: string) =>
  pod(name, { nodeName, createdAt: agoSeconds(days * 86_400) });

describe("over all nodes", () => {
  const nodes = [node("n2"), node("n1")];
  const pods = [aged("b", 1, "n1"), aged("a", 1, "n2"), aged("c", 3, "n2"), aged("d", 2, "n1"), pod("young")];
  // prettier-ignore
  test.each([
    ["the oldest first",             [],    undefined,                    ["c", "d", "a", "b"]],
    ["those in progress before it",  ["b"], undefined,                    ["b", "c", "d", "a"]],
  ] as const)("%s", (...[, inProgress, judge, expected]) => {
    expect(nominated(podLifeTime, MAX, world({ nodes, pods }, {}, [...inProgress]), judge)).toEqual(expected);
  });
});
