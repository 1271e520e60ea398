/** Drains a cordoned node. VMs leave first, a limited number at a time, and other pods leave afterwards. */
import { type Action, recordEvent } from "../kube/action.ts";
import { each, unlessFailed } from "../facts/facts.ts";
import { isOddObject } from "../kube/failures.ts";
import { keyOf } from "../kube/objects.ts";
import type { NodeEvacuationStatus, VmCounts } from "../kube/node-evacuation.ts";
import type { Subject } from "../preflight/progress.ts";
import { secondsAfter, secondsSince } from "../settings/time.ts";
import { blockersOf, isCompleted, isLeft, isSettled } from "./blockers.ts";
import { volumesLeft } from "./detaching.ts";
import { areOthersNext, viewsOf } from "./held-back.ts";
import { MAINTENANCE_MESSAGES as MESSAGES } from "./messages.ts";
import { countsOf, endedText, listed, outcomesOf } from "./outcomes.ts";
import { nodeToDrain, ownEvacuations, podsLeft, virtualMachineOf, vmisOf } from "./questions.ts";
import { turnsOf } from "./turns.ts";
import { unreadableOn, unreadableVms } from "./unreadable.ts";
import { vmOf, type VmView } from "./vms.ts";
import { type NodeNext, type NodeWorld, ownerOf } from "./world.ts";

export function leaving(seen: NodeWorld): NodeNext {
  const { views, starts } = turnsOf(viewsOf(seen), seen);
  const outcomes = outcomesOf(views, seen);
  const w = { ...seen, ne: { ...seen.ne, status: { ...seen.ne.status, outcomes } } };
  const counts = countsOf(views, w);
  const arePodsNext = areOthersNext(views, w);
  const pods = arePodsNext ? podsLeft(w).filter((subject) => isLeft(subject, w)) : [];
  const unread = arePodsNext ? unreadableOn(w) : unreadableVms(w);
  const isEmpty = counts.left + counts.moving + pods.length + unread.length === 0;
  if (isEmpty) return whenEmpty(counts, w);
  const evicted = pods.filter((pod) => isEvicted(pod, views));
  const started = [...starts, ...undone(w)];
  const blockers = blockersOf({ views, pods, unread }, w);
  const isProgress = started.length > 0 || evicted.some(({ pod }) => blockers.every(({ uid }) => uid !== pod.uid));
  const held = new Set(views.filter(({ isHeldBack }) => isHeldBack).map(({ vmi }) => vmi.uid));
  const stuck = blockers.filter(({ uid }) => uid === undefined || !held.has(uid));
  const isStuck = !isProgress && isSettled(views, counts, stuck, w);
  return {
    phase: isStuck ? "Blocked" : "Evacuating",
    message: isStuck ? MESSAGES.stuck(stuck.length, stuck[0]) : MESSAGES.progress(counts, pods.length),
    more: {
      virtualMachines: counts,
      blockers,
      outcomes: listed(outcomes),
      estimatedCompletionTime: isStuck ? undefined : etaOf(counts, w),
    },
    chains: [...started.map((action) => [action]), ...evicted.map((pod) => evict(pod, w))],
    again: starts.length > 0,
  };
}

/** No VM or pod is left on the node, but some volumes might still be attached. */
function whenEmpty(counts: VmCounts, w: NodeWorld): NodeNext {
  const volumes = volumesLeft(w);
  const more = {
    virtualMachines: counts,
    blockers: [],
    outcomes: listed(w.ne.status.outcomes),
    estimatedCompletionTime: undefined,
  };
  if (volumes.isAwaited) return { phase: "Evacuating", message: MESSAGES.noVmLeft(volumes.text), more };
  const message = [emptyText(counts, w), volumes.text].filter((text) => text !== "").join("; ");
  return { phase: "Evacuated", message, more, first: handedOver(w) };
}

function emptyText({ total }: VmCounts, w: NodeWorld): string {
  const ended = endedText(w.ne.status.outcomes);
  const took = Math.round(secondsSince(w.ne.status.startTime, w.now));
  return MESSAGES.empty(took, total, ended);
}

/**
 * Removes only Lifeboat's annotation. The node stays cordoned until a person uncordons it, because Lifeboat uncordons
 * only nodes with this annotation.
 */
function handedOver(w: NodeWorld): readonly Action[] {
  const [node, by] = [nodeToDrain(w), ownerOf(w.ne)];
  return node?.cordonedBy === by ? [{ verb: "Uncordon", node: node.name, by, stays: true }] : [];
}

/**
 * Cancels the restart of VMs that their owners have stopped or deleted. A VirtualMachine that cannot be parsed counts
 * as neither stopped nor deleted.
 */
function undone(w: NodeWorld): readonly Action[] {
  const here = new Set(vmisOf(w).map(keyOf));
  const away = ownEvacuations(w).filter((e) => e.status.phase === "Restarting" && !here.has(vmOf(e)));
  const off = each(
    away.filter(({ spec }) => spec.intent !== "Withdrawn"),
    (evacuation) =>
      unlessFailed(
        () => {
          const vm = virtualMachineOf({ namespace: evacuation.namespace, name: evacuation.spec.vmiName }, w);
          return vm === undefined || vm.runStrategy === "Halted" ? [evacuation] : [];
        },
        (failed) => {
          if (isOddObject(failed.failure)) return [];
          throw failed;
        },
      ),
  );
  return off.flat().map((evacuation) => ({ verb: "WithdrawEvacuation", evacuation }));
}

/** Returns whether Lifeboat evicts the pod. Lifeboat evicts a launcher pod only if the eviction shuts the VM down. */
function isEvicted(subject: Subject, views: readonly VmView[]): boolean {
  const { pod, verdict, vmi } = subject;
  if (pod.deleting) return false;
  if (verdict.vmi === undefined) return verdict.outcome === "Evicted" || isCompleted(subject);
  return verdict.outcome === "ShutsDown" && views.some((view) => view.fate === "Goes" && view.vmi.uid === vmi?.uid);
}

/**
 * Evicts a pod. Before the eviction of a launcher pod, records the Event about the shutdown. Lifeboat's webhook records
 * this Event if another user requests the eviction, but does not review Lifeboat's own evictions.
 */
function evict({ pod: { namespace, name, uid }, vmi }: Subject, { ne }: NodeWorld): readonly Action[] {
  const eviction: Action = { verb: "EvictPod", pod: { namespace, name, uid } };
  if (vmi === undefined) return [eviction];
  return [recordEvent(vmi, "ShutdownByStrategy", MESSAGES.evictsPod(ne, name), uid), eviction];
}

/**
 * Estimates when the last VM leaves, from the time that earlier VMs have needed. Until the first VM has left, Lifeboat
 * uses the preflight's estimate. Later, the estimate changes only when another VM has left.
 */
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
