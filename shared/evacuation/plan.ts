/**
 * What is done about Evacuations: those that continue, end, or start without a request. KubeVirt is the queue: nothing here counts
 * migrations.
 */
import { type Action, type Plan, recordEvent } from "../kube/action.ts";
import { isMarked, isMarkedTooLate } from "./mark.ts";
import { canMigrate, isLive, strategyOf } from "../settings/strategy.ts";
import type { VmiFacts } from "../kube/facts.ts";
import * as identity from "./identity.ts";
import { FOUND_MARKED } from "../kube/names.ts";
import { release } from "./ends.ts";
import { type EvacuationFacts, isActive, isHeldOff, isToBeReleased, isUnfinished } from "../kube/evacuation.ts";
import { nextOf } from "./rules.ts";
import { releaseStopped } from "./start-again.ts";
import { actionsOf } from "./status.ts";
import { type EvacuationWorld, factsOf } from "./world.ts";
import { carriesDrainTaint } from "../kube/objects.ts";
import { ofVmi } from "./identity.ts";

type Chain = readonly Action[];

export function planEvacuations(w: EvacuationWorld): Plan {
  const active = w.evacuations.filter(isActive).map((e) => reconcile(e, w));
  // A VMI that is older than the Evacuations does not show what has started since one of them ended.
  const ended = w.vmisAreNewer ? w.evacuations.filter(isToBeReleased) : [];
  const { chains: started, again: hasStarted } = planBeginnings(w);
  const chains = [...started, ...active.map(({ chain }) => chain), ...ended.map((e) => released(e, w))];
  return {
    chains: chains.filter((chain) => chain.length > 0),
    again: hasStarted === true || active.some(({ again }) => again),
  };
}

function released(e: EvacuationFacts, w: EvacuationWorld): Chain {
  return isHeldOff(e) ? releaseStopped(e, factsOf(e, w), w) : release(e, w);
}

/** A mark or a migration is KubeVirt's to act on; a failed attempt and an end are ours. */
function reconcile(e: EvacuationFacts, w: EvacuationWorld): { readonly chain: Chain; readonly again: boolean } {
  const vmi = factsOf(e, w)?.vmi;
  // It follows one of the same pod that is not released yet, and whose mark would be taken for its own.
  const waits = vmi && identity.isReleasePending(vmi, ofVmi(w.evacuations, vmi), identity.podUIDOf(e));
  const next = waits === true ? "StaleRead" : nextOf(e, w);
  if (next === "StaleRead") return { chain: [], again: waits === true };
  const chain = actionsOf({ e, vmi, w }, next);
  const isOurs = next.phase === "BackingOff" || next.released === false;
  return { chain, again: isOurs && chain.length > (next.actions ?? []).length };
}

/** Only what has not started yet: for a reconcile of many VMs, none of whose migrations are known. */
export function planBeginnings(w: EvacuationWorld): Plan {
  const started = w.vmis.flatMap((vmi) => start(vmi, w));
  return { chains: [...w.vmis.flatMap((vmi) => clear(vmi, w)), ...started], again: started.length > 0 };
}

function clear(vmi: VmiFacts, { evacuations }: EvacuationWorld): readonly Chain[] {
  const isFollowed = ofVmi(evacuations, vmi).some(isUnfinished);
  return isMarkedTooLate(vmi) && isLive(vmi) && !isFollowed ? [[{ verb: "Unmark", vmi }]] : [];
}

function start(vmi: VmiFacts, w: EvacuationWorld): readonly Chain[] {
  // A VMI that is older than the Evacuations may show the mark of one that has ended since.
  const isDriven = isMarked(vmi) ? w.vmisAreNewer : !isMarkedTooLate(vmi) && isTaintedAway(vmi, w);
  const evacuations = ofVmi(w.evacuations, vmi);
  const isKnown = identity.activeEvacuation(vmi, evacuations) !== undefined || identity.isMarkEnded(vmi, evacuations);
  if (!isLive(vmi) || !isDriven || isKnown) return [];
  const backingOff = identity.backingOffEvacuation(vmi, evacuations, w);
  const found = isMarked(vmi) ? byMark(vmi, backingOff, w) : byTaint(vmi, backingOff, w);
  if (found === undefined) return [];
  const evacuation = identity.newEvacuation(vmi, found, { evacuations, now: w.now });
  const event = recordEvent(vmi, "EvacuationAdopted", found.message, evacuation.name);
  return [[{ verb: "CreateEvacuation", evacuation }, event]];
}

function isTaintedAway(vmi: VmiFacts, { nodes, settings }: EvacuationWorld): boolean {
  const node = nodes.find(({ name }) => name === vmi.nodeName);
  return node !== undefined && carriesDrainTaint(node, settings) && canMigrate(vmi, settings);
}

type Found = identity.Beginning & { readonly message: string };

/** KubeVirt's webhook marks a VM again with the next request of a drain, and does not say who drains. */
function byMark(vmi: VmiFacts, before: EvacuationFacts | undefined, { settings }: EvacuationWorld): Found | undefined {
  if (strategyOf(vmi, settings) === "None") return undefined;
  const cause = vmi.evictionSource === "descheduler" ? "Descheduler" : "ApiEviction";
  const message = `found marked for evacuation from node ${vmi.nodeName} (cause ${cause})`;
  return { cause, requestedBy: before?.spec.requestedBy || FOUND_MARKED, message };
}

function byTaint(vmi: VmiFacts, before: EvacuationFacts | undefined, { settings }: EvacuationWorld): Found | undefined {
  if (before !== undefined) return undefined;
  const message = `node ${vmi.nodeName} carries the drain taint ${settings.drainTaintKey}: evacuating the VM`;
  return { cause: "DrainTaint", requestedBy: `taint ${settings.drainTaintKey}`, message };
}

export interface HistoryWorld extends EvacuationWorld {
  /** UIDs of those that have not ended, or act once more: their Evacuations stay. Undefined: they could not be read. */
  readonly openNodeEvacuations: ReadonlySet<string> | undefined;
}

/** A VM that nobody has asked to start stays off, and its NodeEvacuation decides. */
function isOver(e: EvacuationFacts): boolean {
  return !isUnfinished(e) || (isHeldOff(e) && e.spec.intent !== "Withdrawn");
}

/** Removes what ended long ago. The newest one of a pod that still exists stays: the name of the next one counts on from it. */
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
