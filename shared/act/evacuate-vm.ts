/** Carries out commands for a VM: evacuate, retry and cancel. */
import { type Client, meaningOf, named } from "../kube/client.ts";
import { activeEvacuation, newEvacuation, retryOf } from "../evacuation/identity.ts";
import { isMarked } from "../evacuation/mark.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { NamespacedName, VmiFacts } from "../kube/facts.ts";
import { createEvacuation, withAnother } from "./create.ts";
import { carriesDrainTaint, isFinal } from "../kube/objects.ts";
import { observeNamed } from "../kube/requests.ts";
import type { Observer } from "../settings/load-settings.ts";

export interface Requester {
  readonly requestedBy: string;
  readonly cluster: Client;
  readonly now: Date;
}

export type Evacuating =
  | { readonly result: "Started" | "Joined"; readonly evacuation: EvacuationFacts }
  | { readonly result: "NotRunning" }
  | { readonly result: "TryAgain" };

/** Starts an evacuation of the VM. If an evacuation is active, adds the requester to it. */
export async function evacuateVm(key: NamespacedName, asking: Requester): Promise<Evacuating> {
  const { vmi, evacuations } = await observeNamed(key, asking.cluster);
  if (vmi === undefined || isFinal(vmi)) return { result: "NotRunning" };
  const active = activeEvacuation(vmi, evacuations);
  // The next reconcile cleans up after a cancelled evacuation. The cleanup would also cancel a new evacuation.
  if (active?.spec.intent === "Withdrawn") return { result: "TryAgain" };
  if (active !== undefined)
    return { result: "Joined", evacuation: await withAnother(active, asking.requestedBy, asking.cluster) };
  return await start(vmi, evacuations, asking);
}

/**
 * Ends the back-off of the VM's evacuation. If the last evacuation was abandoned, starts a new evacuation. Returns
 * `NothingFailed` if the VM has neither an evacuation that backs off nor an abandoned evacuation.
 */
export async function retryVm(
  key: NamespacedName,
  asking: Requester,
): Promise<Evacuating | { readonly result: "NothingFailed" }> {
  const { vmi, evacuations } = await observeNamed(key, asking.cluster);
  if (vmi === undefined || isFinal(vmi)) return { result: "NotRunning" };
  if (activeEvacuation(vmi, evacuations)?.spec.intent === "Withdrawn") return { result: "TryAgain" };
  const found = retryOf(vmi, evacuations);
  if (found === undefined) return { result: "NothingFailed" };
  if (found.retry === "StartNew") return await start(vmi, evacuations, asking);
  const asked = await retry(found.evacuation, asking.now, asking.cluster);
  return asked === "Done" ? { result: "Joined", evacuation: found.evacuation } : { result: "TryAgain" };
}

async function start(
  vmi: VmiFacts,
  evacuations: readonly EvacuationFacts[],
  { requestedBy, cluster, now }: Requester,
): Promise<Evacuating> {
  const origin = { cause: "Operator", requestedBy } as const;
  const created = await createEvacuation(newEvacuation(vmi, origin, { evacuations, now }), cluster);
  return created === "Conflict" ? { result: "TryAgain" } : { result: "Started", evacuation: created };
}

export type Cancelling =
  | { readonly result: "Withdrawn"; readonly evacuations: readonly EvacuationFacts[] }
  | { readonly result: "NotEvacuating" }
  /** The VMI's node has the drain taint, so KubeVirt would immediately start another evacuation. */
  | { readonly result: "DrainTaint"; readonly node: string };

/**
 * Cancels every evacuation of the VMI. If the VMI has an evacuationNodeName but no Evacuation, first creates an
 * Evacuation that it can cancel.
 */
export async function cancelEvacuations(key: NamespacedName, observer: Observer): Promise<Cancelling> {
  const { vmi, evacuations } = await observeNamed(key, observer.cluster);
  const active = evacuations.filter(isActive);
  if (vmi === undefined || (active.length === 0 && !isMarked(vmi))) return { result: "NotEvacuating" };
  const node = await taintedNodeOf(vmi, observer);
  if (node !== undefined) return { result: "DrainTaint", node };
  // Without an Evacuation, it is unknown who requested the evacuation. The new Evacuation therefore names no requester.
  const started = active.length > 0 ? undefined : await start(vmi, evacuations, { ...observer, requestedBy: "" });
  const withdrawn = started?.result === "Started" ? [started.evacuation] : active;
  for (const evacuation of withdrawn) await withdrawEvacuation(evacuation, observer.cluster);
  return { result: "Withdrawn", evacuations: withdrawn };
}

async function taintedNodeOf({ nodeName }: VmiFacts, { cluster, settings }: Observer): Promise<string | undefined> {
  const node = nodeName === undefined ? undefined : await cluster.get("nodes", named(nodeName));
  return node !== undefined && carriesDrainTaint(node, settings) ? node.name : undefined;
}

/** Cancels an Evacuation. Returns `Conflict` if the Evacuation was deleted. */
export async function withdrawEvacuation(evacuation: EvacuationFacts, cluster: Client): Promise<"Done" | "Conflict"> {
  const answer = await cluster.patch("evacuations", evacuation, { spec: { intent: "Withdrawn" } });
  return meaningOf(answer, { 404: "Conflict" } as const);
}

/** Ends the back-off of an Evacuation. Returns `Conflict` if the Evacuation was deleted or does not back off. */
export async function retry(evacuation: EvacuationFacts, now: Date, cluster: Client): Promise<"Done" | "Conflict"> {
  const answer = await cluster.patch("evacuations", evacuation, { spec: { retryAt: now.toISOString() } });
  return meaningOf(answer, { 404: "Conflict", 422: "Conflict" } as const);
}
