/**
 * Generates fleets of nodes, VMs with launcher pods, and pods of Deployments. The sandbox's scheduler places the pods.
 */
import * as fc from "fast-check";
import {
  bestOf,
  type core,
  launcherPod,
  LABEL,
  type Lots,
  type Node,
  type Pod,
  seededLots,
  type VirtualMachineInstance as Vmi,
  whyNot,
} from "../../../infra/sandbox/index.ts";
import { asJson } from "../json.ts";

const HOSTNAME = "kubernetes.io/hostname";
const ZONE = "topology.kubernetes.io/zone";
export const NAMESPACE = "fleet";
const CREATED = "2026-01-01T00:00:00Z";

export interface Fleet {
  readonly nodes: readonly Node[];
  readonly vmis: readonly Vmi[];
  readonly pods: readonly Pod[];
}

const nodeShape = fc.record({
  memory: fc.constantFrom(128, 128, 256),
  isOld: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
  isTainted: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
  isSoft: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});

const vmShape = fc.record({
  memory: fc.constantFrom(1, 2, 2, 4, 4, 8, 16),
  cpu: fc.constantFrom("100m", "1", "2", "4"),
  strategy: fc.constantFrom(...Array<string>(12).fill("LiveMigrate"), "LiveMigrateIfPossible", "None"),
  isPinned: fc.integer({ min: 0, max: 39 }).map((n) => n === 0),
  model: fc.constantFrom("host-model", "host-model", "Cascadelake-Server", "Haswell"),
  group: fc.integer({ min: 0, max: 60 }),
  spread: fc.constantFrom("none", "none", "none", "none", "apart", "zones", "preferred"),
  wants: fc.constantFrom("any", "any", "any", "any", "any", "ssd", "zone-1"),
});

type NodeShape = typeof nodeShape extends fc.Arbitrary<infer T> ? T : never;
type VmShape = typeof vmShape extends fc.Arbitrary<infer T> ? T : never;

const shape = fc.record({
  /** The factor for the memory of VMs. With a large factor, the fleet is nearly full. */
  scale: fc.constantFrom(1, 1, 1.25, 1.5, 2),
  hasPinned: fc.boolean(),
  nodes: fc.array(nodeShape, { minLength: 20, maxLength: 20 }),
  vms: fc.array(vmShape, { minLength: 300, maxLength: 300 }),
  others: fc.array(fc.constantFrom("1Gi", "2Gi", "4Gi"), { minLength: 60, maxLength: 60 }),
});

/** Returns a fleet of 20 nodes and 300 VMs, which depends only on the seed. */
export function fleetFor(seed: number): Fleet {
  const [drawn] = fc.sample(shape, { seed, numRuns: 1 });
  if (drawn === undefined) throw new Error("nothing was drawn");
  return fleetOf(drawn, seededLots(seed));
}

type Shape = typeof shape extends fc.Arbitrary<infer T> ? T : never;

function fleetOf({ scale, hasPinned, nodes: shapes, vms, others }: Shape, lots: Lots): Fleet {
  const nodes = shapes.map(nodeOf);
  const placed: Pod[] = [];
  const vmis: Vmi[] = [];
  const add = (draft: core.Draft<Pod>, name: string) => {
    const pod = podOf(draft, name);
    const node = placeOf(pod, { nodes, pods: placed, lots });
    if (node !== undefined) placed.push(bound(pod, node));
    return node;
  };
  others.forEach((memory, i) => void add(otherPod(i, memory), `other-${i}`));
  vms.forEach((one, i) => {
    const vmi = vmiOf({ ...one, isPinned: hasPinned && one.isPinned }, Math.ceil(one.memory * scale), i);
    const name = add(launcherPod(vmi), `virt-launcher-${vmi.metadata.name}`);
    if (name !== undefined) vmis.push(running(vmi, name));
  });
  return { nodes, vmis, pods: placed };
}

interface Placed extends Pick<Fleet, "nodes" | "pods"> {
  readonly lots: Lots;
}

/** Returns the name of the node to which the sandbox's scheduler binds the pod. */
export function placeOf(pod: Pod, { nodes, pods, lots }: Placed): string | undefined {
  const on = Map.groupBy(pods, (one) => one.spec?.nodeName ?? "");
  const everywhere = nodes.flatMap((node) => (on.get(node.metadata.name) ?? []).map((other) => ({ pod: other, node })));
  const candidates = nodes
    .map((node) => ({ node, neighbours: on.get(node.metadata.name) ?? [] }))
    .filter(({ node, neighbours }) => {
      const elsewhere = everywhere.filter((one) => one.node !== node);
      return whyNot(pod, node, neighbours, { nodes, elsewhere }) === undefined;
    });
  return bestOf({ pod, candidates, placed: everywhere, scoring: "LeastAllocated", lots })?.node.metadata.name;
}

export function podOf(draft: core.Draft<Pod>, name: string): Pod {
  const own = { namespace: NAMESPACE, name, uid: `pod-${name}`, resourceVersion: "1", creationTimestamp: CREATED };
  const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  return { ...draft, apiVersion: "v1", kind: "Pod", metadata: { ...draft.metadata, ...own }, status };
}

export function bound(pod: Pod, nodeName: string): Pod {
  return { ...pod, spec: { containers: [], ...pod.spec, nodeName } };
}

function nodeOf({ memory, isOld, isTainted, isSoft }: NodeShape, at: number): Node {
  const name = `node-${at + 1}`;
  const cpu = isOld ? "Haswell" : "Cascadelake-Server";
  const models = isOld ? ["Haswell"] : ["Haswell", "Cascadelake-Server"];
  const labels = {
    [HOSTNAME]: name,
    [ZONE]: `zone-${at % 3}`,
    [LABEL.schedulable]: "true",
    ...(at % 4 === 0 && { disk: "ssd" }),
    [`host-model-cpu.node.kubevirt.io/${cpu}`]: "true",
    ...Object.fromEntries(
      models.flatMap((one) => [
        [`cpu-model.node.kubevirt.io/${one}`, "true"],
        [`cpu-model-migration.node.kubevirt.io/${one}`, "true"],
      ]),
    ),
  };
  const taints = [
    ...(isTainted ? [{ key: "dedicated", value: "db", effect: "NoSchedule" }] : []),
    ...(isSoft ? [{ key: "old", value: "", effect: "PreferNoSchedule" }] : []),
  ];
  const resources = { cpu: "64", memory: `${memory}Gi`, pods: "110", "ephemeral-storage": "500Gi" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, uid: `node-${name}`, resourceVersion: "1", creationTimestamp: CREATED, labels },
    spec: { taints },
    status: { allocatable: resources, capacity: resources, conditions: [{ type: "Ready", status: "True" }] },
  };
}

function otherPod(at: number, memory: string): core.Draft<Pod> {
  const owner = `rs-${at % 12}`;
  const metadata = {
    labels: { app: owner },
    ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: owner, uid: owner, controller: true }],
  };
  return {
    metadata,
    spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu: "200m", memory } } }] },
  };
}

const WANTED: Readonly<Record<string, Record<string, string>>> = {
  ssd: { disk: "ssd" },
  "zone-1": { [ZONE]: "zone-1" },
};

function vmiOf({ strategy, model, cpu, isPinned, ...one }: VmShape, memory: number, at: number): Vmi {
  const app = `app-${one.group}`;
  const affinity = affinityOf(one.spread, app);
  const nodeSelector = WANTED[one.wants];
  const name = `vm-${at + 1}`;
  const own = { namespace: NAMESPACE, name, uid: `vmi-${name}`, resourceVersion: "1", creationTimestamp: CREATED };
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstance",
    metadata: { ...own, labels: { app } },
    spec: {
      evictionStrategy: strategy,
      domain: {
        cpu: { model, cores: 1, sockets: 1, threads: 1 },
        memory: { guest: `${memory}Gi` },
        resources: { requests: { cpu, memory: `${memory}Gi` } },
        devices: {},
      },
      ...(affinity && { affinity }),
      ...(one.spread === "zones" && { topologySpreadConstraints: [evenly(app)] }),
      ...(nodeSelector && { nodeSelector }),
      ...(isPinned && { volumes: [{ name: "disk", hostDisk: { path: "/disk.img", type: "Disk" } }] }),
    },
  };
}

function affinityOf(spread: VmShape["spread"], app: string): Vmi["spec"]["affinity"] {
  const apart = { topologyKey: HOSTNAME, labelSelector: { matchLabels: { app } } };
  switch (spread) {
    case "apart":
      return { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart] } };
    case "preferred":
      return {
        podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 50, podAffinityTerm: apart }] },
      };
    case "zones":
    case "none":
      return undefined;
  }
}

function evenly(app: string) {
  const labelSelector = { matchLabels: { app } };
  return { maxSkew: 2, topologyKey: ZONE, whenUnsatisfiable: "DoNotSchedule", labelSelector };
}

function isPinned({ spec }: Vmi): boolean {
  return (spec.volumes ?? []).length > 0;
}

function running(vmi: Vmi, nodeName: string): Vmi {
  const migratable = isPinned(vmi)
    ? { status: "False", reason: "DisksNotLiveMigratable", message: "cannot migrate VMI: non-shared HostDisk" }
    : { status: "True" };
  const { labels } = vmi.metadata;
  return {
    ...vmi,
    metadata: { ...vmi.metadata, labels: { ...labels, [LABEL.nodeName]: nodeName } },
    status: {
      phase: "Running",
      nodeName,
      activePods: { [`pod-virt-launcher-${vmi.metadata.name}`]: nodeName },
      conditions: [
        { type: "Ready", status: "True" },
        { type: "LiveMigratable", ...migratable },
      ],
    },
  };
}

/** Returns the objects for a fake API, as JSON keyed by resource. */
export function objectsOf({ nodes, vmis, pods }: Fleet) {
  return {
    nodes: nodes.map((one) => asJson(one)),
    virtualmachineinstances: vmis.map((one) => asJson(one)),
    pods: pods.map((one) => asJson(one)),
    virtualmachines: vmis.map(({ metadata: { namespace = "", name, labels }, spec }) =>
      asJson({
        apiVersion: "kubevirt.io/v1",
        kind: "VirtualMachine",
        metadata: { namespace, name, uid: `vm-of-${name}`, resourceVersion: "1", creationTimestamp: CREATED },
        spec: { runStrategy: "Always", template: { metadata: { labels: { app: labels?.["app"] } }, spec } },
      }),
    ),
  };
}
