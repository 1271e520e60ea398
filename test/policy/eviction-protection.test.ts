/** The budget that a refused VM is left with: the next review of the same drain may never arrive. */
import { describe, expect, test } from "vitest";
import { ensureBudget } from "../../shared/policy/budget.ts";
import { decideEviction, type DenyReason, type EvictionFacts } from "../../shared/policy/eviction.ts";
import type { VmiFacts } from "../../shared/policy/facts.ts";
import { eviction, hotplug, marked, MOBILITY, only, pod, record, settings, time, vmi, without } from "./fixtures.ts";

const pinned = MOBILITY.pinned;
const ended = record({ outcome: "Abandoned", notBefore: time(100) });
const elsewhere = pod({ nodeName: "node02", uid: "target-uid" });

type Row = readonly [what: string, tweak: Partial<EvictionFacts> & { readonly vmi: VmiFacts }, DenyReason, size: 1 | 2];

// prettier-ignore
const rows: readonly Row[] = [
  // the VM is                                                                                                      refused as              minAvailable
  ["LiveMigrate, pinned",                    { vmi: vmi({ liveMigratable: pinned }) },                              "NotMigratable",        1],
  ["of a strategy that nobody knows",        { vmi: vmi({ evictionStrategy: "Odd" }) },                             "UnknownStrategy",      1],
  ["… and pinned",                           { vmi: vmi({ evictionStrategy: "Odd", liveMigratable: pinned }) },     "UnknownStrategy",      1],
  ["on no node yet",                         { vmi: without(vmi(), "nodeName") },                                   "NotScheduled",         1],
  ["in the back-off of an abandoned one",    { vmi: vmi({ record: ended, recordText: "{}" }) },                     "BackingOff",           2],
  ["on another node than the pod",           { vmi: vmi(), pod: elsewhere },                                        "MigrationTarget",      2],
  ["the owner of a hotplug pod",             { vmi: vmi(), pod: hotplug(), launcher: pod() },                       "HotplugOfLiveVmi",     1],
  ["marked, and migrates",                   { vmi: marked(), budgets: [] },                                        "EvacuationInProgress", 2],
  ["marked, and cannot migrate any more",    { vmi: marked({ liveMigratable: pinned }), budgets: [] },              "EvacuationInProgress", 1],
  ["External, pinned, marked",               { vmi: marked({ evictionStrategy: "External", liveMigratable: pinned }), budgets: [] }, "EvacuationInProgress", 1],
  ["External, pinned, to be marked",         { vmi: vmi({ evictionStrategy: "External", liveMigratable: pinned }) },  "EvacuationTriggered",  1],
];

describe("a VM that is refused is seen to have its budget first", () => {
  test.each(rows)("%s", (_, tweak, reason, size) => {
    const decision = decideEviction(eviction(tweak));
    expect(decision).toMatchObject({ verdict: "Deny", reason });
    expect(decision.verdict === "Deny" && decision.actions[0]).toEqual(ensureBudget(tweak.vmi, size));
  });

  test("the rows are all refusals but the mark of one that can migrate, whose budget grows", () => {
    const reasons = new Set(rows.map(([, , reason]) => reason));
    const all: Record<DenyReason, true> = {
      EvacuationTriggered: true,
      EvacuationInProgress: true,
      NotMigratable: true,
      UnknownStrategy: true,
      MigrationTarget: true,
      NotScheduled: true,
      HotplugOfLiveVmi: true,
      BackingOff: true,
    };
    expect([...reasons].toSorted()).toEqual(Object.keys(all).toSorted());
    const decision = decideEviction(eviction());
    expect(decision.verdict === "Ask" ? [] : decision.actions.map(({ verb }) => verb)).toEqual(["GrowBudget", "Mark"]);
  });

  // prettier-ignore
  test.each([
    ["budgets are switched off",            { vmi: vmi({ liveMigratable: pinned }), settings: settings({ reconcilers: { ...settings().reconcilers, budget: "Disabled" } }) }],
    ["the strategy asks for no protection", { vmi: vmi({ evictionStrategy: "None" }), pod: hotplug(), launcher: pod() }],
  ])("none where %s", (_, tweak) => {
    const decision = decideEviction(eviction(tweak));
    expect(decision).toMatchObject({ verdict: "Deny", actions: [] });
  });

  test("none where the eviction is allowed", () => {
    const decision = decideEviction(eviction({ vmi: vmi({ evictionStrategy: "None" }) }));
    expect(decision.verdict === "Ask" ? ["?"] : only("EnsureBudget", decision.actions)).toEqual([]);
  });
});
