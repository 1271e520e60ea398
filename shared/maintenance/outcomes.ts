/** Finds out what has happened to each VM of the node, and counts these outcomes. */
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import { keyOf } from "../kube/objects.ts";
import {
  NODE_EVACUATION_BOUNDS as BOUNDS,
  type Outcome,
  OUTCOMES,
  type VmCounts,
  type VmOutcome,
} from "../kube/node-evacuation.ts";
import { each } from "../facts/facts.ts";
import { podsOf } from "../facts/questions.ts";
import { byAge, guestPodUID } from "../evacuation/identity.ts";
import { isShutdown } from "../evacuation/shutdown.ts";
import { MAINTENANCE_MESSAGES as MESSAGES } from "./messages.ts";
import { oddEvacuations, ownEvacuations, vmisOf, whereaboutsOf } from "./questions.ts";
import { unreadableVmis } from "./unreadable.ts";
import { type Fate, vmOf, type VmView } from "./vms.ts";
import type { NodeNext, NodeWorld } from "./world.ts";

/** The `reason` of an outcome if an eviction shut the guest down, as the VM's eviction strategy requires. */
const BY_STRATEGY = "EvictionStrategy";
/** The `reason` of an outcome if somebody other than Lifeboat moved, restarted or stopped the VM. */
const BY_OTHERS = "ByOthers";

/** Returns the outcomes of all VMs that were or are on the node. */
export function outcomesOf(views: readonly VmView[], w: NodeWorld): readonly VmOutcome[] {
  const vmis = vmisOf(w);
  const here = new Set(vmis.map(({ uid }) => uid));
  const known = each([...w.ne.status.outcomes, ...unlisted(w)], (one) =>
    here.has(one.uid) ? openOf(one, views, w) : settled(one, w),
  );
  const before = new Set(known.map(({ uid }) => uid));
  const fresh = vmis.filter(({ uid }) => !before.has(uid));
  const added = fresh.map(({ namespace, name, uid }) => openOf({ namespace, name, uid }, views, w));
  return [...known, ...added];
}

/**
 * Returns VMs that are missing from the status, but have an Evacuation of this NodeEvacuation. A VM can be missing
 * because the list of outcomes is full, or because Lifeboat 0.3 wrote the status without this list. Omits VMIs that
 * were never on the node: if a VM has started elsewhere meanwhile, its Evacuation names the new VMI.
 */
function unlisted(w: NodeWorld): readonly VmOutcome[] {
  const isListed = new Set(w.ne.status.outcomes.map(({ uid }) => uid));
  const found = ownEvacuations(w).flatMap(({ namespace, spec, status }) => {
    const { virtualMachineInstanceUID: uid, sourceNode } = status;
    return uid === undefined || isListed.has(uid) || sourceNode !== w.ne.spec.nodeName
      ? []
      : [[uid, { namespace, name: spec.vmiName, uid }] as const];
  });
  return [...new Map(found).values()];
}

/**
 * Selects the outcomes for the status, which can hold a limited number of outcomes. VMs that Lifeboat has moved are
 * left out first, and then VMs without an outcome.
 */
export function listed(outcomes: readonly VmOutcome[]): readonly VmOutcome[] {
  const most = BOUNDS["status.outcomes"];
  if (outcomes.length <= most) return outcomes;
  const chosen = outcomes.toSorted((a, b) => weightOf(a) - weightOf(b)).slice(0, most);
  const isChosen = new Set(chosen);
  return outcomes.filter((one) => isChosen.has(one));
}

function weightOf({ outcome, reason }: VmOutcome): number {
  if (outcome === undefined) return 1;
  return outcome === "Moved" && reason === undefined ? 2 : 0;
}

/** Returns the outcomes after the end of the NodeEvacuation. VMs that are still on the node stay there. */
function outcomesAfterEnd(w: NodeWorld): readonly VmOutcome[] {
  const { outcomes } = w.ne.status;
  const all = outcomes.length < BOUNDS["status.outcomes"] ? outcomes : [...outcomes, ...unlisted(w)];
  const isUnread = oddEvacuations(w).length > 0;
  return each(all, (one) => {
    const own = lastOf(one, w);
    const isSaid = one.outcome !== undefined || isSettledBy(own);
    const isHere = !isSaid && !isUnread && whereaboutsOf(one, w).is === "Here" && !isEnding(one, w);
    return isHere ? leftBehind(one, own, w) : settled(one, w);
  });
}

function isSettledBy(own: EvacuationFacts | undefined): boolean {
  return own !== undefined && (isActive(own) || OUTCOME_OF[own.status.phase ?? ""] !== undefined);
}

/** Returns the outcomes after the end of the NodeEvacuation. Returns undefined if no outcome has changed. */
export function settledSince(w: NodeWorld): NodeNext["more"] {
  const { outcomes: before } = w.ne.status;
  const outcomes = outcomesAfterEnd(w);
  return outcomes.every((one, at) => one === before[at]) ? undefined : withCounts(outcomes, w);
}

/** Counts the outcomes. Other counts in the status, such as `left`, stay as they are. */
export function withCounts(outcomes: readonly VmOutcome[], { ne }: NodeWorld): NonNullable<NodeNext["more"]> {
  const before = ne.status.virtualMachines ?? NONE_LEFT;
  const total = Math.max(outcomes.length, before.total);
  return { outcomes: listed(outcomes), virtualMachines: { ...before, total, ...outcomeCounts(outcomes) } };
}

const NONE_LEFT = { total: 0, left: 0, moving: 0, waiting: 0, blocked: 0 };

/** Returns whether the guest's pod is already terminating or gone because of an eviction. */
function isEnding(one: VmOutcome, { facts }: NodeWorld): boolean {
  const vmi = one.reason === BY_STRATEGY ? facts.get("virtualmachineinstances", one) : undefined;
  return vmi !== undefined && podsOf(vmi, facts).every((pod) => pod.deleting || pod.uid !== guestPodUID(vmi));
}

function openOf(one: VmOutcome, views: readonly VmView[], w: NodeWorld): VmOutcome {
  const { namespace, name, uid } = one;
  const isGoing = views.some(({ fate, vmi }) => fate === "Goes" && vmi.uid === uid) || isEnding(one, w);
  const startTime = startOf(lastOf({ namespace, name, uid }, w));
  return { namespace, name, uid, ...(isGoing && { reason: BY_STRATEGY }), ...(startTime && { startTime }) };
}

function startOf(own: EvacuationFacts | undefined): string | undefined {
  return own && (own.status.startTime ?? new Date(own.createdAt).toISOString());
}

/**
 * Returns the last Evacuation of a VM. A new Evacuation names the VM, but contains no UID of a VMI yet. In this case,
 * the VM's name alone has to match.
 */
function lastOf(one: VmOutcome, w: NodeWorld) {
  const isIts = (e: EvacuationFacts) =>
    vmOf(e) === keyOf(one) && (e.status.virtualMachineInstanceUID ?? one.uid) === one.uid;
  return ownEvacuations(w).filter(isIts).toSorted(byAge).at(-1);
}

const OUTCOME_OF: Readonly<Record<string, Outcome>> = {
  Moved: "Moved",
  Restarted: "Restarted",
  Stopped: "Stopped",
};

function settled(one: VmOutcome, w: NodeWorld): VmOutcome {
  if (one.outcome !== undefined) return one;
  const own = lastOf(one, w);
  const outcome = OUTCOME_OF[own?.status.phase ?? ""];
  if (outcome !== undefined) return asEvacuated(one, outcome, own, w);
  if (isOpen(own, w)) return one;
  const seen = whereaboutsOf(one, w);
  const time = w.now.toISOString();
  switch (seen.is) {
    case "Elsewhere":
      return { ...one, outcome: "Moved", reason: BY_OTHERS, targetNode: seen.node, time };
    case "Again":
    case "Off":
      if (one.reason === BY_STRATEGY) return { ...one, outcome: "ShutDown", time };
      return { ...one, outcome: seen.is === "Again" ? "Restarted" : "Stopped", reason: BY_OTHERS, time };
    case "Here":
    case "Unread":
      return one;
  }
}

/**
 * Returns true if the VM's Evacuation is active, so that the outcome is still open. Also returns true if an Evacuation
 * cannot be parsed, because this Evacuation might be the VM's.
 */
function isOpen(own: EvacuationFacts | undefined, w: NodeWorld): boolean {
  return (own !== undefined && isActive(own)) || oddEvacuations(w).length > 0;
}

function asEvacuated(
  one: VmOutcome,
  outcome: Outcome,
  own: EvacuationFacts | undefined,
  { now }: NodeWorld,
): VmOutcome {
  const { targetNode, completionTime = now.toISOString() } = own?.status ?? {};
  return { ...one, outcome, reason: undefined, targetNode, startTime: startOf(own), time: completionTime };
}

function leftBehind(one: VmOutcome, own: EvacuationFacts | undefined, { ne, now }: NodeWorld): VmOutcome {
  const time = now.toISOString();
  if (own?.status.phase === "Abandoned") return { ...one, outcome: "Abandoned", reason: own.status.reason, time };
  const blocker = ne.status.blockers.find(({ uid }) => uid === one.uid);
  return { ...one, outcome: "LeftBehind", reason: blocker?.reason ?? ne.status.phase, time };
}

function outcomeCounts(outcomes: readonly VmOutcome[]): Pick<VmCounts, Uncapitalize<Outcome>> {
  const count = (wanted: Outcome) => outcomes.filter(({ outcome }) => outcome === wanted).length;
  const [moved = 0, restarted = 0, shutDown = 0, stopped = 0, abandoned = 0, leftBehind = 0] = OUTCOMES.map(count);
  return { moved, restarted, shutDown, stopped, abandoned, leftBehind };
}

/**
 * Counts the VMs. The total never decreases. If the VMI of a VM on the node cannot be parsed, the VM does not count as
 * moving, because Lifeboat cannot see its migration.
 */
export function countsOf(views: readonly VmView[], w: NodeWorld): VmCounts {
  const { ne } = w;
  const here = new Set(views.map(({ vmi }) => keyOf(vmi)));
  const unread = new Set(unreadableVmis(w).map(keyOf));
  const isSeen = (e: EvacuationFacts) => isShutdown(e) || !unread.has(vmOf(e));
  const away = ownEvacuations(w).filter((e) => isActive(e) && !here.has(vmOf(e)) && isSeen(e));
  const count = (...fates: readonly Fate[]) => views.filter(({ fate }) => fates.includes(fate)).length;
  const external = views.filter(({ fate, blocker }) => fate === "Waits" && blocker?.reason === "External").length;
  return {
    total: Math.max(ne.status.outcomes.length, ne.status.virtualMachines?.total ?? 0),
    left: here.size,
    moving: count("Moving") + new Set(away.map(vmOf)).size,
    waiting: count("Next", "Waits", "Goes", "ShutsDown") - external,
    blocked: count("Blocked") + external,
    ...outcomeCounts(ne.status.outcomes),
  };
}

/** Returns a text with the VMs whose guests were shut down. The text is empty if there are none. */
export function endedText(outcomes: readonly VmOutcome[]): string {
  const names = (wanted: readonly Outcome[], is: (one: VmOutcome) => boolean) =>
    outcomes.filter((one) => one.outcome !== undefined && wanted.includes(one.outcome) && is(one)).map(keyOf);
  const rows = [
    ["restarted", names(["Restarted"], isOurs)],
    ["stopped", names(["Stopped"], isOurs)],
    ["shut down by their eviction strategy", names(["ShutDown"], isOurs)],
    ["restarted or stopped by others", names(["Restarted", "Stopped"], (one) => !isOurs(one))],
  ] as const;
  return rows.flatMap(([how, who]) => (who.length > 0 ? [MESSAGES.ended(how, who)] : [])).join(", ");
}

function isOurs({ reason }: VmOutcome): boolean {
  return reason !== BY_OTHERS;
}
