/**
 * Tests a preflight while migrations and evacuations are in progress, and while obstacles keep a migratable VM on its
 * node.
 */
import { describe, expect, test } from "vitest";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { PLAIN } from "../../../shared/kube/guest.ts";
import type { NodeVerdict, PodOutcome, PreflightFacts } from "../../../shared/preflight/facts.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
import { evacuation, migration, NODE, NOW, owner, settings } from "../../support/fixtures.ts";
import {
  facts,
  foreignBudget,
  GIB,
  launcher,
  neighbour,
  node,
  plainPod,
  vmiOf,
} from "../../support/preflight/fixtures.ts";

const vm = (tweak: Partial<VmiFacts>, f: Partial<PreflightFacts> = {}) => facts({ vmis: [vmiOf("web", tweak)], ...f });
const LIMITS = settings().limits;
const OURS = { namespace: "apps", vmiName: "web" };

/** Returns the target pod of the migration `job`. The pod is on node02. */
const target = (tweak: object = {}) => {
  const labels = {
    "kubevirt.io": "virt-launcher",
    "kubevirt.io/created-by": "vmi-web",
    "kubevirt.io/migrationJobUID": "job",
  };
  const own = launcher("web");
  const { requests, antiAffinity } = own;
  return neighbour("virt-launcher-web-target", "node02", { labels, requests, antiAffinity, uid: "target", ...tweak });
};
/** KubeVirt gives this term to every target pod of a migration. */
const OFF_OWN_HOST = {
  topologyKey: "kubernetes.io/hostname",
  namespaces: [],
  selector: { matchLabels: { "kubevirt.io/created-by": "vmi-web" }, matchExpressions: [] },
};
const FULL = { otherNodes: [node("node02", { allocatable: { memory: 2 * GIB } })] };
const TWO_PODS = { activePods: { "pod-web": NODE, target: "node02" } };
const JOB = migration({ ...OURS, uid: "job", phase: "Scheduling" });
const OF_OTHERS = [migration({ vmiName: "db" }), migration({ namespace: "other" })];
const about = (status: object) =>
  evacuation({
    spec: { vmiName: "web" },
    status: { podUID: "pod-web", virtualMachineInstanceUID: "vmi-web", sourceNode: NODE, ...status },
  });
const LONG = "a".repeat(64);
const long = (minor: number | undefined) => {
  const own = settings(minor === undefined ? {} : { kubevirtMinor: minor });
  return facts({ vmis: [vmiOf(LONG)], pods: [launcher(LONG)], settings: own });
};
const engine = (tweak: object = {}) => {
  const owners = [owner({ kind: "InstanceManager", name: "im-1", uid: "im" })];
  const f = { pods: [plainPod("im-1", { owners, labels: { app: "im" } })], vmis: [] };
  return facts({ ...f, budgets: [foreignBudget("im-1", "im", tweak)] });
};

// prettier-ignore
test.each<[string, PreflightFacts, ...[NodeVerdict, PodOutcome, reason: string]]>([
  ["whose target pod has the last place on another node", vm({ ...TWO_PODS, isMigrating: true, evacuationNodeName: NODE }, { ...FULL, otherPods: [target()], migrations: [JOB] }), "WillSucceed", "Moves", "EvacuationInProgress"],
  ["whose target pod of a person's migration has the last place",        vm(TWO_PODS, { ...FULL, otherPods: [target()], migrations: [JOB] }),                "WillSucceed", "Moves",   "EvacuationTriggered"],
  ["whose failed migration leaves room for another",  vm(TWO_PODS, { ...FULL, otherPods: [target({ phase: "Failed" })] }),                "WillSucceed", "Moves",   "EvacuationTriggered"],
  ["with another launcher pod left over elsewhere",      vm(TWO_PODS, { otherPods: [target()] }),                                            "WillBlock",   "Blocked", "LeftOver"],
  ["with another launcher pod, because it has just moved",                 vm({ ...TWO_PODS, movedAt: NOW.getTime() - 5000 }, { otherPods: [target()] }),      "WillSucceed", "Moves",   "EvacuationTriggered"],
  ["whose pod is left over: it runs elsewhere", vm({ nodeName: "node02" }),                                                        "WillBlock",   "Blocked", "LeftOver"],
  ["whose pod remains because it has just moved elsewhere",                          vm({ nodeName: "node02", movedAt: NOW.getTime() - 5000 }),                          "WillSucceed", "Waits",   "MigrationTarget"],
  ["whose pod remains, and whose new pod has the anti-affinity of a migration", vm({ nodeName: "node02", movedAt: NOW.getTime() - 5000 }, { otherPods: [target({ antiAffinity: [OFF_OWN_HOST] })] }), "WillSucceed", "Waits", "MigrationTarget"],
  ["with KubeVirt's limit of 0 for the cluster",             facts({ settings: settings({ limits: { ...LIMITS, parallelMigrationsPerCluster: 0 } }) }),      "WillBlock", "Blocked", "MigrationsOff"],
  ["with KubeVirt's limit of 0 for a node",                                  facts({ settings: settings({ limits: { ...LIMITS, parallelOutboundMigrationsPerNode: 0 } }) }), "WillBlock", "Blocked", "MigrationsOff"],
  ["with a name longer than a label value",                        long(9),                                                                            "WillBlock",   "Blocked", "NameTooLong"],
  ["with a long name that this KubeVirt version might shorten",             long(10),                                                                           "Unknown",     "Moves",   "EvacuationTriggered"],
  ["with a long name and an unknown KubeVirt version",                long(undefined),                                                                    "Unknown",     "Moves",   "EvacuationTriggered"],
  ["whose Evacuation is Blocked",                         vm({ evacuationNodeName: NODE }, { evacuations: [about({ phase: "Blocked", reason: "PersonsMigration", message: "it cannot start" })] }), "WillBlock", "Blocked", "PersonsMigration"],
  ["whose attempts have failed so far",                   vm({ evacuationNodeName: NODE }, { evacuations: [about({ phase: "BackingOff", attempts: 2, message: "no room" })] }), "Unknown", "Moves", "EvacuationInProgress"],
  ["whose last evacuation was abandoned",                 vm({}, { evacuations: [about({ phase: "Abandoned", attempts: 5 })] }),              "Unknown",     "Moves",   "EvacuationTriggered"],
  ["that selects its own node's name",                   vm({ asks: { ...PLAIN, nodeSelector: { "kubernetes.io/hostname": NODE } } }),       "WillBlock",   "Blocked", "BoundToNode"],
  ["whose pod is left over while other VMs migrate", vm({ nodeName: "node02" }, { migrations: OF_OTHERS }), "WillBlock", "Blocked", "LeftOver"],
  ["whose migration to this node is not in the status of its VMI yet", vm({ nodeName: "node02" }, { migrations: [migration({ phase: "Scheduled" })] }), "WillSucceed", "Waits", "MigrationTarget"],
  ["with another launcher pod left over long after its last move", vm({ ...TWO_PODS, movedAt: NOW.getTime() - 600_000 }, { otherPods: [target()] }), "WillBlock", "Blocked", "LeftOver"],
  ["whose left-over launcher pod is gone, beside a pod of another owner", vm(TWO_PODS, { otherPods: [neighbour("app", "node02")] }), "WillSucceed", "Moves", "EvacuationTriggered"],
  ["whose target pod has no node yet", vm({ evacuationNodeName: NODE }, { migrations: [...OF_OTHERS, JOB] }), "Unknown", "Moves", "EvacuationInProgress"],
  ["whose migration cannot start now", vm({ evacuationNodeName: NODE }, { evacuations: [about({ phase: "Migrating", reason: "NoRoom", message: "no node has room" })] }), "Unknown", "Moves", "EvacuationInProgress"],
  ["whose migration waits in KubeVirt's queue", vm({ evacuationNodeName: NODE }, { evacuations: [about({ phase: "Migrating", reason: "Queued" })] }), "WillSucceed", "Moves", "EvacuationInProgress"],
  ["whose target pod was created before migrations were switched off", vm(TWO_PODS, { otherPods: [target()], migrations: [JOB], settings: settings({ limits: { ...LIMITS, parallelMigrationsPerCluster: 0 } }) }), "WillSucceed", "Moves", "EvacuationTriggered"],
  ["behind a storage engine's budget that allows no eviction now",      engine(),                                                                           "Unknown",     "Waits",   "BudgetOfController"],
])("the forecast of a VM %s", (_, f, ...[verdict, outcome, reason]) => {
  const found = preflight(f);
  expect({ verdict: found.verdict, outcome: found.pods[0]?.outcome, reason: found.pods[0]?.reason }).toEqual({ verdict, outcome, reason });
});

const sized = (memory: number) => ({ requests: { cpu: 100, memory: memory * GIB } });

describe("VMs that leave another node", () => {
  const THREE = node("node03");
  const elsewhere = (memory: number) => ({
    node: THREE,
    pods: [launcher("other", { nodeName: "node03", ...sized(memory) })],
    vmis: [vmiOf("other", { nodeName: "node03", activePods: { "pod-other": "node03" } })],
    migrations: [],
  });
  const f = (memory: number, leaving: boolean) => {
    const otherPods = [neighbour("other", "node03", { uid: "pod-other", ...sized(memory) })];
    const closed = { ...THREE, unschedulable: true };
    const leavingElsewhere = leaving ? [elsewhere(memory)] : [];
    return facts({
      otherNodes: [node("node02", { allocatable: { memory: 8 * GIB } }), closed],
      otherPods,
      leavingElsewhere,
    });
  };

  // prettier-ignore
  test.each<[memory: number, leaving: boolean, NodeVerdict]>([
    [7, false, "WillSucceed"],
    [7, true,  "NoRoom"],
    [5, true,  "WillSucceed"],
  ])("of %i GiB are placed first if they leave (%s): %s", (memory, leaving, verdict) => {
    expect(preflight(f(memory, leaving)).verdict).toBe(verdict);
  });
});
