/** The guest of a pod: pods whose end ends no guest may be evicted, a target is never marked for, volumes stay. */
import { describe, expect, test } from "vitest";
import type { EvictionFacts } from "../../../shared/eviction/decide.ts";
import { answerTo, eviction, inShort } from "./evictions.ts";
import { hotplug, marked, owner, PINNED, pod, vmi, without } from "../../support/fixtures.ts";

const TRIGGERED = "Deny EvacuationTriggered: CreateEvacuation, CreateBudget, tell";
const TARGET = "Deny MigrationTarget: CreateBudget";
const VOLUME = "Deny HotplugOfLiveVmi: CreateBudget";
const none = { evictionStrategy: "None" };

type Row = readonly [what: string, tweak: Partial<EvictionFacts>, expected: string];

// prettier-ignore
const launchers: readonly Row[] = [
  ["a launcher that names no domain",            { pod: pod({ annotations: {} }) },                          "Allow NotAVirtualMachine"],
  ["a launcher of another VMI",                  { vmi: vmi({ name: "other" }) },                            "Allow VmiGone"],
  ["a launcher of an earlier VMI of that name",  { vmi: vmi({ uid: "made-anew" }) },                         "Allow VmiGone"],
  ["… known by its label only",                  { pod: pod({ owners: [] }), vmi: vmi({ uid: "made-anew" }) }, "Allow VmiGone"],
  ["the VMI is being deleted",                   { vmi: vmi({ deleting: true }) },                           "Allow VmiDeleting"],
  ["the VMI has succeeded",                      { vmi: vmi({ phase: "Succeeded" }) },                       "Allow VmiFinal"],
  ["a launcher without an owner reference",      { pod: pod({ owners: [] }) },                               TRIGGERED],
  ["… with one of another kind besides",         { pod: pod({ owners: [owner({ kind: "Job", uid: "job" }), owner()] }) }, TRIGGERED],
  ["… and without the label of its VMI",         { pod: pod({ owners: [], labels: { "kubevirt.io": "virt-launcher" } }) }, TRIGGERED],
  ["a launcher that terminates",                 { pod: pod({ deleting: true }) },                           TRIGGERED],
];

const elsewhere = pod({ nodeName: "node02", uid: "target-uid" });
const unlisted = pod({ uid: "forged-uid" });

// prettier-ignore
const targets: readonly Row[] = [
  ["on another node than its VM",               { pod: elsewhere },                                        TARGET],
  ["… though its UID is listed",                { pod: pod({ nodeName: "node02" }) },                      TARGET],
  ["LiveMigrateIfPossible, pinned",             { pod: elsewhere, vmi: vmi({ evictionStrategy: "LiveMigrateIfPossible", ...PINNED }) }, TARGET],
  ["None: asked for no protection",             { pod: elsewhere, vmi: vmi(none) },                        "Allow StrategyNone"],
  ["forged: on the VM's node, not among its pods", { pod: unlisted },                                      TARGET],
  ["received from another cluster, on no node yet", { vmi: without(vmi({ phase: "WaitingForSync" }), "nodeName") }, TARGET],
  ["… its pod is scheduled",                    { vmi: vmi({ phase: "Scheduling", decentralized: "Receives" }) },   TARGET],
  ["… and KubeVirt has marked it",              { vmi: marked({ phase: "Scheduled", decentralized: "Receives" }) }, TARGET],
  ["… LiveMigrateIfPossible, not migratable before the guest is there", { vmi: vmi({ phase: "Scheduled", decentralized: "Receives", evictionStrategy: "LiveMigrateIfPossible", ...PINNED }) }, TARGET],
  ["… and has come",                            { vmi: vmi({ decentralized: "Receives" }) },                        TRIGGERED],
  ["any other VMI that starts",                 { vmi: vmi({ phase: "Scheduled" }) },                      TRIGGERED],
  ["KubeVirt lists no pods: believed",          { pod: unlisted, vmi: vmi({ activePods: {} }) },           TRIGGERED],
];

const given = { pod: hotplug(), launcher: pod() };

// prettier-ignore
const hotplugs: readonly Row[] = [
  ["of a live VM",                          given,                                                   VOLUME],
  ["… strategy None: no budget",            { ...given, vmi: vmi(none) },                            "Deny HotplugOfLiveVmi"],
  ["completed",                             { ...given, pod: hotplug({ phase: "Succeeded" }) },      "Allow PodCompleted"],
  ["its launcher is gone",                  { pod: hotplug() },                                      "Allow VmiGone"],
  ["its launcher has completed",            { ...given, launcher: pod({ phase: "Failed" }) },        "Allow NotAVirtualMachine"],
  ["of a VMI being deleted",                { ...given, vmi: vmi({ deleting: true }) },              "Allow VmiDeleting"],
  ["of a final VMI",                        { ...given, vmi: vmi({ phase: "Succeeded" }) },          "Allow VmiFinal"],
  ["with two owners: not one of KubeVirt's", { pod: hotplug({ owners: [owner(), owner({ uid: "2" })] }) }, "Allow NotAVirtualMachine"],
];

describe.each([
  ["a launcher pod", launchers],
  ["the target of a migration", targets],
  ["a hotplug pod", hotplugs],
] as const)("%s", (_, rows) => {
  test.each(rows)("%s", (__, tweak, expected) => expect(answerTo(tweak)).toBe(expected));
});

test.each([
  ["the pod is gone", "PodGone", without(eviction(), "pod")],
  ["the VMI is gone", "VmiGone", without(eviction(), "vmi")],
])("%s: %s", (_, reason, facts) => expect(inShort(facts)).toBe(`Allow ${reason}`));
