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

/** Maintains the nodes in this order. A finished node is schedulable again before the next one is cordoned. */
export function carryOut(fleet: Fleet, order: readonly string[]): readonly Step[] {
  let world = fleet;
  return order.map((name) => {
    const fates = new Map<string, Fate>();
    const nodes = world.nodes.map((node) => (node.metadata.name === name ? cordoned(node) : node));
    for (const vmi of inOrder(world.vmis.filter(({ status }) => status?.nodeName === name))) {
      const { fate, next } = leave(vmi, { ...world, nodes });
      fates.set(vmi.metadata.name, fate);
      world = { ...next, nodes: world.nodes };
    }
    return { node: name, fates };
  });
}

function cordoned(node: Node): Node {
  return { ...node, spec: { ...node.spec, unschedulable: true } };
}

/** Smaller VMs first, as POLICY says of VMs of one priority. */
function inOrder(vmis: readonly Vmi[]): readonly Vmi[] {
  const size = ({ spec }: Vmi) => Number.parseInt(spec.domain.memory?.guest ?? "0", 10);
  const key = ({ metadata }: Vmi) => `${metadata.namespace}/${metadata.name}`;
  return vmis.toSorted((a, b) => size(a) - size(b) || (key(a) < key(b) ? -1 : 1));
}

function leave(vmi: Vmi, world: Fleet): { readonly fate: Fate; readonly next: Fleet } {
  const { evictionStrategy } = vmi.spec;
  const isMigratable = vmi.status?.conditions?.some(
    ({ type, status }) => type === "LiveMigratable" && status === "True",
  );
  const ends = evictionStrategy === "None" || (evictionStrategy === "LiveMigrateIfPossible" && isMigratable !== true);
  if (!ends && isMigratable !== true) return { fate: "Stays", next: world };
  const own = world.pods.find(({ metadata }) => metadata.uid in (vmi.status?.activePods ?? {}));
  const rest = world.pods.filter((pod) => pod !== own);
  const pod = ends ? podOf(launcherPod(vmi), nextName(vmi, own)) : targetOf(vmi, own, world);
  const node = placeOf(pod, world.nodes, ends ? rest : world.pods);
  if (node === undefined) {
    const gone = { ...world, pods: rest, vmis: world.vmis.filter((one) => one !== vmi) };
    return ends ? { fate: "ShutsDown", next: gone } : { fate: "Stays", next: world };
  }
  const moved = { ...vmi, status: { ...vmi.status, nodeName: node, activePods: { [pod.metadata.uid]: node } } };
  const vmis = world.vmis.map((one) => (one === vmi ? moved : one));
  return { fate: ends ? "ShutsDown" : "Moves", next: { ...world, vmis, pods: [...rest, bound(pod, node)] } };
}

function targetOf(vmi: Vmi, own: Pod | undefined, { nodes }: Fleet): Pod {
  const name = nextName(vmi, own);
  const node = nodes.find(({ metadata }) => metadata.name === vmi.status?.nodeName);
  const migration = {
    metadata: { namespace: vmi.metadata.namespace, name, uid: `job-${name}` },
    spec: { vmiName: vmi.metadata.name },
  };
  return podOf(targetPod(vmi, migration as Parameters<typeof targetPod>[1], { pod: own, node }), name);
}

function nextName(vmi: Vmi, own: Pod | undefined): string {
  const count = Number(/-(\d+)x$/u.exec(own?.metadata.name ?? "")?.[1] ?? 0) + 1;
  return `virt-launcher-${vmi.metadata.name}-${count}x`;
}
