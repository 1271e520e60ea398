/**
 * Descheduling, and what tenants write on their pods: whose pods are asked to go is the policy's and the nodes' business. What
 * is shared is shared: how full nodes are, and the limits, which who is on the way (or says so) takes up.
 */
import * as fc from "fast-check";
import { dump } from "js-yaml";
import { expect, test } from "vitest";
import { parseDeschedulerPolicy } from "../../../shared/descheduling/policy-file.ts";
import { type CycleReport, type CycleWorld, runCycle } from "../../../shared/descheduling/cycle/cycle.ts";
import type { DeschedulerPolicy, DeschedulingLimits } from "../../../shared/descheduling/cycle/policy.ts";
import type { ScheduledPod } from "../../../shared/kube/scheduled-pod.ts";
import { nominate } from "../../../shared/descheduling/cycle/nominations.ts";
import type { Action } from "../../../shared/kube/action.ts";
import type { NamespacedName } from "../../../shared/kube/facts.ts";
import { at, NOW, owner, settings } from "../../support/fixtures.ts";
import { node, pod, requirement, taint, term, toleration } from "../../support/descheduling/fixtures.ts";
import { vmiOf, vmPod } from "../../support/descheduling/worlds.ts";
import { anyDeschedulerPods } from "./arbitrary.ts";
import { keyOf } from "../../../shared/kube/objects.ts";

/** n0 is tainted, n0 and n1 are full, the others are not. */
const NODES = [
  node("n0", { labels: { zone: "a" }, taints: [taint("maintenance")] }),
  node("n1", { labels: { zone: "a" } }),
  node("n2", { labels: { zone: "b" }, allocatable: { cpu: 9000, memory: 9000, pods: 90 } }),
  node("n3", { labels: { zone: "b" }, allocatable: { cpu: 9000, memory: 9000, pods: 90 } }),
];

const owned = (uid: string) => ({ owners: [owner({ kind: "ReplicaSet", name: uid, uid })] });
const web = { namespace: "shop", labels: { app: "web" }, ...owned("web"), createdAt: 0 };
const inZoneB = { placement: { nodeSelector: {}, required: [term(requirement("zone", "In", "b"))] } };

const VM = vmPod("vm-0", { nodeName: "n0", requests: { cpu: 600, memory: 900 }, createdAt: 0, ...inZoneB });
const VICTIMS: readonly ScheduledPod[] = [
  VM,
  vmPod("vm-1", { nodeName: "n1", requests: { cpu: 600, memory: 900 }, createdAt: 0 }),
  pod("web-0", { ...web, nodeName: "n0", requests: { cpu: 500, memory: 100 } }),
  pod("web-1", { ...web, nodeName: "n1", requests: { cpu: 500, memory: 100 }, ...inZoneB }),
  // These stay: one has no second replica, one tolerates the taint and is young, one is a DaemonSet's.
  pod("alone", { ...web, nodeName: "n0", ...owned("alone"), ...inZoneB }),
  pod("young", { ...web, nodeName: "n0", createdAt: NOW.getTime(), tolerations: [toleration("maintenance")] }),
  pod("agent", { ...web, nodeName: "n1", owners: [owner({ kind: "DaemonSet", uid: "agents" })] }),
];
type PolicyFile = Readonly<Record<string, unknown>>;

async function policyOf(plugin: string, args: PolicyFile, evictor: PolicyFile): Promise<DeschedulerPolicy> {
  const point = plugin === "LowNodeUtilization" ? "balance" : "deschedule";
  const pluginConfig = [
    { name: "DefaultEvictor", args: evictor },
    { name: plugin, args },
  ];
  const profiles = [{ name: "p", pluginConfig, plugins: { [point]: { enabled: [plugin] } } }];
  const parsed = await parseDeschedulerPolicy(
    dump({ apiVersion: "descheduler/v1alpha2", kind: "DeschedulerPolicy", profiles }),
  );
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.value;
}

const MANDATORY = { minReplicas: 2, noEvictionPolicy: "Mandatory" };
const thresholds = { cpu: 20, memory: 20, pods: 20 };
// prettier-ignore
const ROWS: readonly (readonly [string, PolicyFile])[] = [
  ["RemovePodsViolatingNodeTaints",   {}],
  ["RemovePodsViolatingNodeAffinity", { nodeAffinityType: ["requiredDuringSchedulingIgnoredDuringExecution"] }],
  ["PodLifeTime",                     { maxPodLifeTimeSeconds: 3600 }],
  ["LowNodeUtilization",              { thresholds, targetThresholds: { cpu: 40, memory: 40, pods: 90 } }],
];

type World = Pick<CycleWorld, "pods" | "policy">;

function worldOf({ pods, policy }: World): CycleWorld {
  const vmis = pods.filter(({ annotations }) => "kubevirt.io/domain" in annotations).map((one) => vmiOf(one));
  return {
    policy,
    settings: settings(),
    pods,
    nodes: NODES,
    vmis: new Map(vmis.map((vmi) => [keyOf(vmi), vmi])),
    evacuations: [],
    until: at(200),
    now: NOW,
  };
}

const isVictim = ({ namespace }: NamespacedName) => namespace !== "tenant";
const namesOf = (pods: readonly NamespacedName[]) => new Set(pods.map(({ name }) => name));

/** Everybody else's pods that the policy would have go if none ever went: all that it can come upon. */
function eligible(world: World): ReadonlySet<string> {
  const nominations = nominate(world.policy, { ...worldOf(world), isInProgress: () => false });
  const found: ScheduledPod[] = [];
  for (let next = nominations.next(); next.done !== true; next = nominations.next("Skipped"))
    found.push(next.value.pod);
  return namesOf(found.filter(isVictim));
}

interface Done {
  readonly report: CycleReport;
  /** Everybody else's pods that were written to or asked to go. */
  readonly touched: ReadonlySet<string>;
}

async function cycle(world: World): Promise<Done> {
  const touched: NamespacedName[] = [];
  const report = await runCycle(worldOf(world), {
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
  return { report, touched: namesOf(touched.filter(isVictim)) };
}

function touchedBy(action: Action): readonly NamespacedName[] {
  if (action.verb === "Event") return [];
  if (action.verb !== "CreateEvacuation") throw new Error(`no cycle may ${action.verb}`);
  const { namespace, spec } = action.evacuation;
  return [{ namespace, name: spec.pod?.name ?? "" }];
}

const OWNERS = VICTIMS.flatMap(({ owners }) => owners.map(({ uid }) => uid));
const anyLimit = fc.option(fc.constantFrom(0, 1, 2, 3), { nil: undefined });
const anyLimits = fc
  .record({
    evictionsTotal: anyLimit,
    evictionsPerNode: anyLimit,
    evictionsPerNamespace: anyLimit,
    evacuationsPerNode: anyLimit,
    evacuationsPerNamespace: anyLimit,
  })
  .map((limits): DeschedulingLimits =>
    Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined)),
  );

test.each(ROWS)(
  "given %s, whatever a tenant forges and whatever the limits, no other tenant's pod is touched that the policy would not have go",
  async (plugin, args) => {
    const policies = [{}, { nodeFit: true }].map((more) => policyOf(plugin, args, { ...MANDATORY, ...more }));
    const anyPolicy = fc.constantFrom(...(await Promise.all(policies)));
    let count = 0;
    await fc.assert(
      fc.asyncProperty(anyDeschedulerPods(OWNERS), anyLimits, anyPolicy, async ({ plain, forged }, limits, policy) => {
        const may = eligible({ pods: [...VICTIMS, ...plain], policy });
        const { touched } = await cycle({ pods: [...VICTIMS, ...forged], policy: { ...policy, limits } });
        expect([...touched].filter((name) => !may.has(name))).toEqual([]);
        count += touched.size;
      }),
      { seed: 20_260_301, numRuns: 300 },
    );
    expect(count).toBeGreaterThan(100);
  },
);
