/** Evacuations that begin without a request to Lifeboat: KubeVirt has marked a VM, or its node carries the drain taint. */
import { type Action, tell } from "../action.ts";
import { carriesDrainTaint } from "../kube/taints.ts";
import { FOUND_MARKED } from "../names.ts";
import { activeEvacuation, type Beginning, isMarkEnded, newEvacuation, restingEvacuation } from "./identity.ts";
import { type EvacuationWorld, ofVmi } from "./world.ts";
import type { EvacuationFacts, VmiFacts } from "../facts.ts";
import { canMigrate, isLive, isMarked, isMarkedTooLate } from "./mark.ts";
import { isUnfinished } from "./phase.ts";
import { strategyOf } from "../eviction/eviction-table.ts";

export function begin(vmi: VmiFacts, w: EvacuationWorld): readonly Action[] {
  if (isMarkedTooLate(vmi)) return cleared(vmi, w);
  // A VMI that is older than the Evacuations may show the mark of one that has ended since.
  const isDriven = isMarked(vmi) ? w.vmisAreNewer : isTaintedAway(vmi, w);
  if (!isLive(vmi) || !isDriven) return [];
  const evacuations = ofVmi(w.evacuations, vmi);
  if (activeEvacuation(vmi, evacuations) !== undefined || isMarkEnded(vmi, evacuations)) return [];
  const resting = restingEvacuation(vmi, evacuations, w);
  const beginning = isMarked(vmi) ? byMark(vmi, resting, w) : byTaint(vmi, resting, w);
  if (beginning === undefined) return [];
  const evacuation = newEvacuation(vmi, beginning, { evacuations, now: w.now });
  return [{ verb: "CreateEvacuation", evacuation }, tell(vmi, "EvacuationAdopted", beginning.told, evacuation.name)];
}

/** While an evacuation goes on, its end does that. */
function cleared(vmi: VmiFacts, { evacuations }: EvacuationWorld): readonly Action[] {
  const isFollowed = evacuations.some(
    (e) => isUnfinished(e) && e.namespace === vmi.namespace && e.spec.vmiName === vmi.name,
  );
  return isLive(vmi) && !isFollowed ? [{ verb: "Unmark", vmi }] : [];
}

function isTaintedAway(vmi: VmiFacts, { nodes, settings }: EvacuationWorld): boolean {
  const node = nodes.find(({ name }) => name === vmi.nodeName);
  return node !== undefined && carriesDrainTaint(node, settings) && canMigrate(vmi, settings);
}

type Told = Beginning & { readonly told: string };

/** KubeVirt's webhook marks a VM again with the next request of a drain, and does not say who drains. */
function byMark(vmi: VmiFacts, resting: EvacuationFacts | undefined, { settings }: EvacuationWorld): Told | undefined {
  if (strategyOf(vmi, settings) === "None") return undefined;
  const cause = vmi.evictionSource === "descheduler" ? "Descheduler" : "ApiEviction";
  const told = `found marked for evacuation from node ${vmi.nodeName} (cause ${cause})`;
  return { cause, requestedBy: resting?.spec.requestedBy || FOUND_MARKED, told };
}

function byTaint(vmi: VmiFacts, resting: EvacuationFacts | undefined, { settings }: EvacuationWorld): Told | undefined {
  if (resting !== undefined) return undefined;
  const told = `node ${vmi.nodeName} carries the drain taint ${settings.drainTaintKey}: evacuating the VM`;
  return { cause: "DrainTaint", requestedBy: `taint ${settings.drainTaintKey}`, told };
}
