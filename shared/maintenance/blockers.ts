/** Lists the pods and VMs that cannot leave a node, with the reason and the time at which each was first listed. */
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { NamespacedName } from "../kube/facts.ts";
import { isOfVm, keyOf } from "../kube/objects.ts";
import {
  type NodeBlocker,
  NODE_EVACUATION_BOUNDS as BOUNDS,
  type NodeEvacuationFacts,
  type VmCounts,
} from "../kube/node-evacuation.ts";
import { isShutdown } from "../evacuation/shutdown.ts";
import { isBlocked, isMinor, type Subject } from "../preflight/progress.ts";
import type { PreflightPod } from "../preflight/facts.ts";
import { hangingIn } from "../preflight/pod-verdict.ts";
import { secondsSince } from "../settings/time.ts";
import { MAINTENANCE_MESSAGES as MESSAGES } from "./messages.ts";
import { blockerOf, OVERDUE_SECONDS, vmOf, type VmView } from "./vms.ts";
import { nodeToDrain, ownEvacuations, vmisOf } from "./questions.ts";
import type { NodeWorld } from "./world.ts";

export interface Left {
  readonly views: readonly VmView[];
  readonly pods: readonly Subject[];
  readonly unread: readonly NodeBlocker[];
}

export function blockersOf({ views, pods, unread }: Left, w: NodeWorld): readonly NodeBlocker[] {
  // The list of blockers has a maximum length, so the last VMs can be missing from it. VMs that Lifeboat will restart
  // or stop come first, because Lifeboat restarts or stops a VM only after the list has named it for TWICE_SECONDS.
  const first = views.toSorted((a, b) => Number(b.way !== undefined) - Number(a.way !== undefined));
  const known = first.flatMap(({ blocker }) => blocker ?? []);
  return withTimes([...overdue(w).map(notBack), ...known, ...podBlockers(pods, views, w), ...unread], w);
}

/** Lifeboat shuts down a VM only if the VM has had the same blocker for this number of seconds. */
const TWICE_SECONDS = 60;

export function isShutdownDue({ fate, vmi, blocker }: VmView, { ne, now }: Pick<NodeWorld, "ne" | "now">): boolean {
  if (fate !== "ShutsDown") return false;
  const known = ne.status.blockers.filter((one) => one.uid === vmi.uid);
  return known.some(
    (one) => one.reason === "NoRestart" || (isSame(one, blocker) && secondsSince(one.since, now) >= TWICE_SECONDS),
  );
}

/**
 * Lists the Evacuations of VMs that have left the node but have not started again in time. Further restarts wait for
 * these VMs.
 */
export function overdue(w: NodeWorld): readonly EvacuationFacts[] {
  const here = new Set(vmisOf(w).map(keyOf));
  const isLate = (e: EvacuationFacts) => secondsSince(e.status.startTime, w.now) >= OVERDUE_SECONDS;
  return ownEvacuations(w).filter((e) => isActive(e) && isShutdown(e) && isLate(e) && !here.has(vmOf(e)));
}

function notBack(e: EvacuationFacts): NodeBlocker {
  const { namespace, spec, status } = e;
  const vm = { namespace, name: spec.vmiName };
  return blockerOf(vm, "NotRunningAgain", status.message ?? "", MESSAGES.notBackFix(e));
}

/** Lists the pods that cannot leave, except the launcher pods of VMs that are already listed. */
export function podBlockers(pods: readonly Subject[], views: readonly VmView[], w: NodeWorld): readonly NodeBlocker[] {
  const view = ({ vmi }: Subject) => views.find((one) => one.vmi.uid === vmi?.uid);
  return pods
    .filter((subject) => view(subject)?.blocker === undefined)
    .flatMap((subject) => podBlocker(subject, w) ?? []);
}

function podBlocker(subject: Subject, w: NodeWorld): NodeBlocker | undefined {
  const [{ ne }, { pod, verdict }] = [w, subject];
  if (verdict.outcome === "Waits" || isBlocked(subject)) {
    return blockerOf(pod, verdict.reason, verdict.message, verdict.remedy);
  }
  const slow = slowToEnd(pod, w);
  if (slow !== undefined) return blockerOf(pod, "Terminating", slow, MESSAGES.slowToEndFix(pod));
  const isRefused = ne.status.blockers.some(({ uid, reason }) => uid === pod.uid && reason === "EvictionRefused");
  return isRefused && !pod.deleting ? refusedEviction(pod, ne) : undefined;
}

const LONG_SECONDS = 3600;

/** Returns why a terminating pod will probably need unusually long to end. */
function slowToEnd(pod: PreflightPod, w: NodeWorld): string | undefined {
  const node = nodeToDrain(w);
  if (pod.goneBy === undefined || node === undefined) return undefined;
  if (pod.goneBy - w.now.getTime() < LONG_SECONDS * 1000) return hangingIn(pod, { node, now: w.now })?.message;
  return MESSAGES.slowToEnd(new Date(pod.goneBy).toISOString());
}

export function refusedEviction(pod: NamespacedName & { readonly uid: string }, { spec }: NodeEvacuationFacts) {
  return blockerOf(pod, "EvictionRefused", MESSAGES.evictionRefused, MESSAGES.evictionRefusedFix(spec.nodeName));
}

export function withTimes(
  found: readonly NodeBlocker[],
  { ne, now }: Pick<NodeWorld, "ne" | "now">,
): readonly NodeBlocker[] {
  return found.slice(0, BOUNDS["status.blockers"]).map((blocker) => {
    const before = ne.status.blockers.find((one) => isSame(one, blocker));
    const message = blocker.message.slice(0, BOUNDS["status.blockers[].message"]).toWellFormed();
    return { ...blocker, message, since: before?.since ?? now.toISOString() };
  });
}

function isSame(a: NodeBlocker, b: NodeBlocker | undefined): boolean {
  return b !== undefined && keyOf(a) === keyOf(b) && a.uid === b.uid && a.reason === b.reason;
}

/** Reasons that usually disappear without a person's action. */
const PASSING: ReadonlySet<string> = new Set([
  "BudgetExhausted",
  "BudgetOfController",
  "EvictionRefused",
  "External",
  "NotScheduled",
  "MigrationTarget",
  "Migrating",
  "MigrationBlocked",
  "BackingOff",
]);

/**
 * Returns true if no VM is moving or about to move. This is the case if each VM is blocked, is shut down by its
 * eviction, waits for an external controller, or waits until nothing else blocks the drain.
 */
export function isCalm(views: readonly VmView[]): boolean {
  return views.every(isQuiet);
}

export function isQuiet({ fate, blocker, isHeldBack }: VmView): boolean {
  return fate === "Blocked" || fate === "Goes" || isHeldBack === true || blocker?.reason === "External";
}

/** Returns whether the drain waits until this pod has left the node. */
export function isLeft(subject: Subject, { ne }: Pick<NodeWorld, "ne">): boolean {
  const { pod, verdict } = subject;
  const isVms = verdict.vmi !== undefined || isOfVm(pod);
  return (!isMinor(subject) || isCompleted(subject)) && (isVms || ne.spec.otherPods !== "Leave");
}

/** Returns whether the pod has finished. Lifeboat evicts such a pod, as `kubectl drain` does. */
export function isCompleted({ verdict }: Subject): boolean {
  return verdict.outcome === "Ended" && verdict.reason === "PodCompleted";
}

/** Returns whether no VM or pod will leave the node until a person acts. */
export function isSettled(
  views: readonly VmView[],
  counts: VmCounts,
  blockers: readonly NodeBlocker[],
  w: NodeWorld,
): boolean {
  const late = overdue(w).length;
  const others = late > 0 ? views.filter(({ fate }) => fate !== "ShutsDown") : views;
  const isBusy = counts.moving > late || !isCalm(others);
  const isOver = ({ reason, since }: NodeBlocker) =>
    !PASSING.has(reason) || secondsSince(since, w.now) >= TWICE_SECONDS;
  return !isBusy && blockers.some(isOver);
}
