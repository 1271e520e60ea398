/**
 * Tests drains during which the API server refuses requests. A ResourceQuota refuses a migration's target pod. A
 * PodDisruptionBudget refuses an eviction if replacements fit on no node.
 */
import { expect, test } from "vitest";
import type { PreflightFacts, QuotaFacts } from "../../../shared/preflight/facts.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
import { migration, NODE, owner } from "../../support/fixtures.ts";
import {
  facts,
  GIB,
  launcher,
  plainPod,
  vmiOf,
  foreignBudget,
  neighbour,
  node,
} from "../../support/preflight/fixtures.ts";
import type { BudgetFacts } from "../../../shared/kube/facts.ts";

const quota = (hard: QuotaFacts["hard"], used: QuotaFacts["used"], tweak: Partial<QuotaFacts> = {}): QuotaFacts => ({
  namespace: "apps",
  name: "team",
  hard,
  used,
  scopes: [],
  marks: { labels: {}, annotations: {}, managers: [] },
  counted: true,
  ...tweak,
});
const FULL = quota({ pods: 1 }, { pods: 1 });
const limited = { pods: [launcher("web", { limits: { memory: 3 * GIB } })] };
const hotplug = plainPod("hp", {
  labels: { "kubevirt.io": "hotplug-disk" },
  owners: [owner({ kind: "Pod", name: launcher("web").name, uid: "pod-web" })],
  requests: { cpu: 100 },
});

const RANCHERS = { "resourcequota.management.cattle.io/default-resource-quota": "true" };
const UID = "harvesterhci.io/migratingUID-1";
const SKIPS = { "harvesterhci.io/skipResourceQuotaAutoScaling": "true" };
const marked = (marks: Partial<QuotaFacts["marks"]>, hard: QuotaFacts["hard"] = { "limits.memory": 3 * GIB }) =>
  quota(hard, hard, { marks: { ...FULL.marks, ...marks } });
const onHarvester = { ...limited, otherNodes: [node("node02", { labels: { "harvesterhci.io/managed": "true" } })] };

// prettier-ignore
test.each<[string, QuotaFacts, Partial<PreflightFacts>, verdict: string, controller: string]>([
  ["of Rancher's on Harvester's nodes might be raised",                      marked({ labels: RANCHERS }),                                                 onHarvester, "Unknown", "Harvester"],
  ["of Rancher's that Harvester has written might be raised",                marked({ labels: RANCHERS, managers: ["rancher", "harvester"] }),             limited,     "Unknown", "Harvester"],
  ["of Rancher's that Harvester has raised for a migration might be raised", marked({ labels: RANCHERS, annotations: { [UID]: "{}" } }),                   limited,     "Unknown", "Harvester"],
  ["of Rancher's that Harvester has to skip blocks",                       marked({ labels: RANCHERS, annotations: SKIPS }),                             onHarvester, "WillBlock", ""],
  ["of Rancher's for pods, which Harvester does not raise, blocks",        marked({ labels: RANCHERS }, { pods: 1, "limits.memory": 3 * GIB }),          onHarvester, "WillBlock", ""],
  ["of Rancher's for memory and pods, of which Harvester raises only memory, blocks", marked({ labels: RANCHERS }, { "limits.memory": 3 * GIB, pods: 1 }), onHarvester, "WillBlock", ""],
  ["of Rancher's without Harvester blocks",                                marked({ labels: RANCHERS }),                                                 limited,     "WillBlock", ""],
  ["of a person's on Harvester's nodes blocks",                            marked({}),                                                                   onHarvester, "WillBlock", ""],
  ["that Managed Tenant Quota has raised once might be raised",              marked({ managers: ["kubectl", "mtq-controller"] }),                          limited,     "Unknown", "managed-tenant-quota"],
  ["of Application-Aware Quota might be raised",                             marked({ labels: { "aaq.kubevirt.io": "true" } }, { "count/pods": 1 }),       {},          "Unknown", "application-aware-quota"],
  ["that only people have written blocks",                                 marked({ managers: ["kubectl", "kube-controller-manager"] }),                 limited,     "WillBlock", ""],
])("a used-up quota %s", (...[, one, more, verdict, controller]) => {
  const answer = preflight(facts({ quotas: [one], ...more }));
  expect(answer.verdict).toBe(verdict);
  expect(answer.unknown.join()).toContain(controller === "" ? "" : `${controller} might raise the quota`);
});

// prettier-ignore
test.each<[string, QuotaFacts, Partial<PreflightFacts>, verdict: string]>([
  ["a quota for pods with one left allows",                    quota({ pods: 2 }, { pods: 1 }),                                              {}, "WillSucceed"],
  ["a quota for pods with one left blocks a VM with a hotplug pod",            quota({ pods: 3 }, { pods: 2 }),                                              { pods: [launcher("web"), hotplug] }, "WillBlock"],
  ["a used-up quota for the count of pods blocks",                                quota({ "count/pods": 1 }, { "count/pods": 1 }),                              {}, "WillBlock"],
  ["a used-up quota for CPU blocks",                           quota({ cpu: 1500 }, { cpu: 1000 }),                                          {}, "WillBlock"],
  ["a used-up quota for memory limits blocks",                 quota({ "limits.memory": 5 * GIB }, { "limits.memory": 3 * GIB }),            limited, "WillBlock"],
  ["a quota with enough memory limits allows",             quota({ "limits.memory": 6 * GIB }, { "limits.memory": 3 * GIB }),            limited, "WillSucceed"],
  ["a quota for memory limits that the pod does not state is unknown", quota({ "limits.memory": 6 * GIB }, { "limits.memory": 0 }),                 {}, "Unknown"],
  ["a quota for other resources allows",                         quota({ configmaps: 1 }, { configmaps: 1 }),                                  {}, "WillSucceed"],
  ["a quota of another namespace allows",                      { ...FULL, namespace: "other" },                                              {}, "WillSucceed"],
  ["a quota for pods with an active deadline allows",           { ...FULL, scopes: ["Terminating"] },                                         {}, "WillSucceed"],
  ["a quota for pods without requests allows",             { ...FULL, scopes: ["BestEffort"] },                                          {}, "WillSucceed"],
  ["a quota for all other pods blocks",                            { ...FULL, scopes: ["NotTerminating", "NotBestEffort"] },                     {}, "WillBlock"],
  ["a used-up quota for a PriorityClass is unknown",             { ...FULL, scopes: ["PriorityClass"] },                                       {}, "Unknown"],
  ["a quota for a PriorityClass with one left allows",       quota({ pods: 2 }, { pods: 1 }, { scopes: ["PriorityClass"] }),               {}, "WillSucceed"],
  ["a quota without a status is unknown",                 quota({}, {}, { counted: false }),                                            {}, "Unknown"],
  ["a used-up quota while another VM moves is unknown",           FULL, { vmis: [vmiOf("web"), vmiOf("db", { isMigrating: true })] },               "Unknown"],
  ["a used-up quota while a VM of another node moves is unknown",                         FULL, { migratingElsewhere: [vmiOf("db", { isMigrating: true })] },               "Unknown"],
  ["a used-up quota while a VM of another namespace moves blocks", FULL, { migratingElsewhere: [vmiOf("db", { namespace: "other", isMigrating: true })] }, "WillBlock"],
  ["a used-up quota blocks although a VM with the same name in another namespace has a target pod", FULL, { migrations: [migration({ namespace: "other", targetPod: "t" })] }, "WillBlock"],
  ["a used-up quota while another VM has a target pod is unknown", FULL, { migrations: [migration({ vmiName: "db", targetPod: "t" })] }, "Unknown"],
  ["a quota with CPU left but no pod left blocks", quota({ cpu: 8000, pods: 1 }, { cpu: 1000, pods: 1 }), {}, "WillBlock"],
  ["a used-up quota beside a VM that is shut down is unknown",    FULL, { pods: [launcher("web"), launcher("db")], vmis: [vmiOf("web"), vmiOf("db", { evictionStrategy: "None" })] }, "Unknown"],
  ["a used-up quota beside a pod that is evicted is unknown",     FULL, { pods: [launcher("web"), plainPod("app", { owners: [owner({ kind: "ReplicaSet", name: "app", controller: true })] })] }, "Unknown"],
  ["a used-up quota beside a DaemonSet's pod blocks",         FULL, { pods: [launcher("web"), plainPod("app", { owners: [owner({ kind: "DaemonSet", name: "app", controller: true })] })] }, "WillBlock"],
  ["a used-up quota with an existing target pod allows",      FULL, { vmis: [vmiOf("web", { evacuationNodeName: NODE })], migrations: [migration({ targetPod: "t" })] }, "WillSucceed"],
  ["a used-up quota whose refusal the migration has met blocks",   FULL, { vmis: [vmiOf("web", { evacuationNodeName: NODE })], migrations: [migration({ phase: "Pending", blockedBy: { type: "migrationRejectedByResourceQuota" } })] }, "WillBlock"],
])("%s", (_, one, more, verdict) => {
  const answer = preflight(facts({ quotas: [one], ...more }));
  expect(answer.verdict).toBe(verdict);
  if (verdict === "WillBlock") expect(answer.pods[0]).toMatchObject({ outcome: "Blocked", reason: "QuotaExceeded" });
  expect(answer.unknown.length > 0).toBe(verdict === "Unknown");
});

test("the message names the needed and remaining amounts, and who can raise the quota", () => {
  const quotas = [quota({ "requests.memory": 3 * GIB }, { "requests.memory": 2 * GIB })];
  expect(preflight(facts({ quotas })).pods[0]).toMatchObject({
    message: "ResourceQuota team refuses its target pod: requests.memory: 2048Mi needed, 1024Mi left",
    remedy: expect.stringMatching(/^the owner of the ResourceQuota/),
  });
  const vmis = [vmiOf("web"), vmiOf("db", { isMigrating: true })];
  expect(preflight(facts({ quotas, vmis })).unknown).toEqual([
    "whether ResourceQuota apps/team leaves enough for a target pod: VMs of the namespace move now; requests.memory: 2048Mi needed, 1024Mi left",
  ]);
});

const quorum = (...names: readonly string[]) => names.map((name) => plainPod(name, { labels: { app: "quorum" } }));
const allowing = (disruptionsAllowed: number): readonly BudgetFacts[] => {
  const status = { disruptionsAllowed, currentHealthy: 3, desiredHealthy: 2 };
  return [foreignBudget("quorum", "quorum", { status })];
};
const small = (memory: number) => [node("node02", { allocatable: { memory } })];
const [ONE, TWO] = [2 * GIB, 4 * GIB];
const bare = quorum("a", "b").map((pod) => ({ ...pod, owners: [] }));
const ending = ["a", "b"].map((name) => launcher(name, { labels: { ...launcher(name).labels, app: "quorum" } }));
const endingVmis = ["a", "b"].map((name) => vmiOf(name, { evictionStrategy: "None" }));
const force = { force: true, deleteEmptyDirData: false };
const apart = {
  topologyKey: "kubernetes.io/hostname",
  namespaces: [],
  selector: { matchLabels: { app: "quorum" }, matchExpressions: [] },
};

// prettier-ignore
test.each<[string, Partial<PreflightFacts>, verdict: string, stuck: number]>([
  ["with room for no replacement",                            { pods: quorum("a", "b", "c"), budgets: allowing(1), otherNodes: small(GIB) },        "NoRoom",       2],
  ["with room for no replacement, when all pods may be evicted at once",                     { pods: quorum("a", "b", "c"), budgets: allowing(3), otherNodes: small(GIB) },        "WillSucceed",  0],
  ["with room for one replacement",                             { pods: quorum("a", "b", "c"), budgets: allowing(1), otherNodes: small(ONE) },        "NoRoom",       1],
  ["with room for two replacements, so the third pod may be evicted", { pods: quorum("a", "b", "c"), budgets: allowing(1), otherNodes: small(TWO) }, "WillSucceed",  0],
  ["with anti-affinity and a node too few",  { pods: quorum("a", "b").map((pod) => ({ ...pod, antiAffinity: [apart] })), budgets: allowing(1), otherPods: [neighbour("c", "node02", { labels: { app: "quorum" } })] }, "NoRoom", 1],
  ["of unready pods, whose evictions need no replacement",       { pods: quorum("a", "b").map((pod) => ({ ...pod, ready: false })), budgets: allowing(1), otherNodes: small(GIB) }, "WillSucceed", 0],
  ["of pods with requests that are not judged",       { pods: quorum("a", "b").map((pod) => ({ ...pod, unchecked: ["podAffinity"] })), budgets: allowing(1) }, "Unknown", 0],
  ["of VMs whose guests are shut down, with room for no replacement", { pods: ending, vmis: endingVmis, budgets: allowing(1), otherNodes: small(GIB) }, "NoRoom", 1],
  ["of pods without a controller",         { pods: bare, budgets: allowing(1), flags: force },                                   "Unknown", 0],
])("a drain behind a budget, %s: $2", (_, more, verdict, stuck) => {
  const answer = preflight(facts({ vmis: [], ...more }));
  expect(answer.verdict).toBe(verdict);
  expect(answer.pods.filter(({ room }) => room?.fits === false)).toHaveLength(stuck);
});

test("a volume that no other node reaches prevents a replacement", () => {
  const volumes = [{ namespace: "apps", claim: "data", reachedFrom: [] }];
  const pods = quorum("a", "b").map((pod) => ({ ...pod, claims: ["data"] }));
  expect(preflight(facts({ vmis: [], pods, volumes, budgets: allowing(1) })).verdict).toBe("NoRoom");
});

test("a drain that waits for replacements names the budget and the missing room", () => {
  const f = facts({ vmis: [], pods: quorum("a", "b"), budgets: allowing(1), otherNodes: small(GIB) });
  const { summary, pods, time } = preflight(f);
  const withVm = preflight({ ...f, pods: [launcher("web"), ...f.pods], vmis: [vmiOf("web")] });
  expect(withVm.summary).toContain(
    "room for 1 of its VMs, nor for the replacement pods that must run before 1 pod can be evicted",
  );
  expect(summary).toBe(
    "draining node01 will block: no other node has room for the replacement pods that must run before 1 pod can be evicted",
  );
  expect(time).toBeUndefined();
  expect(pods[1]).toMatchObject({
    outcome: "Evicted",
    room: { fits: false },
  });
  expect(pods[1]?.room?.message).toBe(
    "PodDisruptionBudget quorum allows no eviction until another pod's replacement runs: no other node has room for it: Resources",
  );
});
