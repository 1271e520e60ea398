/** The budget that a refused VM is left with: the next review of the same drain may never arrive. */
import { describe, expect, test } from "vitest";
import { ensureBudget } from "../../../shared/policy/budget/budget.ts";
import type { DenyReason, EvictionFacts } from "../../../shared/policy/eviction/eviction.ts";
import type { VmiFacts } from "../../../shared/policy/facts.ts";
import { decided } from "./evictions.ts";
import {
  endedEvacuation,
  evacuation,
  hotplug,
  marked,
  MOBILITY,
  only,
  pod,
  settings,
  time,
  verbs,
  vmi,
  without,
} from "../fixtures.ts";

const pinned = { liveMigratable: MOBILITY.pinned };
const resting = { evacuations: [endedEvacuation("Abandoned", { status: { nextAttemptTime: time(100) } })] };
const begun = { evacuations: [evacuation()] };
const elsewhere = pod({ nodeName: "node02", uid: "target-uid" });

type Row = readonly [what: string, tweak: Partial<EvictionFacts> & { readonly vmi: VmiFacts }, DenyReason, size: 1 | 2];

// prettier-ignore
const rows: readonly Row[] = [
  // the VM is                                                                                        refused as              minAvailable
  ["LiveMigrate, pinned",                    { vmi: vmi(pinned) },                                    "NotMigratable",        1],
  ["of a strategy that KubeVirt does not know", { vmi: vmi({ evictionStrategy: "Odd" }) },            "UnknownStrategy",      1],
  ["… and pinned",                           { vmi: vmi({ evictionStrategy: "Odd", ...pinned }) },    "UnknownStrategy",      1],
  ["on no node yet",                         { vmi: without(vmi(), "nodeName") },                     "NotScheduled",         1],
  ["in the back-off of an abandoned one",    { vmi: vmi(), ...resting },                              "BackingOff",           1],
  ["… and migrates by its owner",      { vmi: vmi({ isMigrating: true }), ...resting },         "BackingOff",           2],
  ["on another node than the pod",           { vmi: vmi(), pod: elsewhere },                          "MigrationTarget",      2],
  ["the owner of a hotplug pod",             { vmi: vmi(), pod: hotplug(), launcher: pod() },         "HotplugOfLiveVmi",     1],
  ["marked, and migrates",                   { vmi: marked(), ...begun },                             "EvacuationInProgress", 2],
  ["marked, and cannot migrate any more",    { vmi: marked(pinned), ...begun },                       "EvacuationInProgress", 2],
  ["External, pinned, to be marked",         { vmi: vmi({ evictionStrategy: "External", ...pinned }) }, "EvacuationTriggered", 2],
];

describe("a VM that is refused is seen to have its budget first", () => {
  test.each(rows)("%s", (_, tweak, reason, size) => {
    const decision = decided(tweak);
    expect(decision).toMatchObject({ verdict: "Deny", reason });
    expect(decision.actions[0]).toEqual(ensureBudget(tweak.vmi, size));
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
    expect(verbs(decided().actions)).toEqual(["CreateEvacuation", "GrowBudget", "Mark"]);
  });

  // prettier-ignore
  test.each([
    ["budgets are switched off",            { vmi: vmi(pinned), settings: settings({ reconcilers: { budget: "Disabled" } }) }],
    ["KubeVirt's webhook makes them noise", { vmi: vmi(pinned), settings: settings({ evictionsCovered: true }) }],
    ["the strategy asks for no protection", { vmi: vmi({ evictionStrategy: "None" }), pod: hotplug(), launcher: pod() }],
  ])("none where %s", (_, tweak) => expect(decided(tweak)).toMatchObject({ verdict: "Deny", actions: [] }));

  test("none where the eviction is allowed", () => {
    expect(only("EnsureBudget", decided({ vmi: vmi({ evictionStrategy: "None" }) }).actions)).toEqual([]);
  });
});
