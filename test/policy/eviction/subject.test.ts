/** Whose pod it is: those whose end ends no guest are let go, a target is never marked for, volumes stay. */
import { describe, expect, test } from "vitest";
import { ensureBudget } from "../../../shared/policy/budget/budget.ts";
import { decideEviction, type EvictionFacts } from "../../../shared/policy/eviction/eviction.ts";
import { launcherOfHotplug } from "../../../shared/policy/kube/pod-kind.ts";
import { answerTo, eviction, NAMED } from "./evictions.ts";
import { hotplug, marked, MOBILITY, NODE, owner, pod, POD_UID, vmi, without } from "../fixtures.ts";

const gone = without(eviction(), "vmi");
const plain = pod({ labels: { app: "web" }, annotations: {}, owners: [] });

// prettier-ignore
const launcherRows: readonly (readonly [what: string, tweak: Partial<EvictionFacts>, expected: string])[] = [
  ["not a launcher",                             { pod: plain },                                             "Allow NotAVirtualMachine"],
  ["another of KubeVirt's pods",                 { pod: pod({ labels: { "kubevirt.io": "virt-handler" } }) }, "Allow NotAVirtualMachine"],
  ["a launcher that names no domain",            { pod: pod({ annotations: {} }) },                          "Allow NotAVirtualMachine"],
  ["a launcher that names an empty domain",      { pod: pod({ annotations: { "kubevirt.io/domain": "" } }) }, "Allow NotAVirtualMachine"],
  ["a launcher that has succeeded",              { pod: pod({ phase: "Succeeded" }) },                       "Allow PodCompleted"],
  ["a launcher that has failed",                 { pod: pod({ phase: "Failed" }) },                          "Allow PodCompleted"],
  ["a launcher of another VMI",                  { vmi: vmi({ name: "other" }) },                            "Allow VmiGone"],
  ["a launcher of an earlier VMI of that name",  { vmi: vmi({ uid: "made-anew" }) },                         "Allow VmiGone"],
  ["… known by its label only",                  { pod: pod({ owners: [] }), vmi: vmi({ uid: "made-anew" }) }, "Allow VmiGone"],
  ["the VMI is being deleted",                   { vmi: vmi({ deleting: true }) },                           "Allow VmiDeleting"],
  ["the VMI has succeeded",                      { vmi: vmi({ phase: "Succeeded" }) },                       "Allow VmiFinal"],
  ["the VMI has failed",                         { vmi: vmi({ phase: "Failed" }) },                          "Allow VmiFinal"],
  ["marked and being deleted",                   { vmi: marked({ deleting: true }) },                        "Allow VmiDeleting"],
  ["marked and final",                           { vmi: marked({ phase: "Failed" }) },                       "Allow VmiFinal"],
  ["deleting, with a strategy that KubeVirt does not know", { vmi: vmi({ deleting: true, evictionStrategy: "Odd" }) }, "Allow VmiDeleting"],
  ["a launcher without an owner reference",      { pod: pod({ owners: [] }) },                               "Deny EvacuationTriggered"],
  ["… and without the label of its VMI",         { pod: pod({ owners: [], labels: { "kubevirt.io": "virt-launcher" } }) }, "Deny EvacuationTriggered"],
  ["a launcher that terminates",                 { pod: pod({ deleting: true }) },                           "Deny EvacuationTriggered"],
  ["a launcher of a paused or unknown VMI",      { vmi: vmi({ phase: "Unknown" }) },                         "Deny EvacuationTriggered"],
];

describe("launcher pod", () => {
  test.each(launcherRows)("%s", (_, tweak, expected) => expect(answerTo(tweak)).toBe(expected));

  test("the pod is gone", () => {
    const decision = decideEviction(without(eviction(), "pod"));
    expect(decision).toMatchObject({ verdict: "Allow", reason: "PodGone" });
  });

  test("the VMI is gone", () => expect(decideEviction(gone)).toMatchObject({ verdict: "Allow", reason: "VmiGone" }));

  test("the VMI is on no node yet: refused, for there is nothing to mark", () => {
    const scheduling = without(vmi({ phase: "Scheduled" }), "nodeName");
    expect(decideEviction(eviction({ vmi: scheduling }))).toMatchObject({
      verdict: "Deny",
      reason: "NotScheduled",
      message: `${NAMED} is not on a node yet`,
      actions: [ensureBudget(scheduling, 1)],
    });
  });

  test.each(launcherRows.filter(([, , expected]) => expected.startsWith("Allow")))(
    "%s: nothing is done",
    (_, tweak) => {
      expect(decideEviction(eviction(tweak))).toMatchObject({ actions: [], story: [], warnings: [] });
    },
  );
});

const elsewhere = { nodeName: "node02", uid: "target-uid" };
const unlisted = { uid: "forged-uid" };

// prettier-ignore
const targetRows: readonly (readonly [what: string, tweak: Partial<EvictionFacts>, expected: string])[] = [
  ["on another node than its VM",               { pod: pod(elsewhere) },                                   "Deny MigrationTarget"],
  ["on no node yet",                            { pod: without(pod({ phase: "Pending" }), "nodeName") },   "Deny MigrationTarget"],
  ["… though its UID is listed",                { pod: pod({ nodeName: "node02" }) },                      "Deny MigrationTarget"],
  ["of a marked VM",                            { pod: pod(elsewhere), vmi: marked() },                    "Deny MigrationTarget"],
  ["on a node that the VM is marked for, which it has left", { pod: pod(elsewhere), vmi: marked({ evacuationNodeName: "node02" }) }, "Deny MigrationTarget"],
  ["LiveMigrate, pinned",                       { pod: pod(elsewhere), vmi: vmi({ liveMigratable: MOBILITY.pinned }) }, "Deny MigrationTarget"],
  ["LiveMigrateIfPossible, pinned",             { pod: pod(elsewhere), vmi: vmi({ evictionStrategy: "LiveMigrateIfPossible", liveMigratable: MOBILITY.pinned }) }, "Deny MigrationTarget"],
  ["External",                                  { pod: pod(elsewhere), vmi: vmi({ evictionStrategy: "External" }) }, "Deny MigrationTarget"],
  ["None: asked for no protection",             { pod: pod(elsewhere), vmi: vmi({ evictionStrategy: "None" }) }, "Allow StrategyNone"],
  ["a strategy that KubeVirt does not know",              { pod: pod(elsewhere), vmi: vmi({ evictionStrategy: "Odd" }) }, "Deny UnknownStrategy"],
  ["forged: on the VM's node, not among its pods", { pod: pod(unlisted) },                                 "Deny MigrationTarget"],
  ["forged, the VM is marked",                  { pod: pod(unlisted), vmi: marked() },                     "Deny MigrationTarget"],
  ["KubeVirt lists no pods: believed",          { pod: pod(unlisted), vmi: vmi({ activePods: {} }) },      "Deny EvacuationTriggered"],
];

describe("target of a migration", () => {
  test.each(targetRows)("%s", (_, tweak, expected) => expect(answerTo(tweak)).toBe(expected));

  test.each(targetRows.filter(([, , expected]) => expected.endsWith("Target")))("%s: never a mark", (_, tweak) => {
    const facts = eviction(tweak);
    expect(decideEviction(facts)).toMatchObject({
      actions: facts.vmi && [ensureBudget(facts.vmi, 2)],
      message: `Eviction request for target Pod: ${NAMED} is on node "${NODE}"`,
    });
  });
});

const launcher = pod();

// prettier-ignore
const hotplugRows: readonly (readonly [what: string, tweak: Partial<EvictionFacts>, expected: string])[] = [
  ["of a live VM",                          { launcher },                                            "Deny HotplugOfLiveVmi"],
  ["… strategy None",                       { launcher, vmi: vmi({ evictionStrategy: "None" }) },    "Deny HotplugOfLiveVmi"],
  ["… a strategy that KubeVirt does not know",        { launcher, vmi: vmi({ evictionStrategy: "Odd" }) },     "Deny HotplugOfLiveVmi"],
  ["… marked",                              { launcher, vmi: marked() },                             "Deny HotplugOfLiveVmi"],
  ["… on no node yet",                      { launcher, vmi: without(vmi(), "nodeName") },           "Deny HotplugOfLiveVmi"],
  ["completed",                             { launcher, pod: hotplug({ phase: "Succeeded" }) },      "Allow PodCompleted"],
  ["its launcher is gone",                  {},                                                      "Allow VmiGone"],
  ["its launcher was made anew",            { launcher: pod({ uid: "made-anew" }) },                 "Allow VmiGone"],
  ["its launcher has completed",            { launcher: pod({ phase: "Failed" }) },                  "Allow NotAVirtualMachine"],
  ["its owner is no launcher",              { launcher: pod({ labels: {} }) },                       "Allow NotAVirtualMachine"],
  ["its launcher names no domain",          { launcher: pod({ annotations: {} }) },                  "Allow NotAVirtualMachine"],
  ["of a VMI made anew",                    { launcher, vmi: vmi({ uid: "made-anew" }) },            "Allow VmiGone"],
  ["of a VMI being deleted",                { launcher, vmi: vmi({ deleting: true }) },              "Allow VmiDeleting"],
  ["of a final VMI",                        { launcher, vmi: vmi({ phase: "Succeeded" }) },          "Allow VmiFinal"],
  ["with two owners: not one of KubeVirt's", { pod: hotplug({ owners: [owner(), owner({ uid: "2" })] }) }, "Allow NotAVirtualMachine"],
  ["without an owner",                      { pod: hotplug({ owners: [] }) },                        "Allow NotAVirtualMachine"],
];

describe("hotplug pod", () => {
  test.each(hotplugRows)("%s", (_, tweak, expected) => expect(answerTo({ pod: hotplug(), ...tweak })).toBe(expected));

  test("its VMI is gone", () => {
    expect(decideEviction({ ...gone, pod: hotplug(), launcher })).toMatchObject({
      verdict: "Allow",
      reason: "VmiGone",
    });
  });

  test("the refusal names pod and VM, and nothing is marked", () => {
    expect(decideEviction(eviction({ pod: hotplug(), launcher }))).toMatchObject({
      message: `cannot evict hotplug pod: hp-volume-7c9qd holds a volume of running ${NAMED}`,
      actions: [ensureBudget(vmi(), 1)],
    });
  });

  test("its launcher is its only owner", () => {
    expect(launcherOfHotplug(hotplug())?.uid).toBe(POD_UID);
    expect(launcherOfHotplug(pod())).toBeUndefined();
  });
});
