/** Tests the verdict of a drain and the outcome of each pod in typical situations. */
import { describe, expect, test } from "vitest";
import type { PreflightFacts, PreflightPod } from "../../../shared/preflight/facts.ts";
import { isInTheWay, preflight } from "../../../shared/preflight/verdict.ts";
import { endedEvacuation, migration, NODE, owner, PINNED, POD_UID, time, NOW } from "../../support/fixtures.ts";
import { facts, foreignBudget, GIB, launcher, node, plainPod, vmiOf } from "../../support/preflight/fixtures.ts";

const plain = (tweak: Parameters<typeof plainPod>[1], more: Partial<PreflightFacts> = {}) =>
  facts({ pods: [plainPod("app", tweak)], vmis: [], ...more });
const vm = (tweak: Parameters<typeof vmiOf>[1], more: Partial<PreflightFacts> = {}) =>
  facts({ vmis: [vmiOf("web", tweak)], ...more });

const IF_POSSIBLE = { evictionStrategy: "LiveMigrateIfPossible" };
const FULL = { otherNodes: [node("node02", { allocatable: { memory: GIB } })] };
const MARKED = { evacuationNodeName: NODE };
const BLOCKED_BY = { type: "migrationBlockedByBackup", message: "backup b1 runs" };
const OF_OTHERS = { migrations: [migration({ vmiName: "db" }), migration({ namespace: "other" })] };
const unhealthy = { ready: false };
const met = { currentHealthy: 2, desiredHealthy: 2 };

// prettier-ignore
test.each<[string, PreflightFacts, verdict: string, outcome: string, reason: string]>([
  ["a VM that can migrate",                          vm({}),                                                    "WillSucceed",              "Moves",     "EvacuationTriggered"],
  ["a VM that can migrate, without room elsewhere",                                 vm({}, FULL),                                              "NoRoom",                   "Moves",     "EvacuationTriggered"],
  ["a VM that can migrate, with unread facts",                         vm({}, { unread: ["migrations"] }),                        "Unknown",                  "Moves",     "EvacuationTriggered"],
  ["a VM without room elsewhere, which outweighs unread facts",  vm({}, { ...FULL, unread: ["migrations"] }),               "NoRoom",                   "Moves",     "EvacuationTriggered"],
  ["a VM with requests that are not judged",                  vm({}, { pods: [launcher("web", { unchecked: ["hostPort"] })] }), "Unknown",             "Moves",     "EvacuationTriggered"],
  ["a pinned VM",                                    vm(PINNED),                                                "WillBlock",                "Blocked",   "NotMigratable"],
  ["a pinned VM, which outweighs unread facts", vm(PINNED, { unread: ["migrations"] }),                   "WillBlock",                "Blocked",   "NotMigratable"],
  ["a pinned VM that is marked",                     vm({ ...PINNED, ...MARKED }),                              "WillBlock",                "Blocked",   "NotMigratable"],
  ["a pinned VM whose migration is in progress",               vm({ ...PINNED, ...MARKED }, { migrations: [migration()] }), "WillSucceed",            "Moves",     "EvacuationInProgress"],
  ["a pinned VM with LiveMigrateIfPossible",                       vm({ ...PINNED, ...IF_POSSIBLE }),                         "WillSucceedWithShutdowns", "ShutsDown", "ShutdownByStrategy"],
  ["a VM with strategy None",                                  vm({ evictionStrategy: "None" }),                          "WillSucceedWithShutdowns", "ShutsDown", "StrategyNone"],
  ["a VM with strategy External",                              vm({ evictionStrategy: "External" }),                      "WillBlock",                "Blocked",   "External"],
  ["a VM with an unknown strategy",         vm({ evictionStrategy: "Sometimes" }),                     "WillBlock",                "Blocked",   "UnknownStrategy"],
  ["a VM whose migration waits for a backup",    vm(MARKED, { migrations: [migration({ phase: "Pending", blockedBy: BLOCKED_BY })] }), "WillSucceed", "Waits", "MigrationBlocked"],
  ["an unmarked VM during a backup",        vm({ backup: "b1" }),                                      "WillSucceed",              "Waits",     "MigrationBlocked"],
  ["a migrating VM during a backup",                    vm({ ...MARKED, backup: "b1" }, { migrations: [migration({ targetPod: "t" })] }), "WillSucceed", "Moves", "EvacuationInProgress"],
  ["a VM that migrates to the node",                               vm({ nodeName: "node02", isMigrating: true }),             "WillSucceed",              "Waits",     "MigrationTarget"],
  ["an External VM that migrates to the node",             vm({ nodeName: "node02", isMigrating: true, evictionStrategy: "External" }), "WillBlock",                "Blocked",   "External"],
  ["a pinned VM that migrates to the node",                          vm({ nodeName: "node02", isMigrating: true, ...PINNED }),  "WillBlock",                "Blocked",   "NotMigratable"],
  ["a pinned VM with LiveMigrateIfPossible that migrates to the node",                       vm({ nodeName: "node02", isMigrating: true, ...PINNED, ...IF_POSSIBLE }), "WillSucceedWithShutdowns", "ShutsDown", "ShutdownByStrategy"],
  ["a launcher pod whose VMI is gone",                                facts({ vmis: [] }),                                       "WillBlock",                "Blocked",   "Orphaned"],
  ["a launcher pod being deleted whose VMI is gone",                          facts({ vmis: [], pods: [launcher("web", { deleting: true })] }), "WillSucceed",        "Ended",     "VmiGone"],
  ["an ended launcher pod whose VMI is gone",                                 facts({ vmis: [], pods: [launcher("web", { phase: "Failed" })] }), "WillSucceed",       "Ended",     "PodCompleted"],
  ["a launcher pod whose VMI was recreated",                            vm({ uid: "newer" }),                                      "WillBlock",                "Blocked",   "Orphaned"],
  ["a launcher pod whose VMI was recreated with strategy None",                              vm({ uid: "newer", evictionStrategy: "None" }),            "WillSucceed",              "Ended",     "VmiGone"],
  ["a VM that has the same name as a VM of another namespace", facts({ vmis: [vmiOf("web", { namespace: "other", uid: "vmi-other", evictionStrategy: "None" }), vmiOf("web")] }), "WillSucceed", "Moves", "EvacuationTriggered"],
  ["a pinned VM that is marked while other VMs migrate", vm({ ...PINNED, ...MARKED }, OF_OTHERS), "WillBlock", "Blocked", "NotMigratable"],
  ["a pinned VM with LiveMigrateIfPossible that is marked while other VMs migrate", vm({ ...PINNED, ...IF_POSSIBLE, ...MARKED }, OF_OTHERS), "WillSucceedWithShutdowns", "ShutsDown", "ShutdownByStrategy"],
  ["a pinned VM with LiveMigrateIfPossible that is migrating", vm({ ...PINNED, ...IF_POSSIBLE, isMigrating: true }, { migrations: [migration()] }), "WillSucceed", "Waits", "Migrating"],
  ["a launcher pod whose VMI is gone while other VMs migrate", facts({ vmis: [], ...OF_OTHERS }), "WillBlock", "Blocked", "Orphaned"],
  ["a VM that is being deleted", vm({ deleting: true }), "WillSucceed", "Ended", "VmiDeleting"],
  ["a VM that has finished", vm({ phase: "Succeeded" }), "WillSucceed", "Ended", "VmiFinal"],
  // Upstream: kubernetes/kubernetes staging/src/k8s.io/kubectl/pkg/drain/filters.go,
  // pkg/registry/core/pod/storage/eviction.go
  ["a pod of a ReplicaSet",                                plain({}),                                                 "WillSucceed",              "Evicted",   "NotAVirtualMachine"],
  ["a pod of a DaemonSet",                               plain({ owners: [owner({ kind: "DaemonSet" })] }),         "WillSucceed",              "Stays",     "DaemonSet"],
  ["a mirror pod of the kubelet",                               plain({ annotations: { "kubernetes.io/config.mirror": "x" } }), "WillSucceed",         "Stays",     "MirrorPod"],
  ["a pod without a controller",                             plain({ owners: [] }),                                     "WillBlock",                "Blocked",   "Unmanaged"],
  ["a pod with an emptyDir",                             plain({ localStorage: true }),                             "WillBlock",                "Blocked",   "LocalStorage"],
  ["a pod with an emptyDir and the flag --delete-emptydir-data",               plain({ localStorage: true }, { flags: { force: false, deleteEmptyDirData: true } }), "WillSucceed", "Evicted", "NotAVirtualMachine"],
  ["a pod behind an exhausted budget",               plain({}, { budgets: [foreignBudget("b", "app")] }),       "WillBlock",                "Blocked",   "BudgetExhausted"],
  ["a pod behind a budget whose status is out of date",     plain({}, { budgets: [foreignBudget("b", "app", { generation: 2, status: { disruptionsAllowed: 1 } })] }), "WillBlock", "Blocked", "BudgetExhausted"],
  ["an unready pod while enough others are ready",                        plain(unhealthy, { budgets: [foreignBudget("b", "app", { status: met })] }), "WillSucceed", "Evicted", "NotAVirtualMachine"],
  ["an unready pod while too few others are ready",                    plain(unhealthy, { budgets: [foreignBudget("b", "app", { status: { ...met, currentHealthy: 1 } })] }), "WillBlock", "Blocked", "BudgetExhausted"],
  ["an unready pod behind a budget with AlwaysAllow",                       plain(unhealthy, { budgets: [foreignBudget("b", "app", { unhealthyPodEvictionPolicy: "AlwaysAllow", status: { ...met, currentHealthy: 1 } })] }), "WillSucceed", "Evicted", "NotAVirtualMachine"],
  ["a pod whose budget is of another namespace",                plain({}, { budgets: [foreignBudget("b", "app", { namespace: "other" })] }), "WillSucceed", "Evicted", "NotAVirtualMachine"],
  ["an unready pod behind a budget with desiredHealthy 0", plain(unhealthy, { budgets: [foreignBudget("b", "app", { status: { currentHealthy: 0, desiredHealthy: 0 } })] }), "WillBlock", "Blocked", "BudgetExhausted"],
  ["a pod being deleted behind a budget",               plain({ deleting: true }, { budgets: [foreignBudget("b", "app")] }), "WillSucceed",   "Evicted",   "NotAVirtualMachine"],
  ["a failed pod behind two budgets",                   plain({ phase: "Failed" }, { budgets: ["a", "b"].map((name) => foreignBudget(name, "app")) }), "WillSucceed", "Ended", "PodCompleted"],
  ["an unready pod behind two budgets with AlwaysAllow", plain(unhealthy, { budgets: ["a", "b"].map((name) => foreignBudget(name, "app", { unhealthyPodEvictionPolicy: "AlwaysAllow" })) }), "WillBlock", "Blocked", "SeveralBudgets"],
  ["a pending pod behind a budget",                                      plain({ phase: "Pending" }, { budgets: [foreignBudget("b", "app")] }), "WillSucceed",  "Evicted",   "NotAVirtualMachine"],
  ["a pod behind two budgets",                           plain({}, { budgets: ["a", "b"].map((name) => foreignBudget(name, "app", { status: { disruptionsAllowed: 1 } })) }), "WillBlock", "Blocked", "SeveralBudgets"],
])("the verdict of a drain with %s: $2", (...[, f, verdict, outcome, reason]) => {
  const answer = preflight(f);
  expect(answer).toMatchObject({ verdict, pods: [{ outcome, reason }] });
  const [pod] = answer.pods;
  expect(pod?.outcome === "Blocked").toBe(answer.verdict === "WillBlock");
  if (pod?.outcome === "Blocked") expect(pod.remedy).toMatch(/^(the VM's owner|the VM's external controller|the owner|the person)/);
});

// prettier-ignore
test.each<[string, PreflightFacts, summary: string, counts: object, isNamed: boolean]>([
  ["moves",                         vm({}),                           "will succeed: 1 VM moves, and no guest is shut down",   { Moves: 1 },      false],
  ["waits for a backup",            vm({ backup: "b1" }),             "will succeed: 1 VM moves, and no guest is shut down",   { Waits: 1 },      false],
  ["is shut down",                  vm({ evictionStrategy: "None" }), "will succeed: 0 VMs move, and 1 guest is shut down",    { ShutsDown: 1 },  true],
  ["blocks the drain",              vm(PINNED),                       "will block: 1 pod cannot be evicted",                   { Blocked: 1 },    true],
  ["has no room elsewhere",         vm({}, FULL),                     "will block: no other node has room for 1 of its VMs",   { Moves: 1 },      true],
  ["moves, while a fact is unread", vm({}, { unread: ["x"] }),       "may succeed: no known fact blocks it, but Lifeboat could not check every fact", { Moves: 1 }, false],
])("the summary and the counts of a drain whose VM %s", (...[, f, summary, counts, isNamed]) => {
  const found = preflight(f);
  expect(found).toMatchObject({ summary: `draining node01 ${summary}`, counts });
  expect(found.pods.some(isInTheWay)).toBe(isNamed);
});

test("a VM whose last evacuation was abandoned waits until the back-off is over", () => {
  const about = { virtualMachineInstanceUID: "vmi-web", podUID: POD_UID, nextAttemptTime: time(60) };
  const abandoned = endedEvacuation("Abandoned", { status: about });
  const pods = [launcher("web", { uid: POD_UID })];
  const vmis = [vmiOf("web", { activePods: { [POD_UID]: NODE } })];
  const { pods: said } = preflight(facts({ pods, vmis, evacuations: [abandoned] }));
  expect(said).toMatchObject([{ outcome: "Waits", reason: "BackingOff", room: { fits: true } }]);
});

describe("a volume that node02 cannot reach", () => {
  const zone = { key: "zone", operator: "In", values: ["1"] };
  const volumes = [{ namespace: "apps", claim: "disk", reachedFrom: [{ matchExpressions: [zone], matchFields: [] }] }];
  const web = launcher("web");
  const holder = plainPod("hp-volume-disk", {
    labels: { "kubevirt.io": "hotplug-disk" },
    owners: [owner({ kind: "Pod", name: web.name, uid: web.uid })],
    claims: ["disk"],
  });
  const message = "no other node has room for it: Volumes";

  // prettier-ignore
  test.each<[string, PreflightFacts["pods"], expected: object]>([
    ["keeps a VM if it is plugged into the VM",                     [web, holder],                                                { fits: false, message }],
    ["does not keep a VM if it is plugged into another VM",         [web, { ...holder, owners: [owner({ kind: "Pod", uid: "x" })] }], { fits: true }],
  ])("%s", (_, pods, expected) => {
    expect(preflight(facts({ pods, volumes })).pods[0]?.room).toMatchObject(expected);
  });
});

test("a volume of another namespace's claim keeps no VM on its node", () => {
  const volumes = [{ namespace: "other", claim: "disk", reachedFrom: [] }];
  const pods = [launcher("web", { claims: ["disk"] })];
  expect(preflight(facts({ pods, volumes })).pods[0]?.room).toMatchObject({ fits: true });
});

test("the message of a pod names the lack of another node", () => {
  const room = { fits: false, message: "there is no other node" };
  expect(preflight(facts({ otherNodes: [] })).pods[0]?.room).toMatchObject(room);
});

test("a workload update in progress is named on the node that the VM leaves and on its target node", () => {
  const update = migration({ name: "update-x7", automatic: true, targetNode: NODE });
  const leaving = preflight(vm(MARKED, { migrations: [update] })).pods[0];
  expect(leaving?.message).toBe("its migration update-x7 (cause WorkloadUpdate) is in progress");
  const elsewhere = { nodeName: "node02", activePods: { "pod-web": NODE, other: "node02" }, isMigrating: true };
  const coming = preflight(vm(elsewhere, { migrations: [update] })).pods[0];
  expect([coming?.outcome, coming?.message]).toEqual([
    "Waits",
    expect.stringMatching(/; migration update-x7 \(cause WorkloadUpdate\) brings the VM here$/),
  ]);
});

test("the condition that a VM waits for is named before a migration exists", () => {
  const [backedUp, collecting] = [vm({ backup: "b1" }), vm({ hasUtilityVolumes: true })].map(
    (f) => preflight(f).pods[0],
  );
  expect(backedUp?.message).toBe("the VM cannot migrate before its backup b1 has ended");
  expect(collecting?.message).toContain("utility volumes");
});

const deleted = (secondsAgo: number, tweak: Partial<PreflightPod> = {}) =>
  plainPod("app", { deleting: true, goneBy: NOW.getTime() - secondsAgo * 1000, ...tweak });
const kept = { finalizers: ["example.com/backup", "example.com/dns"] };
const dead = { node: node(NODE, { ready: false }) };

describe("a pod that is being deleted", () => {
  // prettier-ignore
  test.each<[string, Partial<PreflightFacts>, verdict: string, reason: string]>([
    ["has had less than a minute beyond its grace period", { pods: [deleted(59, kept)] },                                             "WillSucceed",  "NotAVirtualMachine"],
    ["is kept by finalizers",                              { pods: [deleted(60, kept)] },                                             "WillBlock",    "Finalizers"],
    ["is a VM's pod kept by finalizers",                   { pods: [launcher("web", { deleting: true, goneBy: 0, ...kept })] },       "WillBlock",    "Finalizers"],
    ["is a DaemonSet's pod kept by finalizers",            { pods: [deleted(60, { ...kept, owners: [owner({ kind: "DaemonSet" })] })] }, "WillSucceed", "DaemonSet"],
    ["is on a node whose kubelet is not ready",            { pods: [deleted(86_400)], ...dead },                                      "WillBlock",    "DeadKubelet"],
    ["stays for an unknown reason",                        { pods: [deleted(86_400)] },                                               "Unknown", "NotAVirtualMachine"],
  ])("%s: $2", (_, tweak, verdict, reason) => {
    const vmis = [vmiOf("web")];
    expect(preflight(facts({ vmis, ...tweak }))).toMatchObject({ verdict, pods: [{ reason }] });
  });

  test("has a message that names its finalizers and who can remove them", () => {
    const { pods } = preflight(facts({ pods: [deleted(86_400, kept)], vmis: [] }));
    expect(pods[0]).toMatchObject({
      message: "Terminating, and its grace period ended 24h ago: finalizers example.com/backup, example.com/dns",
      remedy: expect.stringMatching(/^the owner of the finalizers/),
    });
    expect(preflight(facts({ pods: [deleted(86_400)], vmis: [] })).unknown).toEqual([
      "when pod apps/app leaves: Terminating, and its grace period ended 24h ago",
    ]);
  });
});

test("no pod on a node whose kubelet is not ready is promised to leave", () => {
  const unready = node(NODE, { ready: false });
  expect(preflight(facts({ node: unready }))).toMatchObject({
    verdict: "Unknown",
    unknown: [`at what time the pods of ${NODE} leave: the kubelet of ${NODE} is not ready, so it ends no pod`],
  });
  const left = [plainPod("agent", { owners: [owner({ kind: "DaemonSet" })] })];
  expect(preflight(facts({ node: unready, pods: left, vmis: [] })).verdict).toBe("WillSucceed");
});
