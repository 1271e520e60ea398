/**
 * Simulates the maintenance of a fleet node by node, without code of the product. On each node, VMs that can migrate
 * move first, and other pods are evicted next. If every VM can leave the node, evictions shut down the remaining
 * guests.
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

/**
 * `Moves`: the VM has migrated. `ShutsDown`: an eviction has shut down the guest. `Stays`: the VM is still on the node.
 */
export type Fate = "Moves" | "ShutsDown" | "Stays";

export interface Step {
  readonly node: string;
  readonly fates: ReadonlyMap<string, Fate>;
  readonly evicted: number;
}

interface World extends Fleet {
  readonly lots: Lots;
  readonly pending: readonly Pod[];
}

/**
 * Maintains the nodes in this order. The scheduler chooses randomly between equal nodes. Each node is uncordoned before
 * the next node is cordoned.
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

/** Sorts VMs by size, smallest first. POLICY.md specifies this order for VMs of the same priority. */
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

function migrated(vmi: Vmi, world: World): World | undefined {
  const own = podIn(vmi, world);
  const pod = targetOf(vmi, own, world);
  const node = placeOf(pod, world);
  if (node === undefined) return undefined;
  return arrived(bound(pod, node), vmi, { ...world, pods: world.pods.filter((one) => one !== own) });
}

/** Stops the guest. The VM restarts in a new pod, which waits for a node. */
function ended(vmi: Vmi, world: World): World {
  const own = podIn(vmi, world);
  const pods = world.pods.filter((one) => one !== own);
  const vmis = world.vmis.map((one) => (one === vmi ? { ...vmi, status: { ...vmi.status, nodeName: "" } } : one));
  return { ...world, pods, vmis, pending: [...world.pending, podOf(launcherPod(vmi), nextName(vmi, own))] };
}

function evicted(node: string, world: World): World {
  const leave = world.pods.filter((pod) => pod.spec?.nodeName === node && vmiOf(pod, world) === undefined);
  const remade = leave.toSorted(byName).map((pod) => podOf(withoutNode(pod), pod.metadata.name));
  return { ...world, pods: world.pods.filter((pod) => !leave.includes(pod)), pending: [...world.pending, ...remade] };
}

function withoutNode({ spec, ...pod }: Pod): Pod {
  const { nodeName: _, ...rest } = spec ?? { containers: [] };
  return { ...pod, spec: rest };
}

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
