/**
 * Finds the objects of a node that Lifeboat cannot parse. Because of each of these objects, a VM or a pod might still
 * be on the node.
 */
import { together } from "../facts/facts.ts";
import type { NamespacedName } from "../kube/facts.ts";
import type { NodeBlocker } from "../kube/node-evacuation.ts";
import { keyOf } from "../kube/objects.ts";
import { selectPodsOn, selectVmisOn } from "../kube/selections.ts";
import { vmsOf } from "../preflight/of-node.ts";
import { PREFLIGHT_PODS } from "../preflight/views.ts";
import { MAINTENANCE_MESSAGES as MESSAGES } from "./messages.ts";
import { oddEvacuations } from "./questions.ts";
import { blockerOf } from "./vms.ts";
import type { NodeWorld } from "./world.ts";

/** Lists the VMIs of the node and the NodeEvacuation's Evacuations that cannot be parsed. Reads no pods. */
export function unreadableVms(w: NodeWorld): readonly NodeBlocker[] {
  const [vmis, evacuations] = together(
    () => unreadableVmis(w),
    () => unreadableEvacuations(w),
  );
  return [...vmis, ...evacuations];
}

export function unreadableVmis({ ne, facts }: NodeWorld): readonly NodeBlocker[] {
  const { odd } = facts.readable("virtualmachineinstances", selectVmisOn(ne.spec.nodeName));
  return odd.map((issue) => named("VMI", issue));
}

/** Lists the NodeEvacuation's Evacuations that cannot be parsed. */
export function unreadableEvacuations(w: NodeWorld): readonly NodeBlocker[] {
  return oddEvacuations(w).map((issue) => named("Evacuation", issue));
}

/**
 * Lists all objects that cannot be parsed: VMIs, Evacuations, pods of the node, and VMIs that Lifeboat knows only from
 * their launcher pod on the node.
 */
export function unreadableOn(w: NodeWorld): readonly NodeBlocker[] {
  const { nodeName } = w.ne.spec;
  const [vms, vmis, pods] = together(
    () => unreadableVms(w),
    () => w.facts.readable("virtualmachineinstances", selectVmisOn(nodeName)).items,
    () => w.facts.readable(PREFLIGHT_PODS, selectPodsOn(nodeName)),
  );
  const known = new Set(vms.map(keyOf));
  const more = vmsOf(vmis, pods.items, w.facts).odd.filter(({ key }) => !known.has(keyOf(key)));
  return [
    ...vms,
    ...more.map(({ key, issue }) => unreadable("VMI", key, issue)),
    ...pods.odd.map((issue) => named("pod", issue)),
  ];
}

/** Each issue begins with the object: `namespace/name: what is wrong`. */
function named(kind: string, issue: string): NodeBlocker {
  const end = issue.indexOf(": ");
  const [namespace = "", name = namespace] = issue.slice(0, end).split("/");
  return unreadable(kind, { namespace, name }, issue.slice(end + 2));
}

function unreadable(kind: string, { namespace, name }: NamespacedName, why: string): NodeBlocker {
  return blockerOf({ namespace, name }, "Unreadable", MESSAGES.unreadable(kind, why));
}
