/**
 * Descheduling, and what tenants write on their pods: whose pods are asked to go is the policy's and the nodes' business. What
 * is shared is shared: how full nodes are, and the limits, which who is on the way (or says so) takes up.
 */
import * as fc from "fast-check";
import { dump } from "js-yaml";
import { describe, expect, test } from "vitest";
import { parseDeschedulerPolicy } from "../../../shared/descheduling/policy-file.ts";
import { type CycleReport, type CycleWorld, runCycle } from "../../../shared/descheduling/cycle/cycle.ts";
import type { DeschedulerPolicy, DeschedulingLimits } from "../../../shared/descheduling/cycle/policy.ts";
import type { ScheduledPod } from "../../../shared/kube/scheduled-pod.ts";
import { nominate } from "../../../shared/descheduling/cycle/nominations.ts";
import type { Action } from "../../../shared/kube/action.ts";
import type { NamespacedName } from "../../../shared/kube/facts.ts";
import { at, NOW, owner, settings, time } from "../../support/fixtures.ts";
import { node, pod, requirement, taint, term, toleration } from "../../support/descheduling/fixtures.ts";
import { IN_PROGRESS, REQUEST_ONLY, REQUESTED, vmiOf, vmPod } from "../../support/descheduling/worlds.ts";
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
const ROWS: readonly (readonly [string, PolicyFile, stays: readonly string[]])[] = [
  ["RemovePodsViolatingNodeTaints",   {},                                                                        ["virt-launcher-vm-1-x7k2p", "web-1"]],
  ["RemovePodsViolatingNodeAffinity", { nodeAffinityType: ["requiredDuringSchedulingIgnoredDuringExecution"] }, ["virt-launcher-vm-1-x7k2p", "web-0"]],
  ["PodLifeTime",                     { maxPodLifeTimeSeconds: 3600 },                                           []],
  ["LowNodeUtilization",              { thresholds, targetThresholds: { cpu: 40, memory: 40, pods: 90 } },       []],
];
const PLUGINS = await Promise.all(
  ROWS.map(async ([plugin, args, stays]) => {
    const plain = await policyOf(plugin, args, MANDATORY);
    const fitting = await policyOf(plugin, args, { ...MANDATORY, nodeFit: true });
    return { plugin, stays, plain, policies: [plain, fitting] };
  }),
);
const BY_AGE = await policyOf("PodLifeTime", { maxPodLifeTimeSeconds: 3600 }, MANDATORY);
const BLIND_TO_USAGE = ["RemovePodsViolatingNodeTaints", "PodLifeTime"];

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
    inBackground: true,
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
    evict: async ({ pod }, inBackground) => {
      touched.push(pod);
      return inBackground ? "Background" : "Evicted";
    },
  });
  return { report, touched: namesOf(touched.filter(isVictim)) };
}

function touchedBy(action: Action): readonly NamespacedName[] {
  if (action.verb === "Event") return [];
  if (action.verb === "AnnotatePod") return [action.pod];
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
const options = { seed: 20_260_301, numRuns: 600 };

describe.each(PLUGINS)("$plugin", ({ policies, stays }) => {
  test("left alone, it asks some pods to go and spares others", async () => {
    for (const policy of policies) {
      const { touched } = await cycle({ pods: VICTIMS, policy });
      expect(touched.size).toBeGreaterThan(0);
      for (const name of stays) expect(touched).not.toContain(name);
      for (const name of ["young", "agent"]) expect(touched).not.toContain(name);
    }
  });

  test("whatever is forged and whatever the limits: no other tenant's pod is touched that the policy would not have go", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyDeschedulerPods(OWNERS),
        anyLimits,
        fc.constantFrom(...policies),
        async ({ plain, forged }, limits, policy) => {
          const may = eligible({ pods: [...VICTIMS, ...plain], policy });
          const { touched } = await cycle({ pods: [...VICTIMS, ...forged], policy: { ...policy, limits } });
          expect([...touched].filter((name) => !may.has(name))).toEqual([]);
        },
      ),
      options,
    );
  });
});

describe.each(PLUGINS.filter(({ plugin }) => BLIND_TO_USAGE.includes(plugin)))(
  "$plugin, which does not look at how full nodes are",
  ({ plain }) => {
    test("with limits by namespace only, other tenants' pods are asked as if the forgery were not there", async () => {
      const policy = { ...plain, limits: { evictionsPerNamespace: 1, evacuationsPerNamespace: 1 } };
      const { touched: expected } = await cycle({ pods: VICTIMS, policy });
      expect(expected.size).toBe(2);
      await fc.assert(
        fc.asyncProperty(anyDeschedulerPods(OWNERS), async ({ forged }) => {
          expect((await cycle({ pods: [...VICTIMS, ...forged], policy })).touched).toEqual(expected);
        }),
        options,
      );
    });
  },
);

describe("what a forger gains: a pod that says it is on its way takes up", () => {
  const SAYING = {
    "confirmed, for ever": { [REQUEST_ONLY]: "", [IN_PROGRESS]: "true" },
    "requested, until that expires": { [REQUESTED]: time(-1) },
    "requested long ago: nothing": { [REQUESTED]: time(-700) },
    "requested in the future: nothing": { [REQUESTED]: time(3600) },
    "under way, but not one that is only asked: nothing": { [IN_PROGRESS]: "true" },
  } as const;
  // prettier-ignore
  const rows: readonly (readonly [keyof DeschedulingLimits, keyof typeof SAYING, taken: boolean])[] = [
    ["evictionsTotal",          "confirmed, for ever",                                true ],
    ["evictionsPerNode",        "confirmed, for ever",                                true ],
    ["evacuationsPerNode",      "confirmed, for ever",                                true ],
    ["evictionsPerNamespace",   "confirmed, for ever",                                false],
    ["evacuationsPerNamespace", "confirmed, for ever",                                false],
    ["evictionsTotal",          "requested, until that expires",                      true ],
    ["evictionsTotal",          "requested long ago: nothing",                        false],
    ["evictionsTotal",          "requested in the future: nothing",                   false],
    ["evictionsTotal",          "under way, but not one that is only asked: nothing", false],
  ];
  test.each(rows)("%s, %s: %s", async (limit, saying, taken) => {
    const policy = { ...BY_AGE, limits: { [limit]: 1 } };
    const forged = pod("mine", { namespace: "tenant", nodeName: "n0", annotations: SAYING[saying] });
    // A replica for minReplicas, on no node of the policy's.
    const elsewhere = vmPod("vm-9", { nodeName: "n9" });
    const { report } = await cycle({ pods: [forged, elsewhere, VM], policy });
    expect(report.nominations.map(({ pod: { name }, result }) => [name, result])).toEqual([
      [VM.name, taken ? limit : "Background"],
    ]);
  });
});
