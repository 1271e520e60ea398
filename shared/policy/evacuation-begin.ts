/**
 * Evacuations that nobody asks Lifeboat for: KubeVirt has marked a VM, or its node carries the drain taint.
 * Owns: when one begins so. Does not own: those that a request begins (eviction.ts, hold.ts, pressure.ts).
 */
import { type Action, tell } from "./action.ts";
import { carriesDrainTaint } from "./drain-taint.ts";
import { activeEvacuation, newEvacuation, restingEvacuation } from "./evacuation-identity.ts";
import { type EvacuationWorld, ofVmi } from "./evacuation-world.ts";
import { isFinal, type VmiFacts } from "./facts.ts";
import { canMigrate, isMarked, strategyOf } from "./marked.ts";

/** A mark by KubeVirt's webhook, or the drain taint, for which there is no Evacuation yet. */
export function begin(vmi: VmiFacts, w: EvacuationWorld): readonly Action[] {
  const { settings, now } = w;
  if (vmi.nodeName === undefined || strategyOf(vmi, settings) === "None" || vmi.deleting || isFinal(vmi)) return [];
  const node = w.nodes.find(({ name }) => name === vmi.nodeName);
  const byTaint =
    !isMarked(vmi) && node !== undefined && carriesDrainTaint(node, settings) && canMigrate(vmi, settings);
  if (!byTaint && !isMarked(vmi)) return [];
  const evacuations = ofVmi(w.evacuations, vmi);
  if (activeEvacuation(vmi, evacuations) !== undefined) return [];
  if (byTaint && restingEvacuation(vmi, evacuations, { now }) !== undefined) return [];
  const beginning = byTaint
    ? ({ cause: "DrainTaint", requestedBy: `taint ${settings.drainTaintKey}` } as const)
    : ({
        cause: vmi.evictionSource === "descheduler" ? "Descheduler" : "ApiEviction",
        requestedBy: "KubeVirt",
      } as const);
  const evacuation = newEvacuation(vmi, beginning, { evacuations, now });
  const told = byTaint
    ? `node ${vmi.nodeName} carries the drain taint ${settings.drainTaintKey}: evacuating the VM`
    : `found marked for evacuation from node ${vmi.nodeName} (cause ${evacuation.spec.cause})`;
  return [{ verb: "CreateEvacuation", evacuation }, tell(vmi, "EvacuationAdopted", told, evacuation.name)];
}
