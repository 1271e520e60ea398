/** Emptying a cordoned node: VMs leave first, as many at a time as there are places, and then the other pods. */
import { type Action, recordEvent } from "../kube/action.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import { isOfVm, keyOf } from "../kube/objects.ts";
import type { NodeBlocker, NodeEvacuationStatus, VmCounts } from "../kube/node-evacuation.ts";
import { newEvacuation } from "../evacuation/identity.ts";
import { isShutdown } from "../evacuation/shutdown.ts";
import { isBlocked, isMinor, type Subject } from "../preflight/progress.ts";
import { secondsAfter, secondsSince } from "../settings/time.ts";
import { blockerOf, countsOf, isHeard, OVERDUE_SECONDS, viewOf, vmOf, type VmView } from "./vms.ts";
import { type Candidate, type NodeNext, type NodeWorld, ownerOf } from "./world.ts";

export function leaving(w: NodeWorld): NodeNext {
  const views = w.vmis.map((vmi) => viewOf(vmi, w));
  const counts = countsOf(views, w);
  const pods = (w.subjects ?? []).filter((subject) => isLeft(subject, w));
  if (counts.left + counts.moving + pods.length === 0 && w.subjects !== undefined) return evacuated(counts, w);
  const beginnings = views.flatMap((view) => beginningOf(view, w));
  const evictions = pods.filter((pod) => isEvicted(pod, views, w)).map((pod) => evict(pod, w));
  const begun = [...[...beginnings, ...undone(w)].map((action) => [action]), ...evictions];
  // Those that are to be shut down come first: they are known from look to look, however many others stay.
  const first = views.toSorted((a, b) => Number(b.fate === "ShutsDown") - Number(a.fate === "ShutsDown"));
  const known = first.flatMap(({ blocker }) => blocker ?? []);
  const blockers = withTimes([...overdue(w).map(notBack), ...known, ...podBlockers(pods)], w);
  const isStuck = begun.length === 0 && isSettled(views, counts, blockers, w);
  return {
    phase: isStuck ? "Blocked" : "Evacuating",
    message: isStuck
      ? `${blockers.length} cannot leave; first: ${textOf(blockers[0])}`
      : progressText(counts, pods.length),
    more: { virtualMachines: counts, blockers, estimatedCompletionTime: isStuck ? undefined : etaOf(counts, w) },
    chains: begun,
    again: beginnings.length > 0,
  };
}

function evacuated(counts: VmCounts, w: NodeWorld): NodeNext {
  const { total, restarted, stopped } = counts;
  const others = [...(restarted > 0 ? [`${restarted} restarted`] : []), ...(stopped > 0 ? [`${stopped} stopped`] : [])];
  const took = Math.round(secondsSince(w.ne.status.startTime, w.now));
  const message = `the node is empty after ${took}s; VMs that left: ${total}${others.length > 0 ? `, of which ${others.join(", ")}` : ""}`;
  return {
    phase: "Evacuated",
    message,
    more: { virtualMachines: counts, blockers: [], estimatedCompletionTime: undefined },
    first: handedOver(w),
  };
}

/** From now on the cordon is a person's, and nothing of Lifeboat's takes it back. */
function handedOver({ ne, node }: NodeWorld): readonly Action[] {
  const by = ownerOf(ne);
  return node?.cordonedBy === by ? [{ verb: "Uncordon", node: node.name, by, stays: true }] : [];
}

/** Whether a drain waits for the pod. */
function isLeft(subject: Subject, { ne }: NodeWorld): boolean {
  const { pod, verdict } = subject;
  const isVms = verdict.vmi !== undefined || verdict.outcome === "Waits" || isOfVm(pod);
  return (!isMinor(subject) || isCompleted(subject)) && (isVms || ne.spec.otherPods !== "Leave");
}

/** `kubectl drain` evicts pods that have ended, too: the API server deletes them at once. */
function isCompleted({ verdict }: Subject): boolean {
  return verdict.outcome === "Ended" && verdict.reason === "PodCompleted";
}

/** Of one that is to be shut down: what it takes at two reads so far apart is no passing state. */
const TWICE_SECONDS = 60;

export function isShutdownDue({ fate, vmi, blocker }: VmView, { ne, now }: Pick<NodeWorld, "ne" | "now">): boolean {
  if (fate !== "ShutsDown") return false;
  const known = ne.status.blockers.filter((one) => keyOf(one) === keyOf(vmi));
  return known.some(
    (one) => one.reason === "NoRestart" || (isSame(one, blocker) && secondsSince(one.since, now) >= TWICE_SECONDS),
  );
}

/** Restarts of VMs that their owners have stopped or deleted meanwhile: nothing starts these. */
function undone({ evacuations, vms }: NodeWorld): readonly Action[] {
  return evacuations.flatMap((evacuation): readonly Action[] => {
    const { spec, status } = evacuation;
    const vm = vms.get(vmOf(evacuation));
    const isOff = vm === "None" || vm?.runStrategy === "Halted";
    if (status.phase !== "Restarting" || spec.intent === "Withdrawn" || !isOff) return [];
    return [{ verb: "WithdrawEvacuation", evacuation }];
  });
}

/** VMs that have been off for longer than a start takes: they are not on the node any more, and hold those that are to be restarted. */
function overdue({ evacuations, vmis, now }: NodeWorld): readonly EvacuationFacts[] {
  const here = new Set(vmis.map(keyOf));
  const isLate = (e: EvacuationFacts) => secondsSince(e.status.startTime, now) >= OVERDUE_SECONDS;
  return evacuations.filter((e) => isActive(e) && isShutdown(e) && isLate(e) && !here.has(vmOf(e)));
}

function notBack({ namespace, spec, status: { message = "" } }: EvacuationFacts): NodeBlocker {
  const fix = `its owner: kubectl describe vm ${spec.vmiName} -n ${namespace} says why it does not run`;
  return blockerOf({ namespace, name: spec.vmiName }, "NotRunningAgain", message, fix);
}

/** One restart at a time: the next when the VM before runs elsewhere. */
export function isRestarting({ evacuations }: Pick<NodeWorld, "evacuations">): boolean {
  return evacuations.some((e) => e.spec.by === "Restart" && isActive(e));
}

function beginningOf(view: VmView, w: NodeWorld): readonly Action[] {
  const candidate = w.candidates.find(({ vmi }) => vmi.uid === view.vmi.uid);
  if (candidate === undefined) return [];
  if (view.fate === "Next") return [create(candidate, w, {})];
  if (!isShutdownDue(view, w) || view.way === undefined) return [];
  // Its migration is not wanted any more: one of its pod at a time.
  if (view.evacuation !== undefined) return [{ verb: "WithdrawEvacuation", evacuation: view.evacuation }];
  const vm = w.vms.get(keyOf(view.vmi));
  const runStrategy = vm === undefined || vm === "None" ? undefined : vm.runStrategy;
  const failed = candidate.evacuations
    .filter((e) => e.status.phase === "Abandoned")
    .map(({ status }) => status.attempts);
  const inherited = view.blocker?.reason === "Abandoned" ? { attempts: Math.max(1, ...failed) } : undefined;
  return [create(candidate, w, { by: view.way, runStrategy, inherited })];
}

type Own = Pick<EvacuationFacts["spec"], "by" | "runStrategy" | "inherited">;

function create({ vmi, evacuations }: Candidate, { ne, now }: NodeWorld, own: Own): Action {
  const asked = { cause: "NodeEvacuation", requestedBy: `NodeEvacuation ${ne.name}` } as const;
  const evacuation = newEvacuation(vmi, asked, { evacuations, now });
  const part = { nodeEvacuation: { name: ne.name, uid: ne.uid }, ...own };
  return { verb: "CreateEvacuation", evacuation: { ...evacuation, spec: { ...evacuation.spec, ...part } } };
}

/** A launcher pod only if that is how its VM leaves. */
function isEvicted(subject: Subject, views: readonly VmView[], w: NodeWorld): boolean {
  const { pod, verdict, vmi } = subject;
  if (pod.deleting) return false;
  if (verdict.vmi === undefined) return verdict.outcome === "Evicted" || isCompleted(subject);
  const going = views.find((view) => view.fate === "Goes" && view.vmi.uid === vmi?.uid);
  return verdict.outcome === "ShutsDown" && going !== undefined && isHeard(going.vmi, w);
}

/** Of a VM whose guest then ends nothing else would say who has ended it: Lifeboat does not review its own evictions. */
function evict({ pod: { namespace, name, uid }, vmi }: Subject, { ne }: NodeWorld): readonly Action[] {
  const eviction: Action = { verb: "EvictPod", pod: { namespace, name, uid } };
  if (vmi === undefined) return [eviction];
  const message = `NodeEvacuation ${ne.name} evicts pod ${name}: the guest shuts down, as its eviction strategy says`;
  return [recordEvent(vmi, "ShutdownByStrategy", message, uid), eviction];
}

/** Those of VMs are known already. */
function podBlockers(pods: readonly Subject[]): readonly NodeBlocker[] {
  const stuck = pods.filter((subject) => subject.verdict.vmi === undefined && isBlocked(subject));
  return stuck.map(({ pod, verdict }) => blockerOf(pod, verdict.reason, verdict.message, verdict.remedy));
}

const MOST_BLOCKERS = 20;
const LONGEST = 1024;

function withTimes(found: readonly NodeBlocker[], { ne, now }: NodeWorld): readonly NodeBlocker[] {
  return found.slice(0, MOST_BLOCKERS).map((blocker) => {
    const before = ne.status.blockers.find((one) => isSame(one, blocker));
    const message = blocker.message.slice(0, LONGEST).toWellFormed();
    return { ...blocker, message, since: before?.since ?? now.toISOString() };
  });
}

function isSame(a: NodeBlocker, b: NodeBlocker | undefined): boolean {
  return b !== undefined && keyOf(a) === keyOf(b) && a.reason === b.reason;
}

/** These end by themselves in most clusters. */
const PASSING: ReadonlySet<string> = new Set(["BudgetExhausted", "External"]);

/** Whether no VM moves, nor is about to: then the other pods leave. */
export function isCalm(views: readonly VmView[]): boolean {
  return views.every(({ fate, blocker }) => fate === "Blocked" || fate === "Goes" || blocker?.reason === "External");
}

/** Whether nothing leaves any more without a person. */
function isSettled(
  views: readonly VmView[],
  counts: VmCounts,
  blockers: readonly NodeBlocker[],
  w: NodeWorld,
): boolean {
  const late = overdue(w).length;
  // The next restart waits for the one that is late.
  const others = late > 0 ? views.filter(({ fate }) => fate !== "ShutsDown") : views;
  const isBusy = counts.moving > late || !isCalm(others);
  const isOver = ({ reason, since }: NodeBlocker) =>
    !PASSING.has(reason) || secondsSince(since, w.now) >= TWICE_SECONDS;
  return !isBusy && (w.subjects !== undefined || late > 0) && blockers.some(isOver);
}

function textOf(blocker: NodeBlocker | undefined): string {
  return blocker === undefined ? "" : `${keyOf(blocker)}: ${blocker.message}`;
}

function progressText({ total, left, moving, waiting, blocked }: VmCounts, pods: number): string {
  if (left + moving === 0) return `no VM is left; other pods: ${pods}`;
  if (left === 0) return `no VM is left; ${moving} not yet settled elsewhere`;
  // Of those that move some have arrived, and are not at rest yet.
  return `${left} of ${total} VMs are left: ${left - waiting - blocked} moving, ${waiting} waiting, ${blocked} blocked`;
}

/** By what VMs have taken so far; until one has left, by the preflight. Only what has changed is worth another estimate. */
function etaOf(
  { total, left, moving, waiting }: VmCounts,
  { ne, now }: NodeWorld,
): NodeEvacuationStatus["estimatedCompletionTime"] {
  const { startTime, virtualMachines, estimatedCompletionTime } = ne.status;
  const gone = total - left;
  if (left === 0 || moving + waiting === 0) return undefined;
  if (gone === 0 || virtualMachines?.left === left) return estimatedCompletionTime;
  return secondsAfter(now, (secondsSince(startTime, now) / gone) * left);
}
