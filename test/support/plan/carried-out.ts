/**
 * Carries out the maintenance of a fleet node by node, as Lifeboat, KubeVirt and the sandbox's scheduler would. Uses no
 * code of the product. VMs that can migrate leave first, and other pods leave next. Evictions then end the remaining
 * guests, if no VM stays.
 */
import {
  isTrue,
  launcherPod,
  type Lots,
  type Node,
  type Pod,
  targetPod,
  type VirtualMachineInstance as Vmi,
} from "../../../infra/sandbox/index.ts";
import { bound, type Fleet, placeOf, podOf } from "./fleet.ts";

/** `Moves`: the VM migrated. `ShutsDown`: the eviction ended the guest. `Stays`: the VM is still on the node. */
export type Fate = "Moves" | "ShutsDown" | "Stays";

export interface Step {
  readonly node: string;
  /** The fates by the names of the VMs that were on the node. */
  readonly fates: ReadonlyMap<string, Fate>;
  /** The number of other pods that were evicted. */
  readonly evicted: number;
}

interface World extends Fleet {
  readonly lots: Lots;
  /** Pods for which no node has had room yet. */
  readonly pending: readonly Pod[];
}

/**
 * Maintains the nodes in this order. The scheduler chooses at random between equal nodes. A finished node is
 * schedulable again before the next node is cordoned.
 */
export function carryOut(fleet: Fleet, order: readonly string[], lots: Lots): readonly Step[] {
  let world: World = { ...fleet, lots, pending: [] };
  return order.map((node) => {
    const { next, fates } = drained(node, { ...world, nodes: fleet.nodes.map((one) => cordonedIf(node, one)) });
    const evicted = world.pods.filter((pod) => pod.spec?.nodeName === node && vmiOf(pod, world) === undefined).length;
    world = withPlaced({ ...next, nodes: fleet.nodes });
    return { node, fates, evicted };
  });
}

function cordonedIf(name: string, node: Node): Node {
  return node.metadata.name === name ? { ...node, spec: { ...node.spec, unschedulable: true } } : node;
}

function drained(node: string, before: World): { readonly next: World; readonly fates: ReadonlyMap<string, Fate> } {
  const here = inOrder(before.vmis.filter(({ status }) => status?.nodeName === node));
  const fates = new Map<string, Fate>();
  let world = before;
  for (const vmi of here.filter((one) => wayOf(one) === "Moves")) {
    const next = migrated(vmi, world);
    fates.set(vmi.metadata.name, next === undefined ? "Stays" : "Moves");
    world = next ?? world;
  }
  world = evicted(node, world);
  const isKept = here.some((vmi) => wayOf(vmi) === "Stays" || fates.get(vmi.metadata.name) === "Stays");
  for (const vmi of here.filter((one) => wayOf(one) !== "Moves")) {
    const ends = wayOf(vmi) === "ShutsDown" && !isKept;
    fates.set(vmi.metadata.name, ends ? "ShutsDown" : "Stays");
    if (ends) world = ended(vmi, world);
  }
  return { next: withPlaced(world), fates };
}

/** Sorts smaller VMs first, as POLICY.md specifies for VMs of the same priority. */
function inOrder(vmis: readonly Vmi[]): readonly Vmi[] {
  return vmis.toSorted((a, b) => sizeOf(a) - sizeOf(b) || byName(a, b));
}

function sizeOf({ spec }: Vmi): number {
  return Number.parseInt(spec.domain.memory?.guest ?? "0", 10);
}

/** Compares names only, because all objects are in one namespace. */
function byName({ metadata: a }: Vmi | Pod, { metadata: b }: Vmi | Pod): number {
  return a.name < b.name ? -1 : 1;
}

function wayOf(vmi: Vmi): Fate {
  const { evictionStrategy } = vmi.spec;
  if (evictionStrategy === "None") return "ShutsDown";
  if (isTrue(vmi.status?.conditions, "LiveMigratable")) return "Moves";
  return evictionStrategy === "LiveMigrateIfPossible" ? "ShutsDown" : "Stays";
}

/** Migrates the VM. Returns undefined if no node has room for the target pod. */
function migrated(vmi: Vmi, world: World): World | undefined {
  const own = podIn(vmi, world);
  const pod = targetOf(vmi, own, world);
  const node = placeOf(pod, world);
  if (node === undefined) return undefined;
  return arrived(bound(pod, node), vmi, { ...world, pods: world.pods.filter((one) => one !== own) });
}

/** Ends the guest. The VM starts again in a new pod, which waits for a node. */
function ended(vmi: Vmi, world: World): World {
  const own = podIn(vmi, world);
  const pods = world.pods.filter((one) => one !== own);
  const vmis = world.vmis.map((one) => (one === vmi ? { ...vmi, status: { ...vmi.status, nodeName: "" } } : one));
  return { ...world, pods, vmis, pending: [...world.pending, podOf(launcherPod(vmi), nextName(vmi, own))] };
}

/** Evicts the pods of Deployments. The Deployments create new pods in the order of a list. */
function evicted(node: string, world: World): World {
  const leave = world.pods.filter((pod) => pod.spec?.nodeName === node && vmiOf(pod, world) === undefined);
  const remade = leave.toSorted(byName).map((pod) => podOf(withoutNode(pod), pod.metadata.name));
  return { ...world, pods: world.pods.filter((pod) => !leave.includes(pod)), pending: [...world.pending, ...remade] };
}

function withoutNode({ spec, ...pod }: Pod): Pod {
  const { nodeName: _, ...rest } = spec ?? { containers: [] };
  return { ...pod, spec: rest };
}

/** Binds each pending pod for which a node has room. */
function withPlaced(before: World): World {
  return before.pending.reduce<World>(
    (world, pod) => {
      const node = placeOf(pod, world);
      if (node === undefined) return { ...world, pending: [...world.pending, pod] };
      return arrived(bound(pod, node), vmiOf(pod, world), world);
    },
    { ...before, pending: [] },
  );
}

function arrived(pod: Pod, vmi: Vmi | undefined, world: World): World {
  const nodeName = pod.spec?.nodeName ?? "";
  const activePods = { [pod.metadata.uid]: nodeName };
  const vmis = world.vmis.map((one) =>
    one === vmi ? { ...vmi, status: { ...vmi.status, nodeName, activePods } } : one,
  );
  return { ...world, vmis, pods: [...world.pods, pod] };
}

function podIn(vmi: Vmi, { pods }: World): Pod | undefined {
  return pods.find(({ metadata }) => metadata.uid in (vmi.status?.activePods ?? {}));
}

function vmiOf({ metadata }: Pod, { vmis }: World): Vmi | undefined {
  const [owner] = metadata.ownerReferences ?? [];
  return vmis.find(({ metadata: { uid } }) => uid === owner?.uid);
}

function targetOf(vmi: Vmi, own: Pod | undefined, { nodes }: World): Pod {
  const name = nextName(vmi, own);
  const node = nodes.find(({ metadata }) => metadata.name === vmi.status?.nodeName);
  const { namespace = "", resourceVersion, creationTimestamp } = vmi.metadata;
  const migration = {
    metadata: { namespace, name, uid: `job-${name}`, resourceVersion, creationTimestamp },
    spec: { vmiName: vmi.metadata.name },
  };
  return podOf(targetPod(vmi, migration, { pod: own, node }), name);
}

function nextName(vmi: Vmi, own: Pod | undefined): string {
  const count = Number(/-(\d+)x$/u.exec(own?.metadata.name ?? "")?.[1] ?? 0) + 1;
  return `virt-launcher-${vmi.metadata.name}-${count}x`;
}
