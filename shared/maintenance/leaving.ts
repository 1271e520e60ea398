/** Emptying a cordoned node: VMs leave first, as many at a time as there are places, and then the other pods. */
import { type Action, recordEvent } from "../kube/action.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import { keyOf } from "../kube/objects.ts";
import type { NodeBlocker, NodeEvacuationStatus, VmCounts } from "../kube/node-evacuation.ts";
import { newEvacuation } from "../evacuation/identity.ts";
import type { Subject } from "../preflight/progress.ts";
import { secondsAfter, secondsSince } from "../settings/time.ts";
import { blockersOf, isCompleted, isLeft, isSettled, isShutdownDue } from "./blockers.ts";
import { viewsOf } from "./held-back.ts";
import { countsOf, endedText, outcomesOf } from "./outcomes.ts";
import { isHeard, vmOf, type VmView } from "./vms.ts";
import { type Candidate, type NodeNext, type NodeWorld, ownerOf } from "./world.ts";

export function leaving(seen: NodeWorld): NodeNext {
  const views = viewsOf(seen);
  const outcomes = outcomesOf(views, seen);
  const w = { ...seen, ne: { ...seen.ne, status: { ...seen.ne.status, outcomes } } };
  const counts = countsOf(views, w);
  const pods = (w.subjects ?? []).filter((subject) => isLeft(subject, w));
  if (counts.left + counts.moving + pods.length === 0 && w.subjects !== undefined) return evacuated(counts, w);
  const beginnings = views.flatMap((view) => beginningOf(view, w));
  const evicted = pods.filter((pod) => isEvicted(pod, views, w));
  const begun = [...beginnings, ...undone(w)];
  const blockers = blockersOf(views, pods, w);
  const isProgress = begun.length > 0 || evicted.some(({ pod }) => blockers.every(({ uid }) => uid !== pod.uid));
  const held = new Set(views.filter(({ isHeldBack }) => isHeldBack).map(({ vmi }) => vmi.uid));
  const stuck = blockers.filter(({ uid }) => uid === undefined || !held.has(uid));
  const isStuck = !isProgress && isSettled(views, counts, stuck, w);
  return {
    phase: isStuck ? "Blocked" : "Evacuating",
    message: isStuck ? `${stuck.length} cannot leave; first: ${textOf(stuck[0])}` : progressText(counts, pods.length),
    more: {
      virtualMachines: counts,
      blockers,
      outcomes,
      estimatedCompletionTime: isStuck ? undefined : etaOf(counts, w),
    },
    chains: [...begun.map((action) => [action]), ...evicted.map((pod) => evict(pod, w))],
    again: beginnings.length > 0,
  };
}

function evacuated(counts: VmCounts, w: NodeWorld): NodeNext {
  const ended = endedText(w.ne.status.outcomes);
  const took = Math.round(secondsSince(w.ne.status.startTime, w.now));
  const message = `the node is empty after ${took}s; VMs that left: ${counts.total}${ended === "" ? "" : `, of which ${ended}`}`;
  return {
    phase: "Evacuated",
    message,
    more: {
      virtualMachines: counts,
      blockers: [],
      outcomes: w.ne.status.outcomes,
      estimatedCompletionTime: undefined,
    },
    first: handedOver(w),
  };
}

/** From now on the cordon is a person's, and nothing of Lifeboat's takes it back. */
function handedOver({ ne, node }: NodeWorld): readonly Action[] {
  const by = ownerOf(ne);
  return node?.cordonedBy === by ? [{ verb: "Uncordon", node: node.name, by, stays: true }] : [];
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
  const inherited = inheritedOf(view, candidate);
  return [create(candidate, w, { by: view.way, runStrategy, inherited })];
}

/** KubeVirt says that it can migrate, and it does not get away all the same. */
function inheritedOf({ blocker }: VmView, { evacuations }: Candidate) {
  if (blocker?.reason !== "Abandoned" && blocker?.reason !== "BoundToNode") return undefined;
  const failed = evacuations.filter((e) => e.status.phase === "Abandoned").map(({ status }) => status.attempts);
  return { attempts: Math.max(1, ...failed) };
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
