/** RemovePodsViolatingNodeTaints: upstream's cases. */
import { expect, test } from "vitest";
import type { ScheduledPod } from "../../../../shared/kube/scheduled-pod.ts";
import { type Arguments, nodeTaints } from "../../../../shared/descheduling/plugins/node-taints.ts";
import type { Taint } from "../../../../shared/kube/facts.ts";
import { evicted, node, pod, taint, toleration, world } from "../../../support/descheduling/fixtures.ts";

function args(tweak: Partial<Arguments> = {}): Arguments {
  return { includePreferNoSchedule: false, excludedTaints: [], includedTaints: [], ...tweak };
}

const TAINT = taint("testTaint1", { value: "test1" });
const OTHER = taint("testingTaint1", { value: "testing1" });
const SOFT = taint("testTaint1", { value: "test1", effect: "PreferNoSchedule" });
const NO_EXECUTE = taint("t", { effect: "NoExecute" });

const p1 = pod("p1", { tolerations: [toleration("testTaint1", { value: "test1" })] });
const p2 = pod("p2");

// prettier-ignore
const rows: readonly (readonly [string, readonly Taint[], readonly ScheduledPod[], Partial<Arguments>, readonly string[]])[] = [
  // what                                       taints of n1      pods           arguments                                             evicted
  ["does not tolerate it",                      [TAINT],          [p1, p2],      {},                                                   ["p2"]],
  ["one of two taints not tolerated",           [TAINT, OTHER],   [p1],          {},                                                   ["p1"]],
  ["PreferNoSchedule, not asked for",           [SOFT],           [p2],          {},                                                   []],
  ["PreferNoSchedule, asked for",               [SOFT],           [p2],          { includePreferNoSchedule: true },                    ["p2"]],
  ["NoExecute: never",                          [NO_EXECUTE],     [p2],          { includePreferNoSchedule: true },                    []],
  ["excluded by key",                           [TAINT],          [p2],          { excludedTaints: ["excluded", "testTaint1"] },       []],
  ["excluded by key and value",                 [TAINT],          [p2],          { excludedTaints: ["testTaint1=test1"] },             []],
  ["tolerates the included, not the others",    [TAINT, OTHER],   [p1],          { includedTaints: ["testTaint1=test1"] },             []],
  ["included by key and value",                 [TAINT],          [p1, p2],      { includedTaints: ["testTaint1=test1"] },             ["p2"]],
  ["pods that have ended: not since 0.34",      [TAINT],          [pod("a", { phase: "Failed" }), pod("b", { phase: "Succeeded" })], {}, []],
];

test.each(rows)("%s", (...[, taints, pods, tweak, expected]) => {
  expect(evicted(nodeTaints, args(tweak), world({ nodes: [node("n1", { taints })], pods }))).toEqual(expected);
});
