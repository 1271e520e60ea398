/**
 * Tests evictions of launcher pods, of migration targets and of hotplug pods. The eviction of a migration target never
 * sets the VMI's evacuationNodeName.
 */
import { describe, expect, test } from "vitest";
import type { EvictionFacts } from "../../../shared/eviction/decide.ts";
import { answerTo, eviction, inShort } from "./evictions.ts";
import { hotplug, marked, owner, PINNED, pod, vmi, without } from "../../support/fixtures.ts";

const TRIGGERED = "Deny EvacuationTriggered: CreateEvacuation, CreateBudget, Event";
const TARGET = "Deny MigrationTarget: CreateBudget";
const VOLUME = "Deny HotplugOfLiveVmi: CreateBudget";
const UNLABELLED = { "kubevirt.io": "virt-launcher" };
const none = { evictionStrategy: "None" };

type Row = readonly [what: string, tweak: Partial<EvictionFacts>, expected: string];

// prettier-ignore
const launchers: readonly Row[] = [
  ["that names no domain",                                         { pod: pod({ annotations: {} }) },                          "Allow NotAVirtualMachine"],
  ["of another VMI",                                               { vmi: vmi({ name: "other" }) },                            "Allow VmiGone"],
  ["of a recreated VMI of the same name",                          { vmi: vmi({ uid: "made-anew" }) },                         "Allow VmiGone"],
  ["of a recreated VMI, known by its label only",                  { pod: pod({ owners: [] }), vmi: vmi({ uid: "made-anew" }) }, "Allow VmiGone"],
  ["of a recreated VMI, known by its owner only",                  { pod: pod({ labels: UNLABELLED }), vmi: vmi({ uid: "made-anew" }) }, "Allow VmiGone"],
  ["of a VMI that is being deleted",                               { vmi: vmi({ deleting: true }) },                           "Allow VmiDeleting"],
  ["of a VMI that has succeeded",                                  { vmi: vmi({ phase: "Succeeded" }) },                       "Allow VmiFinal"],
  ["without an owner reference",                                   { pod: pod({ owners: [] }) },                               TRIGGERED],
  ["with an owner reference of another kind, too",                 { pod: pod({ owners: [owner({ kind: "Job", uid: "job" }), owner()] }) }, TRIGGERED],
  ["without an owner reference and without the label of its VMI",  { pod: pod({ owners: [], labels: UNLABELLED }) }, TRIGGERED],
  ["that terminates",                                              { pod: pod({ deleting: true }) },                           TRIGGERED],
];

const elsewhere = pod({ nodeName: "node02", uid: "target-uid" });
const unlisted = pod({ uid: "forged-uid" });

// prettier-ignore
const targets: readonly Row[] = [
  ["on another node than its VM",               { pod: elsewhere },                                        TARGET],
  ["on another node than its VM, with a listed UID",                { pod: pod({ nodeName: "node02" }) },                      TARGET],
  ["of a pinned VM with LiveMigrateIfPossible",             { pod: elsewhere, vmi: vmi({ evictionStrategy: "LiveMigrateIfPossible", ...PINNED }) }, TARGET],
  ["of a VM with strategy None",             { pod: elsewhere, vmi: vmi(none) },                        "Allow StrategyNone"],
  ["forged: on the VM's node, not among its pods", { pod: unlisted },                                      TARGET],
  ["of a VM received from another cluster, on no node yet", { vmi: without(vmi({ phase: "WaitingForSync" }), "nodeName") }, TARGET],
  ["of a received VM, with a scheduled pod",                    { vmi: vmi({ phase: "Scheduling", decentralized: "Receives" }) },   TARGET],
  ["of a received VM whose pod is pending",                  { vmi: vmi({ phase: "Pending", decentralized: "Receives" }) },      TARGET],
  ["of a received VM without a phase yet",                   { vmi: vmi({ phase: "", decentralized: "Receives" }) },             TARGET],
  ["of a received VM that KubeVirt has marked",              { vmi: marked({ phase: "Scheduled", decentralized: "Receives" }) }, TARGET],
  ["of a received VM with LiveMigrateIfPossible, pinned until the guest arrives", { vmi: vmi({ phase: "Scheduled", decentralized: "Receives", evictionStrategy: "LiveMigrateIfPossible", ...PINNED }) }, TARGET],
  ["of a received VM whose guest has arrived",                            { vmi: vmi({ decentralized: "Receives" }) },                        TRIGGERED],
  ["of a VM that starts",                 { vmi: vmi({ phase: "Scheduled" }) },                      TRIGGERED],
  ["of a VM whose pods KubeVirt does not list",          { pod: unlisted, vmi: vmi({ activePods: {} }) },           TRIGGERED],
];

const given = { pod: hotplug(), launcher: pod() };

// prettier-ignore
const hotplugs: readonly Row[] = [
  ["of a running VM",                          given,                                                   VOLUME],
  ["of a running VM with strategy None",            { ...given, vmi: vmi(none) },                            "Deny HotplugOfLiveVmi"],
  ["of a running pinned VM, which needs no budget",            { ...given, vmi: vmi({ evictionStrategy: "LiveMigrateIfPossible", ...PINNED }) }, "Deny HotplugOfLiveVmi"],
  ["that has completed",                             { ...given, pod: hotplug({ phase: "Succeeded" }) },      "Allow PodCompleted"],
  ["whose launcher pod is gone",                  { pod: hotplug() },                                      "Allow VmiGone"],
  ["whose launcher pod has completed",            { ...given, launcher: pod({ phase: "Failed" }) },        "Allow NotAVirtualMachine"],
  ["of a VMI that is being deleted",                { ...given, vmi: vmi({ deleting: true }) },              "Allow VmiDeleting"],
  ["of a final VMI",                        { ...given, vmi: vmi({ phase: "Succeeded" }) },          "Allow VmiFinal"],
  ["with two owners, which is not KubeVirt's", { pod: hotplug({ owners: [owner(), owner({ uid: "2" })] }) }, "Allow NotAVirtualMachine"],
];

describe.each([
  ["a launcher pod", launchers],
  ["the target pod of a migration", targets],
  ["a hotplug pod", hotplugs],
] as const)("an eviction of %s", (_, rows) => {
  test.each(rows)("%s: $2", (__, tweak, expected) => expect(answerTo(tweak)).toBe(expected));
});

test.each([
  ["a missing pod", "PodGone", without(eviction(), "pod")],
  ["a missing VMI", "VmiGone", without(eviction(), "vmi")],
  ["a missing and unknown VMI", "VmiGone", without(eviction({ pod: pod({ owners: [], labels: UNLABELLED }) }), "vmi")],
])("an eviction of %s is allowed with the reason %s", (_, reason, facts) =>
  expect(inShort(facts)).toBe(`Allow ${reason}`),
);
