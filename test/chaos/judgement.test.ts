/** The fates of VMs, from the cluster before and after. */
import { expect, test } from "vitest";
import { fatesOf } from "../../infra/chaos/judgement.ts";
import type { VirtualMachineInstance } from "../../infra/sandbox/kubevirt/resources.ts";
import { launcher, vmi, world } from "./objects.ts";

const before = vmi();
const elsewhere = vmi({ status: { nodeName: "node-2" } });

interface After {
  readonly now?: VirtualMachineInstance;
  /** The VMI whose launcher is there. */
  readonly launcher?: VirtualMachineInstance;
  readonly deletedByOwner?: true;
}

// prettier-ignore
const rows: readonly (readonly [string, After, string])[] = [
  ["runs where it was",                              { now: before, launcher: before },                         "stayed"],
  ["runs elsewhere",                                 { now: elsewhere, launcher: elsewhere },                   "moved"],
  ["is said to run, and has no launcher",            { now: before },                                           "lost"],
  ["is said to run, and has its launcher elsewhere", { now: before, launcher: elsewhere },                      "lost"],
  ["has ended",                                      { now: vmi({ status: { phase: "Failed" } }) },             "lost"],
  ["is gone",                                        {},                                                        "lost"],
  ["is gone by its owner's will",                    { deletedByOwner: true },                                  "deleted"],
  ["is going by its owner's will",                   { now: vmi({ status: { phase: "Failed" }, deleting: true }), deletedByOwner: true }, "deleted"],
  ["has ended, and its owner's will was not done",   { now: vmi({ status: { phase: "Failed" } }), deletedByOwner: true }, "lost"],
];
test.each(rows)("one that %s", (_, after, fate) => {
  const deleted = new Set(after.deletedByOwner ? ["run-1/web"] : []);
  const then = world(after.now ? [after.now] : [], after.launcher ? [launcher(after.launcher)] : []);
  expect([...fatesOf(world([before]), then, deleted)]).toEqual([["run-1/web", fate]]);
});

test("a strategy that lets the guest stop", () => {
  const none = vmi({ strategy: "None" });
  expect([...fatesOf(world([none]), world([]), new Set()).values()]).toEqual(["shutDown"]);
});

test("one that was made anew under the same name is another one", () => {
  const anew = { ...before, metadata: { ...before.metadata, uid: "another" } };
  expect([...fatesOf(world([before]), world([anew], [launcher(anew)]), new Set()).values()]).toEqual(["lost"]);
});
