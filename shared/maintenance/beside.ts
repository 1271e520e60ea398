/**
 * Finds the nodes that are drained before a given node. The VMs of these nodes move first, and use resources on the
 * remaining nodes.
 */
import { hasEnded, type NodeEvacuationFacts, type NodeEvacuationSpec } from "../kube/node-evacuation.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { CREATED_BY_LABEL } from "../kube/names.ts";
import { isLauncher, keyOf, ownValue, vmiNameOf } from "../kube/objects.ts";
import type { DrainFlags, NeighbourPod, PreflightFacts, PreflightPod } from "../preflight/facts.ts";
import { placeAll } from "../preflight/place.ts";
import { canMigrate, isLive } from "../settings/strategy.ts";
import { hasStarted, isTimeReached } from "./world.ts";

/**
 * Lists the NodeEvacuations of other nodes that will start before this NodeEvacuation. If several NodeEvacuations are
 * due, the oldest starts first. Leaves out NodeEvacuations that have started, because the preflight (the forecast of
 * one drain) reads them itself.
 */
export function aheadOf(
  ne: NodeEvacuationFacts,
  all: readonly NodeEvacuationFacts[],
  now: Date,
): readonly NodeEvacuationFacts[] {
  const isOlder = (one: NodeEvacuationFacts) =>
    one.createdAt < ne.createdAt || (one.createdAt === ne.createdAt && one.uid < ne.uid);
  const startsFirst = (one: NodeEvacuationFacts) =>
    isTimeReached(one, now) && isOlder(one) && one.spec.progress === "Running";
  return all.filter((one) => {
    const isOther = one.uid !== ne.uid && one.spec.nodeName !== ne.spec.nodeName;
    return isOther && !hasEnded(one) && !hasStarted(one) && one.spec.intent !== "Withdrawn" && startsFirst(one);
  });
}

/**
 * Returns the options of the drain. The option `force` is always false, so a pod without a controller blocks the drain.
 */
export function flagsOf({ otherPods, virtualMachines: { concurrency, order } }: NodeEvacuationSpec): DrainFlags {
  const deleteEmptyDirData = otherPods === "EvictWithLocalData";
  return { force: false, deleteEmptyDirData, order, ...(concurrency !== undefined && { concurrency }) };
}

export interface Ahead {
  readonly ne: NodeEvacuationFacts;
  readonly pods: readonly PreflightPod[];
  readonly vmis: readonly VmiFacts[];
}

/**
 * Returns the facts as if the VMs of the nodes in `ahead` had already moved. A VM that fits on no other node stays.
 */
export function placedFirst(facts: PreflightFacts, ahead: readonly Ahead[]): PreflightFacts {
  return ahead.reduce(placeOne, facts);
}

function placeOne(facts: PreflightFacts, one: Ahead): PreflightFacts {
  const node = facts.otherNodes.find(({ name }) => name === one.ne.spec.nodeName);
  if (node === undefined) return facts;
  const elsewhere = facts.otherPods.filter(({ nodeName }) => nodeName !== node.name);
  const leaving = one.pods.filter((pod) => isToLeave(pod, one, elsewhere, facts));
  const closed = { ...facts.node, unschedulable: true };
  const rooms = placeAll(leaving, {
    node,
    otherNodes: [closed, ...facts.otherNodes.filter((other) => other !== node)],
    otherPods: [...elsewhere, ...facts.pods],
    pods: one.pods,
    vmis: one.vmis,
    migrations: [],
    leavingElsewhere: [],
    settings: facts.settings,
    volumes: facts.volumes,
  });
  const otherPods = facts.otherPods.map((pod): NeighbourPod => {
    const { fits = false, node: nodeName } = rooms.get(pod.uid) ?? {};
    return fits && nodeName !== undefined ? { ...pod, nodeName } : pod;
  });
  return { ...facts, otherPods };
}

/** Returns true if the VM will move or restart, and no other node has the VM's new pod yet. */
function isToLeave(
  pod: PreflightPod,
  { ne, vmis }: Ahead,
  elsewhere: readonly NeighbourPod[],
  { settings }: PreflightFacts,
): boolean {
  const vmi = vmis.find((one) => keyOf(one) === keyOf({ ...pod, name: vmiNameOf(pod) ?? "" }));
  if (vmi === undefined || !isLauncher(pod) || !isLive(vmi)) return false;
  if (elsewhere.some(({ labels }) => ownValue(labels, CREATED_BY_LABEL) === vmi.uid)) return false;
  const restarts = !vmi.liveMigratable.migratable && ne.spec.virtualMachines.whenBlocked === "Restart";
  return restarts || canMigrate(vmi, settings);
}
