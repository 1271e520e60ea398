/** Carries out the maintenance of a fleet node by node, as KubeVirt and the sandbox's scheduler would. It uses none of the product's code. */
import {
  targetPod,
  launcherPod,
  type Pod,
  type VirtualMachineInstance as Vmi,
  type Node,
} from "../../../infra/sandbox/index.ts";
import { bound, type Fleet, placeOf, podOf } from "./fleet.ts";

/** `Moves`: migrated. `ShutsDown`: its eviction ended the guest, and it started elsewhere. `Stays`: it is still on the node. */
export type Fate = "Moves" | "ShutsDown" | "Stays";

export interface Step {
  readonly node: string;
  /** By the names of the VMs that were on the node. */
  readonly fates: ReadonlyMap<string, Fate>;
}

interface World {
  readonly fleet: Fleet;
  /** VMs that have ended and start when there is room, with their next pods. */
  readonly waiting: readonly (readonly [Vmi, Pod])[];
}

/** Maintains the nodes in this order. A finished node is schedulable again before the next one is cordoned. */
export function carryOut(fleet: Fleet, order: readonly string[]): readonly Step[] {
  let world: World = { fleet, waiting: [] };
  return order.map((name) => {
    const fates = new Map<string, Fate>();
    const { nodes } = world.fleet;
    world = withNodes(
      world,
      nodes.map((node) => (node.metadata.name === name ? cordoned(node) : node)),
    );
    for (const vmi of inOrder(world.fleet.vmis.filter(({ status }) => status?.nodeName === name))) {
      const { fate, next } = leave(vmi, world);
      fates.set(vmi.metadata.name, fate);
      world = next;
    }
    world = withStarted(withNodes(world, nodes));
    return { node: name, fates };
  });
}

function withNodes(world: World, nodes: readonly Node[]): World {
  return { ...world, fleet: { ...world.fleet, nodes } };
}

function withStarted({ fleet, waiting }: World): World {
  return waiting.reduce<World>((world, [vmi, pod]) => started(vmi, pod, world), { fleet, waiting: [] });
}

function started(vmi: Vmi, pod: Pod, { fleet, waiting }: World): World {
  const node = placeOf(pod, fleet.nodes, fleet.pods);
  if (node === undefined) return { fleet, waiting: [...waiting, [vmi, pod]] };
  const status = { ...vmi.status, nodeName: node, activePods: { [pod.metadata.uid]: node } };
  return {
    waiting,
    fleet: { ...fleet, vmis: [...fleet.vmis, { ...vmi, status }], pods: [...fleet.pods, bound(pod, node)] },
  };
}

function cordoned(node: Node): Node {
  return { ...node, spec: { ...node.spec, unschedulable: true } };
}

/** Smaller VMs first, as POLICY says of VMs of one priority. Those whose guests end come last. */
function inOrder(vmis: readonly Vmi[]): readonly Vmi[] {
  return vmis.toSorted(
    (a, b) => Number(isEnding(a)) - Number(isEnding(b)) || sizeOf(a) - sizeOf(b) || (keyOf(a) < keyOf(b) ? -1 : 1),
  );
}

function sizeOf({ spec }: Vmi): number {
  return Number.parseInt(spec.domain.memory?.guest ?? "0", 10);
}

function keyOf({ metadata }: Vmi): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function isMigratable({ status }: Vmi): boolean {
  return status?.conditions?.some((one) => one.type === "LiveMigratable" && one.status === "True") === true;
}

function isEnding(vmi: Vmi): boolean {
  const { evictionStrategy } = vmi.spec;
  return evictionStrategy === "None" || (evictionStrategy === "LiveMigrateIfPossible" && !isMigratable(vmi));
}

function leave(vmi: Vmi, world: World): { readonly fate: Fate; readonly next: World } {
  const { fleet } = world;
  const own = fleet.pods.find(({ metadata }) => metadata.uid in (vmi.status?.activePods ?? {}));
  const without = {
    ...fleet,
    pods: fleet.pods.filter((pod) => pod !== own),
    vmis: fleet.vmis.filter((one) => one !== vmi),
  };
  if (isEnding(vmi)) {
    const next = podOf(launcherPod(vmi), nextName(vmi, own));
    return { fate: "ShutsDown", next: started(vmi, next, { ...world, fleet: without }) };
  }
  if (!isMigratable(vmi)) return { fate: "Stays", next: world };
  const target = targetOf(vmi, own, fleet);
  // The source pod is there until the guest has moved.
  const node = placeOf(target, fleet.nodes, fleet.pods);
  if (node === undefined) return { fate: "Stays", next: world };
  const status = { ...vmi.status, nodeName: node, activePods: { [target.metadata.uid]: node } };
  const moved = {
    ...without,
    vmis: [...without.vmis, { ...vmi, status }],
    pods: [...without.pods, bound(target, node)],
  };
  return { fate: "Moves", next: { ...world, fleet: moved } };
}

function targetOf(vmi: Vmi, own: Pod | undefined, { nodes }: Fleet): Pod {
  const name = nextName(vmi, own);
  const node = nodes.find(({ metadata }) => metadata.name === vmi.status?.nodeName);
  const migration = {
    metadata: { namespace: vmi.metadata.namespace, name, uid: `job-${name}` },
    spec: { vmiName: vmi.metadata.name },
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Of a migration the pod needs its name and its UID.
  return podOf(targetPod(vmi, migration as Parameters<typeof targetPod>[1], { pod: own, node }), name);
}

function nextName(vmi: Vmi, own: Pod | undefined): string {
  const count = Number(/-(\d+)x$/u.exec(own?.metadata.name ?? "")?.[1] ?? 0) + 1;
  return `virt-launcher-${vmi.metadata.name}-${count}x`;
}
