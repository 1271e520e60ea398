/** Will this drain succeed? The verdict of the node and what becomes of each pod, in administrators' own situations. */
import { describe, expect, test } from "vitest";
import type { PreflightFacts, PreflightPod } from "../../../shared/preflight/facts.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
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
const unhealthy = { ready: false };
const met = { currentHealthy: 2, desiredHealthy: 2 };

// prettier-ignore
test.each<[string, PreflightFacts, verdict: string, outcome: string, reason: string]>([
  ["a VM that can migrate",                          vm({}),                                                    "WillSucceed",              "Moves",     "EvacuationTriggered"],
  ["… with no room",                                 vm({}, FULL),                                              "NoRoom",                   "Moves",     "EvacuationTriggered"],
  ["… and something unread",                         vm({}, { unread: ["migrations"] }),                        "Unknown",                  "Moves",     "EvacuationTriggered"],
  ["… no room counts for more than what is unread",  vm({}, { ...FULL, unread: ["migrations"] }),               "NoRoom",                   "Moves",     "EvacuationTriggered"],
  ["… asks for what is not judged",                  vm({}, { pods: [launcher("web", { unchecked: ["hostPort"] })] }), "Unknown",             "Moves",     "EvacuationTriggered"],
  ["a pinned VM",                                    vm(PINNED),                                                "WillBlock",                "Blocked",   "NotMigratable"],
  ["… a blocker counts for more than what is unread", vm(PINNED, { unread: ["migrations"] }),                   "WillBlock",                "Blocked",   "NotMigratable"],
  ["… marked: nothing moves it",                     vm({ ...PINNED, ...MARKED }),                              "WillBlock",                "Blocked",   "NotMigratable"],
  ["… but its migration is under way",               vm({ ...PINNED, ...MARKED }, { migrations: [migration()] }), "WillSucceed",            "Moves",     "EvacuationInProgress"],
  ["a pinned VM, if possible",                       vm({ ...PINNED, ...IF_POSSIBLE }),                         "WillSucceedWithShutdowns", "ShutsDown", "ShutdownByStrategy"],
  ["strategy None",                                  vm({ evictionStrategy: "None" }),                          "WillSucceedWithShutdowns", "ShutsDown", "StrategyNone"],
  ["strategy External",                              vm({ evictionStrategy: "External" }),                      "WillBlock",                "Blocked",   "External"],
  ["a strategy that KubeVirt does not know",         vm({ evictionStrategy: "Sometimes" }),                     "WillBlock",                "Blocked",   "UnknownStrategy"],
  ["a backup keeps its migration from beginning",    vm(MARKED, { migrations: [migration({ phase: "Pending", blockedBy: BLOCKED_BY })] }), "WillSucceed", "Waits", "MigrationBlocked"],
  ["a backup of an unmarked VM is under way",        vm({ backup: "b1" }),                                      "WillSucceed",              "Waits",     "MigrationBlocked"],
  ["… of one that moves already",                    vm({ ...MARKED, backup: "b1" }, { migrations: [migration({ targetPod: "t" })] }), "WillSucceed", "Moves", "EvacuationInProgress"],
  ["a VM is arriving",                               vm({ nodeName: "node02", isMigrating: true }),             "WillSucceed",              "Waits",     "MigrationTarget"],
  ["… of an owner that moves it itself",             vm({ nodeName: "node02", isMigrating: true, evictionStrategy: "External" }), "WillBlock",                "Blocked",   "External"],
  ["… that cannot move on",                          vm({ nodeName: "node02", isMigrating: true, ...PINNED }),  "WillBlock",                "Blocked",   "NotMigratable"],
  ["… that is shut down then",                       vm({ nodeName: "node02", isMigrating: true, ...PINNED, ...IF_POSSIBLE }), "WillSucceedWithShutdowns", "ShutsDown", "ShutdownByStrategy"],
  ["its VMI is gone",                                facts({ vmis: [] }),                                       "WillBlock",                "Blocked",   "Orphaned"],
  ["… it is being deleted",                          facts({ vmis: [], pods: [launcher("web", { deleting: true })] }), "WillSucceed",        "Ended",     "VmiGone"],
  ["… it has ended",                                 facts({ vmis: [], pods: [launcher("web", { phase: "Failed" })] }), "WillSucceed",       "Ended",     "PodCompleted"],
  ["… and was made anew",                            vm({ uid: "newer" }),                                      "WillBlock",                "Blocked",   "Orphaned"],
  ["… to be shut down",                              vm({ uid: "newer", evictionStrategy: "None" }),            "WillSucceed",              "Ended",     "VmiGone"],
  // Upstream: kubernetes/kubernetes staging/src/k8s.io/kubectl/pkg/drain/filters.go, pkg/registry/core/pod/storage/eviction.go
  ["an ordinary pod",                                plain({}),                                                 "WillSucceed",              "Evicted",   "NotAVirtualMachine"],
  ["… of a DaemonSet",                               plain({ owners: [owner({ kind: "DaemonSet" })] }),         "WillSucceed",              "Stays",     "DaemonSet"],
  ["… of the kubelet",                               plain({ annotations: { "kubernetes.io/config.mirror": "x" } }), "WillSucceed",         "Stays",     "MirrorPod"],
  ["… of no controller",                             plain({ owners: [] }),                                     "WillBlock",                "Blocked",   "Unmanaged"],
  ["… with an emptyDir",                             plain({ localStorage: true }),                             "WillBlock",                "Blocked",   "LocalStorage"],
  ["… with an emptyDir, and the flag",               plain({ localStorage: true }, { flags: { force: false, deleteEmptyDirData: true } }), "WillSucceed", "Evicted", "NotAVirtualMachine"],
  ["… behind a budget with none left",               plain({}, { budgets: [foreignBudget("b", "app")] }),       "WillBlock",                "Blocked",   "BudgetExhausted"],
  ["… behind one that has not been counted yet",     plain({}, { budgets: [foreignBudget("b", "app", { generation: 2, status: { disruptionsAllowed: 1 } })] }), "WillBlock", "Blocked", "BudgetExhausted"],
  ["… not ready, others are",                        plain(unhealthy, { budgets: [foreignBudget("b", "app", { status: met })] }), "WillSucceed", "Evicted", "NotAVirtualMachine"],
  ["… not ready, nor are others",                    plain(unhealthy, { budgets: [foreignBudget("b", "app", { status: { ...met, currentHealthy: 1 } })] }), "WillBlock", "Blocked", "BudgetExhausted"],
  ["… not ready, AlwaysAllow",                       plain(unhealthy, { budgets: [foreignBudget("b", "app", { unhealthyPodEvictionPolicy: "AlwaysAllow", status: { ...met, currentHealthy: 1 } })] }), "WillSucceed", "Evicted", "NotAVirtualMachine"],
  ["… of another namespace's budget",                plain({}, { budgets: [foreignBudget("b", "app", { namespace: "other" })] }), "WillSucceed", "Evicted", "NotAVirtualMachine"],
  ["… not ready, no one is needed (desiredHealthy 0)", plain(unhealthy, { budgets: [foreignBudget("b", "app", { status: { currentHealthy: 0, desiredHealthy: 0 } })] }), "WillBlock", "Blocked", "BudgetExhausted"],
  ["… being deleted, behind a budget",               plain({ deleting: true }, { budgets: [foreignBudget("b", "app")] }), "WillSucceed",   "Evicted",   "NotAVirtualMachine"],
  ["… failed, behind two budgets",                   plain({ phase: "Failed" }, { budgets: ["a", "b"].map((name) => foreignBudget(name, "app")) }), "WillSucceed", "Ended", "PodCompleted"],
  ["… not ready, behind two budgets: AlwaysAllow is of no use", plain(unhealthy, { budgets: ["a", "b"].map((name) => foreignBudget(name, "app", { unhealthyPodEvictionPolicy: "AlwaysAllow" })) }), "WillBlock", "Blocked", "SeveralBudgets"],
  ["… pending",                                      plain({ phase: "Pending" }, { budgets: [foreignBudget("b", "app")] }), "WillSucceed",  "Evicted",   "NotAVirtualMachine"],
  ["… behind two budgets",                           plain({}, { budgets: ["a", "b"].map((name) => foreignBudget(name, "app", { status: { disruptionsAllowed: 1 } })) }), "WillBlock", "Blocked", "SeveralBudgets"],
])("%s", (...[, f, verdict, outcome, reason]) => {
  const answer = preflight(f);
  expect(answer).toMatchObject({ verdict, pods: [{ outcome, reason }] });
  // The answer says who can change what blocks, and only that ends a drain.
  const [pod] = answer.pods;
  expect(pod?.outcome === "Blocked").toBe(answer.verdict === "WillBlock");
  if (pod?.outcome === "Blocked") expect(pod.remedy).toMatch(/^(its owner|its external controller|the owner|the person)/);
});

test("a VM whose last evacuation was abandoned waits until the back-off is over", () => {
  const about = { virtualMachineInstanceUID: "vmi-web", podUID: POD_UID, nextAttemptTime: time(60) };
  const abandoned = endedEvacuation("Abandoned", { status: about });
  const pods = [launcher("web", { uid: POD_UID })];
  const vmis = [vmiOf("web", { activePods: { [POD_UID]: NODE } })];
  const { pods: said } = preflight(facts({ pods, vmis, evacuations: [abandoned] }));
  expect(said).toMatchObject([{ outcome: "Waits", reason: "BackingOff", room: { fits: true } }]);
});

describe("a volume that node02 does not reach", () => {
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
    ["plugged into the VM",             [web, holder],                                                { fits: false, message }],
    ["plugged into another VM",         [web, { ...holder, owners: [owner({ kind: "Pod", uid: "x" })] }], { fits: true }],
  ])("%s", (_, pods, expected) => {
    expect(preflight(facts({ pods, volumes })).pods[0]?.room).toMatchObject(expected);
  });
});

test("a volume of another namespace's claim is another one", () => {
  const volumes = [{ namespace: "other", claim: "disk", reachedFrom: [] }];
  const pods = [launcher("web", { claims: ["disk"] })];
  expect(preflight(facts({ pods, volumes })).pods[0]?.room).toMatchObject({ fits: true });
});

test("where there is no other node the VM's pod says so", () => {
  const room = { fits: false, message: "there is no other node" };
  expect(preflight(facts({ otherNodes: [] })).pods[0]?.room).toMatchObject(room);
});

test("a workload update in progress is named, to the node that the VM leaves and to the one that it comes to", () => {
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

test("what a VM waits for is named before any migration is there", () => {
  const [backedUp, collecting] = [vm({ backup: "b1" }), vm({ hasUtilityVolumes: true })].map(
    (f) => preflight(f).pods[0],
  );
  expect(backedUp?.message).toBe("no migration of it starts before its backup b1 has ended");
  expect(collecting?.message).toContain("utility volumes");
});

const deleted = (secondsAgo: number, tweak: Partial<PreflightPod> = {}) =>
  plainPod("app", { deleting: true, goneBy: NOW.getTime() - secondsAgo * 1000, ...tweak });
const kept = { finalizers: ["example.com/backup", "example.com/dns"] };
const dead = { node: node(NODE, { ready: false }) };

describe("a pod that is deleted", () => {
  // prettier-ignore
  test.each<[string, Partial<PreflightFacts>, verdict: string, reason: string]>([
    ["has just had its time",              { pods: [deleted(59, kept)] },                                             "WillSucceed",  "NotAVirtualMachine"],
    ["and kept by finalizers",             { pods: [deleted(60, kept)] },                                             "WillBlock",    "Finalizers"],
    ["… a VM's pod",                       { pods: [launcher("web", { deleting: true, goneBy: 0, ...kept })] },       "WillBlock",    "Finalizers"],
    ["… one that a drain leaves in place", { pods: [deleted(60, { ...kept, owners: [owner({ kind: "DaemonSet" })] })] }, "WillSucceed", "DaemonSet"],
    ["of a kubelet that is not ready",     { pods: [deleted(86_400)], ...dead },                                      "WillBlock",    "DeadKubelet"],
    ["and stays, nothing says why",        { pods: [deleted(86_400)] },                                               "Unknown", "NotAVirtualMachine"],
  ])("%s", (_, tweak, verdict, reason) => {
    const vmis = [vmiOf("web")];
    expect(preflight(facts({ vmis, ...tweak }))).toMatchObject({ verdict, pods: [{ reason }] });
  });

  test("what holds it and who can change that are told", () => {
    const { pods } = preflight(facts({ pods: [deleted(86_400, kept)], vmis: [] }));
    expect(pods[0]).toMatchObject({
      message: "Terminating, and its grace period ended 24h ago: finalizers example.com/backup, example.com/dns",
      remedy: expect.stringMatching(/^the owner of the finalizers/),
    });
    expect(preflight(facts({ pods: [deleted(86_400)], vmis: [] })).unknown).toEqual([
      "when pod apps/app goes: Terminating, and its grace period ended 24h ago",
    ]);
  });
});

test("nothing that is to leave a node that is not ready is promised to leave", () => {
  const unready = node(NODE, { ready: false });
  expect(preflight(facts({ node: unready }))).toMatchObject({
    verdict: "Unknown",
    unknown: [`when the pods of ${NODE} go: its kubelet is not ready, and ends none`],
  });
  const left = [plainPod("agent", { owners: [owner({ kind: "DaemonSet" })] })];
  expect(preflight(facts({ node: unready, pods: left, vmis: [] })).verdict).toBe("WillSucceed");
});
