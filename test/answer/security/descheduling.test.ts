/**
 * Tests that tenants cannot influence which pods of other tenants the descheduler evicts. Only the policy and the nodes
 * decide. All tenants share the free resources of nodes and the limits. A pod with the annotation
 * eviction-in-progress counts toward the limits, even if a tenant has forged the annotation.
 */
import * as fc from "fast-check";
import { dump } from "js-yaml";
import { expect, test } from "vitest";
import { type CycleWorld, runCycle } from "../../../shared/descheduling/cycle/cycle.ts";
import type { DeschedulerPolicy } from "../../../shared/descheduling/cycle/policy.ts";
import { parseDeschedulerPolicy } from "../../../shared/descheduling/policy-file.ts";
import type { Action } from "../../../shared/kube/action.ts";
import type { NamespacedName } from "../../../shared/kube/facts.ts";
import { keyOf } from "../../../shared/kube/objects.ts";
import type { ScheduledPod } from "../../../shared/kube/scheduled-pod.ts";
import { node, pod, requirement, taint, term, toleration } from "../../support/descheduling/fixtures.ts";
import { anyLimits, vmiOf, vmPod } from "../../support/descheduling/worlds.ts";
import { at, NOW, owner, settings, time } from "../../support/fixtures.ts";
import { PATH } from "../../support/generators/clusters.ts";
import { deschedulingFactsOf } from "../../support/generators/facts.ts";
import * as raw from "../../support/generators/objects.ts";

const TENANT = "tenant";

const NODES = [
  node("n0", { labels: { zone: "a" }, taints: [taint("maintenance")] }),
  node("n1", { labels: { zone: "a" } }),
  node("n2", { labels: { zone: "b" }, allocatable: { cpu: 9000, memory: 9000, pods: 90 } }),
  node("n3", { labels: { zone: "b" }, allocatable: { cpu: 9000, memory: 9000, pods: 90 } }),
];

const owned = (uid: string) => ({ owners: [owner({ kind: "ReplicaSet", name: uid, uid })] });
const web = { namespace: "shop", labels: { app: "web" }, ...owned("web"), createdAt: 0 };
const inZoneB = { placement: { nodeSelector: {}, required: [term(requirement("zone", "In", "b"))] } };

const VICTIMS: readonly ScheduledPod[] = [
  vmPod("vm-0", { nodeName: "n0", requests: { cpu: 600, memory: 900 }, createdAt: 0, ...inZoneB }),
  vmPod("vm-1", { nodeName: "n1", requests: { cpu: 600, memory: 900 }, createdAt: 0 }),
  pod("web-0", { ...web, nodeName: "n0", requests: { cpu: 500, memory: 100 } }),
  pod("web-1", { ...web, nodeName: "n1", requests: { cpu: 500, memory: 100 }, ...inZoneB }),
  // Only LowNodeUtilization evicts the young pod, which tolerates the taint. No plugin evicts the DaemonSet's pod, or
  // the pod without a second replica.
  pod("alone", { ...web, nodeName: "n0", ...owned("alone"), ...inZoneB }),
  pod("young", { ...web, nodeName: "n0", createdAt: NOW.getTime(), tolerations: [toleration("maintenance")] }),
  pod("agent", { ...web, nodeName: "n1", owners: [owner({ kind: "DaemonSet", uid: "agents" })] }),
];

/** Draws the fields that a tenant writes. A tenant can know the UIDs of other tenants' objects. */
const written = fc.record({
  labels: fc.dictionary(fc.constantFrom("app", "kubevirt.io"), fc.constantFrom("virt-launcher", "hotplug-disk", "web")),
  annotations: fc.dictionary(
    fc.constantFrom(...raw.DESCHEDULER_ANNOTATIONS, "kubevirt.io/domain", "kubernetes.io/config.mirror"),
    fc.constantFrom("", "true", "vm-0", time(-60), time(60)),
  ),
  ownerReferences: fc.array(
    fc.record({
      kind: fc.constantFrom("VirtualMachineInstance", "Pod", "ReplicaSet", "DaemonSet"),
      name: fc.constantFrom("web", "mine"),
      uid: fc.constantFrom("mine", ...VICTIMS.flatMap(({ owners }) => owners.map(({ uid }) => uid))),
      controller: fc.boolean(),
    }),
    { maxLength: 2 },
  ),
});

const onNode = fc.constantFrom(...NODES.map(({ name }) => name));
const anyPods = fc.array(fc.tuple(raw.anyPod, written, onNode), { maxLength: 5 }).map((pods) => {
  const objects = pods.map(([drawn, forgery, nodeName], i) => {
    const own = { namespace: TENANT, name: `mine-${i}`, uid: `mine-${i}`, creationTimestamp: time(-1e9) };
    return raw.podOf(drawn, { metadata: { ...forgery, ...own }, nodeName });
  });
  return deschedulingFactsOf({ [PATH.pods]: objects }).pods;
});

const thresholds = { cpu: 20, memory: 20, pods: 20 };
const [VM_0, VM_1] = ["virt-launcher-vm-0-x7k2p", "virt-launcher-vm-1-x7k2p"];
const ALL = [VM_0, VM_1, "web-0", "web-1"];
// prettier-ignore
const PLUGINS = [
  // plugin                           its arguments                                                             
  // evictable
  ["RemovePodsViolatingNodeTaints",   {},                                                                        [VM_0, "web-0"]],
  ["RemovePodsViolatingNodeAffinity", { nodeAffinityType: ["requiredDuringSchedulingIgnoredDuringExecution"] },  [VM_0, "web-1"]],
  ["RemovePodsViolatingInterPodAntiAffinity", {},                                                                []],
  ["RemovePodsViolatingTopologySpreadConstraint", {},                                                            []],
  ["PodLifeTime",                     { maxPodLifeTimeSeconds: 3600 },                                           ALL],
  ["LowNodeUtilization",              { thresholds, targetThresholds: { cpu: 40, memory: 40, pods: 90 } },       [...ALL, "young"]],
] as const;

async function policyOf(plugin: string, args: object, nodeFit: boolean): Promise<DeschedulerPolicy> {
  const isBalancing = ["LowNodeUtilization", "RemovePodsViolatingTopologySpreadConstraint"].includes(plugin);
  const point = isBalancing ? "balance" : "deschedule";
  const evictor = { minReplicas: 2, noEvictionPolicy: "Mandatory", nodeFit };
  const pluginConfig = [
    { name: "DefaultEvictor", args: evictor },
    { name: plugin, args },
  ];
  const profiles = [{ name: "p", pluginConfig, plugins: { [point]: { enabled: [plugin] } } }];
  const file = { apiVersion: "descheduler/v1alpha2", kind: "DeschedulerPolicy", profiles };
  const parsed = await parseDeschedulerPolicy(dump(file));
  return parsed.ok ? parsed.value.policy : expect.fail(JSON.stringify(parsed.problems));
}

type World = Pick<CycleWorld, "pods" | "policy">;

function worldOf({ pods, policy }: World): CycleWorld {
  const vmis = pods.filter(({ annotations }) => "kubevirt.io/domain" in annotations).map((one) => vmiOf(one));
  const read = { pods, nodes: NODES, vmis: new Map(vmis.map((vmi) => [keyOf(vmi), vmi])), evacuations: [] };
  return { ...read, policy, settings: settings(), until: at(200), now: NOW, memory: new Map() };
}

function touchedBy(action: Action): readonly NamespacedName[] {
  if (action.verb === "Event") return [];
  if (action.verb !== "CreateEvacuation") throw new Error(`no cycle may ${action.verb}`);
  const { namespace, spec } = action.evacuation;
  return [{ namespace, name: spec.pod?.name ?? "" }];
}

async function touchedIn(world: World): Promise<readonly string[]> {
  const touched: NamespacedName[] = [];
  await runCycle(worldOf(world), {
    now: () => NOW,
    act: async (action) => {
      touched.push(...touchedBy(action));
      return "Done";
    },
    withdraw: async () => "Done",
    evacuationsOf: async () => [],
    evict: async ({ pod }) => {
      touched.push(pod);
      return "Evicted";
    },
  });
  return touched.filter(({ namespace }) => namespace !== TENANT).map(({ name }) => name);
}

test.each(PLUGINS)(
  "with %s, for any forged object of a tenant and any limits, only pods that the policy selects are evicted",
  async (plugin, args, eligible) => {
    const anyPolicy = fc.constantFrom(await policyOf(plugin, args, false), await policyOf(plugin, args, true));
    const seen = new Set<string>();
    const holds = fc.asyncProperty(anyPods, anyLimits, anyPolicy, async (theirs, limits, policy) => {
      const touched = await touchedIn({ pods: [...VICTIMS, ...theirs], policy: { ...policy, limits } });
      for (const name of touched) seen.add(name);
    });
    await fc.assert(holds, { seed: 20_260_301, numRuns: 300 });
    expect([...seen].toSorted()).toEqual(eligible);
  },
);
