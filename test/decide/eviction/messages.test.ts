/** What callers and Events say, in the callers' own words: the descheduler, kubectl, administrators. */
import { describe, expect, test } from "vitest";
import { causeOfEviction } from "../../../shared/kube/evacuation.ts";
import type { DenyReason, EvictionFacts } from "../../../shared/eviction/decide.ts";
import { decided, NAMED } from "./evictions.ts";
import {
  endedEvacuation,
  evacuation,
  hotplug,
  marked,
  PINNED,
  pod,
  settings,
  time,
  vmi,
  without,
} from "../../support/fixtures.ts";

/** kubernetes-sigs/descheduler: a 429 for a pod that asked for this, with this in it, is an eviction in background. */
const DESCHEDULER_LOOKS_FOR = "Eviction triggered evacuation";

const ifPossible = vmi({ evictionStrategy: "LiveMigrateIfPossible", ...PINNED });
const silent = without(vmi(), "evictionStrategy");
const rested = endedEvacuation("Abandoned", { status: { nextAttemptTime: time(20) } });

// prettier-ignore
const rows: readonly (readonly [reason: DenyReason | "ShutdownByStrategy", Partial<EvictionFacts>, text: string])[] = [
  ["EvacuationTriggered",  {},                                                `Eviction triggered evacuation of ${NAMED}`],
  ["EvacuationInProgress", { vmi: marked(), evacuations: [evacuation()] },    `Evacuation in progress: Eviction triggered evacuation of ${NAMED}`],
  ["NotMigratable",        { vmi: vmi(PINNED) },                              `${NAMED} is configured with eviction strategy LiveMigrate but is not live-migratable: DisksNotLiveMigratable`],
  ["NotMigratable",        { vmi: vmi({ liveMigratable: { migratable: false } }) }, `${NAMED} is configured with eviction strategy LiveMigrate but is not live-migratable: no LiveMigratable condition`],
  ["UnknownStrategy",      { vmi: vmi({ evictionStrategy: "LiveMigrat" }) },  `${NAMED}: spec.evictionStrategy is "LiveMigrat", expected None, LiveMigrate, LiveMigrateIfPossible or External`],
  ["UnknownStrategy",      { vmi: vmi({ evictionStrategy: "x".repeat(999) }) }, `${NAMED}: spec.evictionStrategy is "${"x".repeat(64)}", expected None, LiveMigrate, LiveMigrateIfPossible or External`],
  ["UnknownStrategy",      { vmi: silent, settings: settings({ clusterStrategy: "Move" }) }, `${NAMED}: spec.configuration.evictionStrategy of the KubeVirt CR is "Move", expected None, LiveMigrate, LiveMigrateIfPossible or External`],
  ["MigrationTarget",      { pod: pod({ nodeName: "node02" }) },              `Eviction request for target Pod: ${NAMED} is on node "node01"`],
  ["NotScheduled",         { vmi: without(vmi(), "nodeName") },               `${NAMED} is not on a node yet`],
  ["HotplugOfLiveVmi",     { pod: hotplug(), launcher: pod() },               `cannot evict hotplug pod: hp-volume-7c9qd holds a volume of running ${NAMED}`],
  ["BackingOff",           { evacuations: [rested] },                         `the last evacuation of ${NAMED} was abandoned; Lifeboat starts no new one for 20 s, KubeVirt's own webhook may: stop the drain to keep the VM where it is`],
  ["ShutdownByStrategy",   { vmi: ifPossible },                               `${NAMED} will be shut down: eviction strategy LiveMigrateIfPossible, not live-migratable: DisksNotLiveMigratable`],
];

describe("the caller is told", () => {
  test.each(rows)("%s", (reason, tweak, text) => {
    const decision = decided(tweak);
    expect(decision.reason).toBe(reason);
    expect(decision.verdict === "Deny" ? decision.message : decision.warnings.join()).toBe(text);
  });

  test("the descheduler recognises what moves, and no other refusal", () => {
    const moving = rows.filter(([, , text]) => text.includes(DESCHEDULER_LOOKS_FOR)).map(([reason]) => reason);
    expect(moving).toEqual(["EvacuationTriggered", "EvacuationInProgress"]);
  });
});

// prettier-ignore
test.each<[Readonly<Record<string, string>>, string]>([
  [{ "requested-by": "sigs.k8s.io/descheduler", reason: "LowNodeUtilization" }, "Descheduler"],
  [{},                                                                          "ApiEviction"],
  [{ "requested-by": "someone" },                                               "ApiEviction"],
  [{ "requested-by": "" },                                                      "ApiEviction"],
  [{ reason: "sigs.k8s.io/descheduler" },                                       "ApiEviction"],
])("an Eviction annotated with %j: %s", (annotations, cause) => expect(causeOfEviction(annotations)).toBe(cause));
