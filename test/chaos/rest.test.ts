/** What is left when it is over: nothing, or it is named. */
import { expect, test } from "vitest";
import { type Cluster, unrestOf } from "../../infra/chaos/rest.ts";
import type { VirtualMachineInstance } from "../../infra/sandbox/kubevirt/resources.ts";
import { budget, launcher, migration, vmi, type VmiTweak } from "./objects.ts";

function clusterOf(v: VirtualMachineInstance, tweak: Partial<Cluster> = {}): Cluster {
  return { vmis: [v], pods: [launcher(v)], migrations: [], budgets: [budget(v)], slots: [], ...tweak };
}

test("a VM with its budget, and nothing else", () => {
  expect(unrestOf(clusterOf(vmi()))).toEqual([]);
});

const record = { id: "e1", node: "node-1" };
const inProgress = { "descheduler.alpha.kubernetes.io/eviction-in-progress": "true" };
const web = vmi();

// prettier-ignore
const rows: readonly (readonly [string, Cluster, readonly string[]])[] = [
  ["a mark",                      clusterOf(vmi({ status: { evacuationNodeName: "node-1" } })), ["run-1/web is marked for node-1"]],
  ["a label",                     clusterOf(vmi({ label: "normal" })),                          ["run-1/web has the label normal"]],
  ["a record of one under way",   clusterOf(vmi({ record })),                                   ["run-1/web has record e1"]],
  ["a record of one that ended",  clusterOf(vmi({ record: { ...record, outcome: "Abandoned" } })), []],
  ["a pod that says so",          clusterOf(web, { pods: [launcher(web, inProgress)] }),        ["pod run-1/virt-launcher-web-abcde says that its eviction is in progress"]],
  ["a pod that said so and has ended", clusterOf(web, { pods: [{ ...launcher(web, inProgress), status: { phase: "Succeeded" } }] }), []],
  ["an unfinished migration",     clusterOf(web, { migrations: [migration("m", "Running")] }),  ["migration run-1/m is Running"]],
  ["a new migration",             clusterOf(web, { migrations: [migration("m")] }),             ["migration run-1/m is new"]],
  ["finished migrations",         clusterOf(web, { migrations: [migration("m", "Failed")] }),   []],
  ["a slot",                      clusterOf(web, { slots: ["lifeboat-web-1"] }),                ["migration lifeboat-web-1 is reserved"]],
  ["a grown budget",              clusterOf(web, { budgets: [budget(web, 2)] }),                ["budgets of run-1/web: minAvailable [2], expected [1]"]],
  ["no budget",                   clusterOf(web, { budgets: [] }),                              ["budgets of run-1/web: minAvailable [], expected [1]"]],
  ["two budgets",                 clusterOf(web, { budgets: [budget(web), budget(web)] }),      ["budgets of run-1/web: minAvailable [1,1], expected [1]"]],
  ["a VM that is being deleted",  clusterOf(vmi({ label: "normal", deleting: true }), { budgets: [] }), []],
  ["a VM that has ended",         clusterOf(vmi({ label: "normal", status: { phase: "Failed" } }), { budgets: [] }), []],
];
test.each(rows)("%s", (_, cluster, unrest) => expect(unrestOf(cluster)).toEqual(unrest));

// prettier-ignore
const budgets: readonly (readonly [VmiTweak, boolean])[] = [
  [{ strategy: "None" },                                false],
  [{ strategy: "LiveMigrate" },                         true],
  [{ strategy: "LiveMigrate", pinned: true },           true],
  [{ strategy: "LiveMigrateIfPossible" },               true],
  [{ strategy: "LiveMigrateIfPossible", pinned: true }, false],
  [{ strategy: "External" },                            true],
];
test.each(budgets)("%j has a budget at rest: %s", (tweak, has) => {
  const v = vmi(tweak);
  expect(unrestOf(clusterOf(v, { budgets: has ? [budget(v)] : [] }))).toEqual([]);
  expect(unrestOf(clusterOf(v, { budgets: has ? [] : [budget(v)] }))).toHaveLength(1);
});
