/** The fates of VMs, from the cluster before and after. */
import { expect, test } from "vitest";
import type { CastMember } from "../../infra/chaos/cast.ts";
import { fatesOf, isLetGo } from "../../infra/chaos/judgement.ts";
import type { VirtualMachineInstance } from "../../infra/sandbox/kubevirt/resources.ts";
import { launcher, vmi, world } from "./objects.ts";

const before = vmi();
const elsewhere = vmi({ status: { nodeName: "node-2" } });

interface After {
  readonly now?: VirtualMachineInstance;
  /** The VMI whose launcher is there. */
  readonly launcher?: VirtualMachineInstance;
  readonly deletedByOwner?: true;
  readonly letGo?: true;
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
  ["has ended by a taint, and was not held",       { now: vmi({ status: { phase: "Succeeded" } }), letGo: true }, "letGo"],
  ["might have been ended by a taint",               { now: before, launcher: before, letGo: true },            "stayed"],
];
test.each(rows)("one that %s", (_, after, fate) => {
  const deleted = new Set(after.deletedByOwner ? ["run-1/web"] : []);
  const letGo = new Set(after.letGo ? ["run-1/web"] : []);
  const then = world(after.now ? [after.now] : [], after.launcher ? [launcher(after.launcher)] : []);
  expect([...fatesOf(world([before]), then, { deleted, letGo })]).toEqual([["run-1/web", fate]]);
});

test("one whose strategy lets it stop, as infra/demo/summary.ts says", () => {
  const none = vmi({ strategy: "None" });
  const excused = { deleted: new Set<string>(), letGo: new Set<string>() };
  expect([...fatesOf(world([none]), world([]), excused).values()]).toEqual(["shutDown"]);
});

type Kind = Pick<CastMember, "place" | "strategy" | "migratable">;

// prettier-ignore
const kinds: readonly (readonly [place: Kind["place"], strategy: Kind["strategy"], migratable: boolean, letGo: boolean])[] = [
  ["Unsettled", "LiveMigrate",           false, true ],
  ["Unsettled", "LiveMigrateIfPossible", false, true ],
  ["Unsettled", "External",              false, false],
  ["Unsettled", "LiveMigrate",           true,  false],
  ["Unsettled", "External",              true,  false],
  ["Drained",   "LiveMigrate",           false, false],
  ["Drained",   "Unknown",               false, false],
];
test.each(kinds)("a taint may end one at %s of strategy %s, migratable %s: %s", (place, strategy, migratable, letGo) =>
  expect(isLetGo({ name: "web", failures: 0, place, strategy, migratable })).toBe(letGo),
);
