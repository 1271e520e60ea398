/** What is left when it is over: nothing, or it is named. */
import { expect, test } from "vitest";
import { type Cluster, unrestOf } from "../../infra/chaos/rest.ts";
import type { VirtualMachineInstance } from "../../infra/sandbox/kubevirt/resources.ts";
import { budget, evacuation, launcher, migration, vmi } from "./objects.ts";

function clusterOf(v: VirtualMachineInstance, tweak: Partial<Cluster> = {}): Cluster {
  return { vmis: [v], pods: [launcher(v)], migrations: [], budgets: [budget(v)], evacuations: [], ...tweak };
}

const inProgress = { "descheduler.alpha.kubernetes.io/eviction-in-progress": "true" };
const web = vmi();

// prettier-ignore
const rows: readonly (readonly [string, Cluster, readonly string[]])[] = [
  ["a VM with its budget",        clusterOf(web),                                               []],
  ["a mark",                      clusterOf(vmi({ status: { evacuationNodeName: "node-1" } })), ["run-1/web is marked for node-1"]],
  ["a label",                     clusterOf(vmi({ label: "urgent" })),                          ["run-1/web has the label urgent"]],
  ["a new evacuation",            clusterOf(web, { evacuations: [evacuation()] }),              ["evacuation run-1/web-1 is new: "]],
  ["an evacuation that goes on",  clusterOf(web, { evacuations: [evacuation("Pending")] }),     ["evacuation run-1/web-1 is Pending: in words"]],
  ["evacuations that have ended", clusterOf(web, { evacuations: [evacuation("Abandoned"), evacuation("Moved")] }), []],
  ["a pod that says so",          clusterOf(web, { pods: [launcher(web, inProgress)] }),        ["pod run-1/virt-launcher-web-abcde says that its eviction is in progress"]],
  ["a pod that said so and has ended", clusterOf(web, { pods: [{ ...launcher(web, inProgress), status: { phase: "Succeeded" } }] }), []],
  ["an unfinished migration",     clusterOf(web, { migrations: [migration("m", "Running")] }),  ["migration run-1/m is Running"]],
  ["a new migration",             clusterOf(web, { migrations: [migration("m")] }),             ["migration run-1/m is new"]],
  ["one of a VM that is gone",    clusterOf(web, { migrations: [{ ...migration("m", "Pending", { of: "gone" }), metadata: vmi({ deleting: true }).metadata }] }), []],
  ["one that is deleted",         clusterOf(web, { migrations: [{ ...migration("m", "Pending", { of: "web" }), metadata: vmi({ name: "m", deleting: true }).metadata }] }), ["migration run-1/m is Pending"]],
  ["finished migrations",         clusterOf(web, { migrations: [migration("m", "Failed")] }),   []],
  ["a grown budget, which rests", clusterOf(web, { budgets: [budget(web, 2)] }),                []],
  ["a budget of another size",    clusterOf(web, { budgets: [budget(web, 3)] }),                ["budgets of run-1/web: minAvailable [3], expected 1 or 2"]],
  ["no budget",                   clusterOf(web, { budgets: [] }),                              ["budgets of run-1/web: minAvailable [], expected 1 or 2"]],
  ["two budgets",                 clusterOf(web, { budgets: [budget(web), budget(web)] }),      ["budgets of run-1/web: minAvailable [1,1], expected 1 or 2"]],
  ["none that it needs: None",    clusterOf(vmi({ strategy: "None" }), { budgets: [] }),        []],
  ["none that it needs: pinned",  clusterOf(vmi({ strategy: "LiveMigrateIfPossible", pinned: true }), { budgets: [] }), []],
  ["one that it needs not",       clusterOf(vmi({ strategy: "None" })),                         ["budgets of run-1/web: minAvailable [1], expected none"]],
  ["a VM that is being deleted",  clusterOf(vmi({ label: "urgent", deleting: true }), { budgets: [] }), []],
  ["a VM that has ended",         clusterOf(vmi({ label: "urgent", status: { phase: "Failed" } }), { budgets: [] }), []],
];
test.each(rows)("%s", (_, cluster, unrest) => expect(unrestOf(cluster, true)).toEqual(unrest));

test("where VMs have no budgets, one is left behind", () => {
  expect(unrestOf(clusterOf(web, { budgets: [] }), false)).toEqual([]);
  expect(unrestOf(clusterOf(web), false)).toEqual(["budgets of run-1/web: minAvailable [1], expected none"]);
});
