/** A marked VM has its budget: a doubt is looked into, and only what is true twice is said. */
import { expect, test } from "vitest";
import { createProtectionCheck } from "../../infra/chaos/protection.ts";
import type { KubeObject, PodDisruptionBudget } from "../../infra/sandbox/actors/resources.ts";
import type { VirtualMachineInstance } from "../../infra/sandbox/kubevirt/resources.ts";
import { budget, vmi, type VmiTweak } from "./objects.ts";

const MARK = { evacuationNodeName: "node-1" };
const marked = (tweak: VmiTweak = {}) => vmi({ ...tweak, status: { ...tweak.status, ...MARK } });

interface State {
  readonly vmi: VirtualMachineInstance;
  readonly budgets: readonly PodDisruptionBudget[];
}

function cacheOf<T extends KubeObject>(objects: readonly T[]) {
  return { get: () => objects[0], list: () => objects };
}

/** What the caches hold, and what the API server says when it is asked. */
async function breachesOf(seen: State, real: State = seen): Promise<readonly string[]> {
  const breaches: string[] = [];
  const asked = { vmi: () => Promise.resolve(real.vmi), budgets: () => Promise.resolve(real.budgets) };
  const observer = { vmis: cacheOf([seen.vmi]), budgets: cacheOf(seen.budgets) };
  const check = createProtectionCheck({ asked, observer, report: (what) => void breaches.push(what) });
  check.vmiChanged(seen.vmi, undefined);
  await check.settled();
  return breaches;
}

const BREACH = ["run-1/web is marked and has no budget"];

// prettier-ignore
const rows: readonly (readonly [string, VirtualMachineInstance, number, readonly string[]])[] = [
  ["marked, one budget",                       marked(),                                       1, []],
  ["marked, none",                             marked(),                                       0, BREACH],
  ["not marked, none",                         vmi(),                                          0, []],
  ["marked for a node it has left, none",      marked({ status: { nodeName: "node-2" } }),     0, []],
  ["marked and being deleted, none",           marked({ deleting: true }),                     0, []],
  ["marked and ended, none",                   marked({ status: { phase: "Failed" } }),        0, []],
  ["marked and free to stop, none",            marked({ strategy: "None" }),                   0, []],
  ["External and marked, none",                marked({ strategy: "External" }),               0, BREACH],
];
test.each(rows)("%s", async (_, v, budgets, breaches) => {
  expect(await breachesOf({ vmi: v, budgets: budgets === 1 ? [budget(v)] : [] })).toEqual(breaches);
});

test("caches that were behind prove nothing", async () => {
  const v = marked();
  expect(await breachesOf({ vmi: v, budgets: [] }, { vmi: v, budgets: [budget(v)] })).toEqual([]);
  expect(await breachesOf({ vmi: v, budgets: [] }, { vmi: vmi(), budgets: [] })).toEqual([]);
});

test("a budget that is being deleted protects no more", async () => {
  const v = marked();
  const going = budget(v);
  going.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
  expect(await breachesOf({ vmi: v, budgets: [going] })).toEqual(BREACH);
});
