/** Evacuating a VM, or trying that again, as a person asks for it: on the page, or with the command. */
import type { Cluster } from "../cluster/cluster.ts";
import { activeEvacuation, newEvacuation } from "../policy/evacuation/identity.ts";
import { retryOf } from "../policy/evacuation/retry.ts";
import { type EvacuationFacts, isFinal, type NamespacedName, type VmiFacts } from "../policy/facts.ts";

export interface Asking {
  /** Whom it names. */
  readonly requestedBy: string;
  readonly cluster: Cluster;
  readonly now: Date;
}

export type Evacuating =
  /** The one that goes on: begun now, or under way already. */
  | { readonly result: "Begun" | "Joined"; readonly evacuation: EvacuationFacts }
  | { readonly result: "NotRunning" }
  /** Another one of the VM has ended meanwhile. */
  | { readonly result: "TryAgain" };

/** One that is under way already, which a drain or another person began, is joined. */
export async function evacuateVm(key: NamespacedName, asking: Asking): Promise<Evacuating> {
  const { vmi, evacuations } = await read(key, asking.cluster);
  if (vmi === undefined) return { result: "NotRunning" };
  const active = activeEvacuation(vmi, evacuations);
  // One that has been cancelled ends with the next look, and would take the new one with it.
  if (active?.spec.intent === "Withdrawn") return { result: "TryAgain" };
  if (active !== undefined) return { result: "Joined", evacuation: active };
  return await begun(vmi, evacuations, asking);
}

/** `NothingFailed`: nothing of it backs off or was given up. */
export async function retryVm(
  key: NamespacedName,
  asking: Asking,
): Promise<Evacuating | { readonly result: "NothingFailed" }> {
  const { vmi, evacuations } = await read(key, asking.cluster);
  if (vmi === undefined) return { result: "NotRunning" };
  if (activeEvacuation(vmi, evacuations)?.spec.intent === "Withdrawn") return { result: "TryAgain" };
  const found = retryOf(vmi, evacuations);
  if (found === undefined) return { result: "NothingFailed" };
  const created = await begun(vmi, evacuations, asking);
  const goesOn = found.retry === "TryNow" && created.result === "Begun";
  return goesOn ? { result: "Joined", evacuation: found.evacuation } : created;
}

async function read(key: NamespacedName, cluster: Cluster) {
  const [vmi, evacuations] = await Promise.all([cluster.getVmi(key), cluster.listEvacuations(key)]);
  return { vmi: vmi !== undefined && isFinal(vmi) ? undefined : vmi, evacuations };
}

async function begun(
  vmi: VmiFacts,
  evacuations: readonly EvacuationFacts[],
  { requestedBy, cluster, now }: Asking,
): Promise<Evacuating> {
  const beginning = { cause: "Operator", requestedBy } as const;
  const created = await cluster.createEvacuation(newEvacuation(vmi, beginning, { evacuations, now }));
  return created === "Conflict" ? { result: "TryAgain" } : { result: "Begun", evacuation: created };
}
