/**
 * Decides which Evacuations start, continue or end. KubeVirt queues migrations, so Lifeboat does not limit their
 * number.
 */
import { each } from "../facts/facts.ts";
import { type Action, type Plan, recordEvent } from "../kube/action.ts";
import { isMarked, isMarkedTooLate } from "./mark.ts";
import { canMigrate, isLive, strategyOf } from "../settings/strategy.ts";
import type { VmiFacts } from "../kube/facts.ts";
import * as identity from "./identity.ts";
import { FOUND_MARKED } from "../kube/names.ts";
import { release } from "./ends.ts";
import { type EvacuationFacts, isActive, isHeldOff, isToBeReleased, isUnfinished } from "../kube/evacuation.ts";
import { EVACUATION_MESSAGES as MESSAGES } from "./messages.ts";
import { nextOf } from "./rules.ts";
import { releaseStopped } from "./start-again.ts";
import { actionsOf } from "./status.ts";
import { caseOf, type EvacuationWorld, nodeOf } from "./world.ts";
import { carriesDrainTaint } from "../kube/objects.ts";
import { ofVmi } from "./identity.ts";

type Chain = readonly Action[];

/** Plans the Evacuations of VMIs. The caller must read the Evacuations before the VMIs. */
export function planEvacuations(w: EvacuationWorld): Plan {
  const started = w.vmis.flatMap((vmi) => startByMark(vmi, w));
  const active = each(w.evacuations.filter(isActive), (e) => reconcile(e, w));
  const ended = each(w.evacuations.filter(isToBeReleased), (e) => released(e, w));
  const chains = [...cleared(w), ...started, ...active.map(({ chain }) => chain), ...ended];
  return {
    chains: chains.filter((chain) => chain.length > 0),
    again: started.length > 0 || active.some(({ again }) => again),
  };
}

function released(e: EvacuationFacts, w: EvacuationWorld): Chain {
  return isHeldOff(e) ? releaseStopped({ e, f: caseOf(e, w), w }) : release(e, w);
}

function reconcile(e: EvacuationFacts, w: EvacuationWorld): { readonly chain: Chain; readonly again: boolean } {
  const vmi = caseOf(e, w)?.vmi;
  // If an earlier Evacuation of the pod has ended but is not cleaned up, the VMI's evacuationNodeName can belong to the
  // earlier or the new Evacuation. The new Evacuation therefore waits for the cleanup.
  const waits = vmi && identity.isReleasePending(vmi, ofVmi(w.evacuations, vmi), identity.podUIDOf(e));
  const next = waits === true ? "Wait" : nextOf(e, w);
  if (next === "Wait") return { chain: [], again: waits === true };
  const chain = actionsOf({ e, vmi, w }, next);
  const isOurs = next.phase === "BackingOff" || next.released === false;
  return { chain, again: isOurs && chain.length > (next.actions ?? []).length };
}

/** Plans Evacuations for VMIs on nodes with the drain taint. Does not read migrations. */
export function planByTaint(w: EvacuationWorld): Plan {
  const started = each(w.vmis, (vmi) => startByTaint(vmi, w)).flat();
  return { chains: [...cleared(w), ...started], again: started.length > 0 };
}

/** Plans new Evacuations. The caller must read the Evacuations before the VMIs. */
export function planNewEvacuations(w: EvacuationWorld): Plan {
  const byMark = w.vmis.flatMap((vmi) => startByMark(vmi, w));
  const { chains, again } = planByTaint(w);
  return { chains: [...chains, ...byMark], again: again === true || byMark.length > 0 };
}

function cleared({ vmis, evacuations }: EvacuationWorld): readonly Chain[] {
  const left = vmis.filter((vmi) => isMarkedTooLate(vmi) && isLive(vmi) && !ofVmi(evacuations, vmi).some(isUnfinished));
  return left.map((vmi) => [{ verb: "Unmark", vmi }]);
}

/**
 * Starts an Evacuation for a VMI whose `status.evacuationNodeName` is set by KubeVirt's webhook. The VMI does not show
 * who requested the eviction. If the back-off of the VM's earlier Evacuation is not over, Lifeboat names the requester
 * of that Evacuation.
 */
function startByMark(vmi: VmiFacts, w: EvacuationWorld): readonly Chain[] {
  if (!isMarked(vmi) || strategyOf(vmi, w.settings) === "None" || !isStartable(vmi, w)) return [];
  const before = identity.backingOffEvacuation(vmi, ofVmi(w.evacuations, vmi), w);
  const cause = vmi.evictionSource === "descheduler" ? "Descheduler" : "ApiEviction";
  const message = MESSAGES.foundMarked(vmi.nodeName, cause);
  return start(vmi, { cause, requestedBy: before?.spec.requestedBy || FOUND_MARKED, message }, w);
}

function startByTaint(vmi: VmiFacts, w: EvacuationWorld): readonly Chain[] {
  if (vmi.evacuationNodeName !== undefined || !canMigrate(vmi, w.settings) || !isStartable(vmi, w)) return [];
  if (identity.backingOffEvacuation(vmi, ofVmi(w.evacuations, vmi), w) !== undefined) return [];
  const { drainTaintKey: key } = w.settings;
  const node = nodeOf(vmi, w.facts);
  if (node === undefined || !carriesDrainTaint(node, w.settings)) return [];
  const message = MESSAGES.drainTaint(vmi.nodeName, key);
  return start(vmi, { cause: "DrainTaint", requestedBy: `taint ${key}`, message }, w);
}

function isStartable(vmi: VmiFacts, w: EvacuationWorld): boolean {
  const evacuations = ofVmi(w.evacuations, vmi);
  const isKnown = identity.activeEvacuation(vmi, evacuations) !== undefined || identity.isMarkEnded(vmi, evacuations);
  return isLive(vmi) && !isKnown;
}

type Found = identity.EvacuationOrigin & { readonly message: string };

function start(vmi: VmiFacts, found: Found, { evacuations, now }: EvacuationWorld): readonly Chain[] {
  const evacuation = identity.newEvacuation(vmi, found, { evacuations: ofVmi(evacuations, vmi), now });
  const event = recordEvent(vmi, "EvacuationAdopted", found.message, evacuation.name);
  return [[{ verb: "CreateEvacuation", evacuation }, event]];
}

export interface HistoryWorld extends Pick<EvacuationWorld, "vmis" | "evacuations" | "settings" | "now"> {
  /**
   * The UIDs of the NodeEvacuations that have not ended. Lifeboat does not delete the Evacuations of these
   * NodeEvacuations. Undefined if the NodeEvacuations could not be read: Lifeboat then keeps the Evacuations of all
   * NodeEvacuations.
   */
  readonly openNodeEvacuations: ReadonlySet<string> | undefined;
}

/**
 * Returns whether Lifeboat may delete the Evacuation some time after its end. If Lifeboat still has to start the VM, it
 * may delete the Evacuation unless the Evacuation is withdrawn.
 */
function isOver(e: EvacuationFacts): boolean {
  return !isUnfinished(e) || (isHeldOff(e) && e.spec.intent !== "Withdrawn");
}

/**
 * Deletes old Evacuations that have ended. Keeps the newest Evacuation of an existing pod, because the number in its
 * name determines the name of the next Evacuation.
 */
export function planHistory({ evacuations, vmis, settings, now, openNodeEvacuations: open }: HistoryWorld): Plan {
  const old = now.getTime() - settings.evacuation.historySeconds * 1000;
  const living = new Set(vmis.flatMap((vmi) => Object.keys(vmi.activePods)));
  const ofPods = Map.groupBy(evacuations, (e) => identity.podUIDOf(e) ?? "");
  const newest = new Set(
    [...ofPods].flatMap(([uid, some]) => (living.has(uid) ? some.toSorted(identity.byAge).slice(-1) : [])),
  );
  const expired = evacuations.filter((e) => isOver(e) && Date.parse(e.status.completionTime ?? "") < old);
  const isPart = ({ spec: { nodeEvacuation: of } }: EvacuationFacts) => of && (open?.has(of.uid) ?? true);
  const removed = expired.filter((e) => !newest.has(e) && !isPart(e));
  return { chains: removed.map((evacuation) => [{ verb: "DeleteEvacuation", evacuation } as const]) };
}
