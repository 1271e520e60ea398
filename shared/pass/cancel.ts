/** Cancelling what evacuates a VMI, as a person asks for it: on the page, or with the command. */
import type { Cluster } from "../cluster/cluster.ts";
import type { EvacuationFacts, NamespacedName, VmiFacts } from "../policy/facts.ts";
import { newEvacuation } from "../policy/evacuation/identity.ts";
import { isMarked } from "../policy/evacuation/mark.ts";
import { isActive } from "../policy/evacuation/phase.ts";
import { carriesDrainTaint } from "../policy/kube/taints.ts";
import type { Observer } from "./world.ts";

export type Cancelling =
  | { readonly result: "Withdrawn"; readonly evacuations: readonly EvacuationFacts[] }
  | { readonly result: "NotEvacuating" }
  /** The drain taint of the VMI's node would begin it again at once. */
  | { readonly result: "DrainTaint"; readonly node: string };

type Foreseen =
  | { readonly result: "Possible"; readonly vmi: VmiFacts; readonly evacuations: readonly EvacuationFacts[] }
  | Exclude<Cancelling, { readonly result: "Withdrawn" }>;

/** What a cancel would meet. Changes nothing. */
export async function foreseeCancel(key: NamespacedName, { cluster, settings }: Observer): Promise<Foreseen> {
  const [vmi, evacuations] = await Promise.all([cluster.getVmi(key), cluster.listEvacuations(key)]);
  if (vmi === undefined || (!evacuations.some(isActive) && !isMarked(vmi))) return { result: "NotEvacuating" };
  const node = vmi.nodeName === undefined ? undefined : await cluster.getNode(vmi.nodeName);
  if (node !== undefined && carriesDrainTaint(node, settings)) return { result: "DrainTaint", node: node.name };
  return { result: "Possible", vmi, evacuations };
}

/** Withdraws every evacuation of the VMI. One that only KubeVirt's mark tells of becomes an Evacuation first. */
export async function cancelEvacuations(key: NamespacedName, observer: Observer): Promise<Cancelling> {
  const found = await foreseeCancel(key, observer);
  if (found.result !== "Possible") return found;
  const active = found.evacuations.filter(isActive);
  const marked = active.length > 0 ? active : await begun(found.vmi, found.evacuations, observer);
  for (const evacuation of marked) await observer.cluster.withdraw(evacuation);
  return { result: "Withdrawn", evacuations: marked };
}

async function begun(
  vmi: VmiFacts,
  evacuations: readonly EvacuationFacts[],
  { cluster, now }: { readonly cluster: Cluster; readonly now: Date },
): Promise<readonly EvacuationFacts[]> {
  // Whoever cancels may be any user, and who has the VM evicted is not known.
  const beginning = { cause: "Operator", requestedBy: "" } as const;
  const created = await cluster.createEvacuation(newEvacuation(vmi, beginning, { evacuations, now }));
  return created === "Conflict" ? [] : [created];
}
