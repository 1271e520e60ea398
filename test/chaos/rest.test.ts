/** What is left when it is over: nothing, or it is named. */
import { expect, test } from "vitest";
import { type Cluster, unrestOf } from "../../infra/chaos/rest.ts";
import type { VirtualMachineInstance } from "../../infra/sandbox/kubevirt/resources.ts";
import { grownForLabel } from "../../shared/policy/grown-for.ts";
import { budget, launcher, migration, vmi, type VmiTweak } from "./objects.ts";

const NOW = new Date("2026-01-01T01:00:00Z");

function clusterOf(v: VirtualMachineInstance, tweak: Partial<Cluster> = {}): Cluster {
  return { vmis: [v], pods: [launcher(v)], migrations: [], budgets: [budget(v)], slots: [], ...tweak };
}

test("a VM with its budget, and nothing else", () => {
  expect(unrestOf(clusterOf(vmi()), NOW)).toEqual([]);
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
test.each(rows)("%s", (_, cluster, unrest) => expect(unrestOf(cluster, NOW)).toEqual(unrest));

const ended = { ...record, outcome: "Cancelled" };
const evacuated = vmi({ record: ended });
const unlike = "budgets of run-1/web: minAvailable [2], expected [1]";

/** What a budget says that was grown so many seconds ago, when the VM was as told. */
function grown(secondsAgo: number, seen: { nodeName?: string; evacuationNodeName?: string; recordText?: string } = {}) {
  return grownForLabel({ nodeName: "node-1", ...seen }, new Date(NOW.getTime() - secondsAgo * 1000));
}

interface GrownRow {
  readonly of?: VirtualMachineInstance;
  readonly size?: number;
  readonly label?: string;
  readonly unrest: readonly string[];
}

// prettier-ignore
const grownRows: Readonly<Record<string, GrownRow>> = {
  "for a mark that may still come":         { label: grown(0), unrest: [] },
  "for one after an earlier evacuation":    { of: evacuated, label: grown(0, { recordText: JSON.stringify(ended) }), unrest: [] },
  "by a clock that is a minute fast":       { label: grown(-60), unrest: [] },
  "just in time":                           { label: grown(149), unrest: [] },
  "too long ago":                           { label: grown(150), unrest: [unlike] },
  "when the VM was on another node":        { label: grown(0, { nodeName: "node-2" }), unrest: [unlike] },
  "when the VM had another mark":           { label: grown(0, { evacuationNodeName: "node-1" }), unrest: [unlike] },
  "before the record that is there":        { of: evacuated, label: grown(0), unrest: [unlike] },
  "when a record was there":                { label: grown(0, { recordText: JSON.stringify(ended) }), unrest: [unlike] },
  "for nothing that it names":              { unrest: [unlike] },
  "in words of a stranger":                 { label: "x.y", unrest: [unlike] },
  "for the mark that the VM has":           { of: vmi({ status: { evacuationNodeName: "node-1" } }), label: grown(0), unrest: ["run-1/web is marked for node-1", unlike] },
  "and is small again":                     { size: 1, label: grown(0), unrest: [] },
  "and is small again, long ago":           { size: 1, label: grown(3600), unrest: [] },
  "to a size that is none of ours":         { size: 3, label: grown(0), unrest: ["budgets of run-1/web: minAvailable [3], expected [1]"] },
  "where the strategy lets the VM go":      { of: vmi({ strategy: "None" }), label: grown(0), unrest: ["budgets of run-1/web: minAvailable [2], expected []"] },
};
test.each(Object.entries(grownRows))("a budget grown %s", (_, { of = web, size = 2, label, unrest }) => {
  expect(unrestOf(clusterOf(of, { budgets: [budget(of, size, label)] }), NOW)).toEqual(unrest);
});

test("of two budgets, a mark that may still come excuses neither", () => {
  const budgets = [budget(web, 2, grown(0)), budget(web)];
  expect(unrestOf(clusterOf(web, { budgets }), NOW)).toEqual([
    "budgets of run-1/web: minAvailable [2,1], expected [1]",
  ]);
});

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
  expect(unrestOf(clusterOf(v, { budgets: has ? [budget(v)] : [] }), NOW)).toEqual([]);
  expect(unrestOf(clusterOf(v, { budgets: has ? [] : [budget(v)] }), NOW)).toHaveLength(1);
});
