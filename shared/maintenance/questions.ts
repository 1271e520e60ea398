/** Answers questions about a node, its VMs and other NodeEvacuations. */
import { each, together, unlessFailed } from "../facts/facts.ts";
import { activeEvacuations } from "../facts/questions.ts";
import { ROOMY_NODES } from "../facts/views.ts";
import { isMarked } from "../evacuation/mark.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { NamespacedName, NodeFacts, VmiFacts } from "../kube/facts.ts";
import { isOddObject } from "../kube/failures.ts";
import type { NodeEvacuationFacts, VirtualMachineFacts } from "../kube/node-evacuation.ts";
import { isFinal, keyOf, named, vmiNameOf } from "../kube/objects.ts";
import { selectEvacuationsFor, selectLaunchersOn, selectVmisOn } from "../kube/selections.ts";
import type { PreflightFacts } from "../preflight/facts.ts";
import { boundBecause } from "../preflight/held.ts";
import { podsOfNode, preflightOf } from "../preflight/of-node.ts";
import { type Subject, subjectsOf } from "../preflight/progress.ts";
import { aheadOf, flagsOf, placedFirst } from "./beside.ts";
import { hasStarted, type NodeWorld } from "./world.ts";

export function nodeToDrain({ ne, facts }: NodeWorld): NodeFacts | undefined {
  return facts.get("nodes", named(ne.spec.nodeName));
}

function allOf({ facts }: NodeWorld): readonly NodeEvacuationFacts[] {
  return facts.readable("nodeevacuations").items;
}

/** Lists the other NodeEvacuations of the node. */
export function rivalsOf(w: NodeWorld): readonly NodeEvacuationFacts[] {
  return allOf(w).filter(({ uid, spec }) => uid !== w.ne.uid && spec.nodeName === w.ne.spec.nodeName);
}

/** Lists all Evacuations of the NodeEvacuation, including ended Evacuations. */
export function ownEvacuations({ ne, facts }: NodeWorld): readonly EvacuationFacts[] {
  if (!hasStarted(ne)) return [];
  const found = facts.readable("evacuations", selectEvacuationsFor(ne.name)).items;
  return found.filter(({ spec }) => spec.nodeEvacuation?.uid === ne.uid);
}

/** Lists the Evacuations of the NodeEvacuation that cannot be parsed, as texts: `namespace/name: what is wrong`. */
export function oddEvacuations({ ne, facts }: NodeWorld): readonly string[] {
  return hasStarted(ne) ? facts.readable("evacuations", selectEvacuationsFor(ne.name)).odd : [];
}

/** Lists the VMs on the node that have not finished. */
export function vmisOf({ ne, facts }: NodeWorld): readonly VmiFacts[] {
  const found = facts.readable("virtualmachineinstances", selectVmisOn(ne.spec.nodeName)).items;
  return found.filter((vmi) => !isFinal(vmi));
}

/** Returns the priorities of VMs. Reads nothing if all VMs have the same PriorityClass. */
export function prioritiesOf(vmis: readonly VmiFacts[], { ne, facts }: NodeWorld): ReadonlyMap<string, number> {
  const classes = new Set(vmis.map(({ priorityClass }) => priorityClass));
  if (ne.spec.virtualMachines.order !== "ByPriority" || classes.size < 2) return new Map();
  const pods = facts.readable("pods", selectLaunchersOn(ne.spec.nodeName)).items;
  return new Map(pods.map((pod) => [keyOf({ ...pod, name: vmiNameOf(pod) ?? "" }), pod.priority ?? 0]));
}

/** Returns the VirtualMachine, or undefined if it does not exist. */
export function virtualMachineOf(vmi: NamespacedName, { facts }: NodeWorld): VirtualMachineFacts | undefined {
  return facts.get("virtualmachines", vmi);
}

/**
 * Returns the active Evacuation of a VM on the node. If another party requested the Evacuation, returns it only if the
 * VMI's evacuationNodeName is set but the VM does not migrate. The status of this Evacuation says why.
 */
export function activeEvacuationOf(vmi: VmiFacts, w: NodeWorld): EvacuationFacts | undefined {
  const isIts = (e: EvacuationFacts) => isActive(e) && e.namespace === vmi.namespace && e.spec.vmiName === vmi.name;
  const own = ownEvacuations(w).find(isIts);
  return own ?? (isMarked(vmi) && !vmi.isMigrating ? activeEvacuations(w.facts).find(isIts) : undefined);
}

/** Returns why the VM can run on no other node, even with enough free CPU and memory. */
export function boundTo({ asks }: VmiFacts, { ne, facts }: NodeWorld): string | undefined {
  if (Object.keys(asks.nodeSelector).length === 0 && asks.required === undefined) return undefined;
  const nodes = facts.readable(ROOMY_NODES).items;
  return boundBecause(
    asks,
    nodes.filter(({ name }) => name !== ne.spec.nodeName),
  );
}

/**
 * `Again` means that the VM was restarted and has a new VMI. `Off` means that the VM does not run. `Unread` means that
 * the VMI cannot be parsed.
 */
export interface Whereabouts {
  readonly is: "Here" | "Elsewhere" | "Again" | "Off" | "Unread";
  readonly node?: string | undefined;
}

type Vm = NamespacedName & { readonly uid: string };

export function whereaboutsOf(vm: Vm, w: NodeWorld): Whereabouts {
  return unlessFailed(
    () => placeOf(vm, w),
    (failed) => {
      if (isOddObject(failed.failure)) return { is: "Unread" };
      throw failed;
    },
  );
}

function placeOf(vm: Vm, { ne, facts }: NodeWorld): Whereabouts {
  const vmi = facts.get("virtualmachineinstances", vm);
  if (vmi === undefined || isFinal(vmi)) return { is: "Off" };
  if (vmi.uid !== vm.uid) return { is: "Again" };
  return vmi.nodeName === ne.spec.nodeName ? { is: "Here" } : { is: "Elsewhere", node: vmi.nodeName };
}

export function podsLeft(w: NodeWorld): readonly Subject[] {
  const { ne, facts } = w;
  const [pods, node] = together(
    () => podsOfNode(ne.spec.nodeName, flagsOf(ne.spec), w),
    () => facts.get(ROOMY_NODES, named(ne.spec.nodeName)),
  );
  const nowhere = { otherNodes: [], otherPods: [], migratingElsewhere: [], leavingElsewhere: [] };
  return node === undefined ? [] : subjectsOf({ ...pods, ...nowhere, volumes: [], finished: [], node });
}

/** The forecast includes at most this number of other nodes that are drained before the node. */
const MOST_AHEAD = 5;

/**
 * Returns the facts for the preflight. If other nodes are drained before this node, the facts show the VMs of those
 * nodes as already moved. Returns undefined if the node does not exist.
 */
export function preflightBeside(w: NodeWorld): PreflightFacts | undefined {
  const ahead = aheadOf(w.ne, allOf(w), w.now).slice(0, MOST_AHEAD);
  const [found, others] = together(
    () => preflightOf(w.ne.spec.nodeName, flagsOf(w.ne.spec), w),
    () => each(ahead, (one) => ({ ...podsOfNode(one.spec.nodeName, flagsOf(one.spec), w), ne: one })),
  );
  return found && placedFirst(found, others);
}
