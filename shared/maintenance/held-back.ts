/**
 * Decides which VMs must wait. Lifeboat restarts, stops or shuts down VMs last, so that a drain that fails shuts down
 * no guest.
 */
import { each, together, unlessFailed } from "../facts/facts.ts";
import { SCHEDULED_PODS } from "../facts/views.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import { describeFailure, isOddObject } from "../kube/failures.ts";
import { keyOf } from "../kube/objects.ts";
import { selectLaunchersOn } from "../kube/selections.ts";
import type { Subject } from "../preflight/progress.ts";
import { isLeft, isQuiet, isShutdownDue, overdue, podBlockers } from "./blockers.ts";
import { restartObstacle } from "./forecast.ts";
import { refusalsByBudgets } from "./budget-refusals.ts";
import { MAINTENANCE_MESSAGES as MESSAGES } from "./messages.ts";
import { nodeToDrain, ownEvacuations, podsLeft, preflightBeside, prioritiesOf, vmisOf } from "./questions.ts";
import { unreadableOn } from "./unreadable.ts";
import { blocked, blockerOf, inOrder, viewOf, type VmView, withoutRoom } from "./vms.ts";
import type { NodeWorld } from "./world.ts";

/**
 * Lists the VMs in the order in which they leave. VMs that would be restarted or stopped wait while anything else
 * blocks the node.
 */
export function viewsOf(w: NodeWorld): readonly VmView[] {
  const here = vmisOf(w);
  const inTurn = inOrder(here, w.ne.spec.virtualMachines.order, prioritiesOf(here, w));
  const views = withBudgets(
    each(inTurn, (vmi) => viewOf(vmi, w)),
    w,
  );
  return heldBack(withRoom(heldBack(views, w), w), w);
}

/** Prevents the restart or stop of VMs while another party's PodDisruptionBudget refuses it. */
function withBudgets(views: readonly VmView[], w: NodeWorld): readonly VmView[] {
  if (views.every(({ fate }) => fate !== "ShutsDown")) return views;
  const refusals = unlessFailed(
    () => {
      const [pods, budgets] = together(
        () => w.facts.list(SCHEDULED_PODS, selectLaunchersOn(w.ne.spec.nodeName)),
        () => w.facts.list("poddisruptionbudgets"),
      );
      return refusalsByBudgets(views, pods, budgets);
    },
    (failed) => {
      if (isOddObject(failed.failure)) return describeFailure(failed.failure);
      throw failed;
    },
  );
  return views.map((view) => {
    if (view.fate !== "ShutsDown") return view;
    if (typeof refusals === "string") return blocked(view.vmi, "BudgetUnknown", refusals);
    const refusal = refusals.get(keyOf(view.vmi));
    return refusal === undefined ? view : { ...blocked(view.vmi, refusal.reason, refusal.message), isKept: true };
  });
}

/** Prevents the restart of VMs that fit on no other node. */
function withRoom(views: readonly VmView[], w: NodeWorld): readonly VmView[] {
  const due = new Set(views.filter((view) => view.way === "Restart" && isShutdownDue(view, w)));
  if (due.size === 0 || !isRunning(w) || isRestarting(w)) return views;
  const preflight = preflightBeside(w);
  return views.map((view) => {
    if (!due.has(view)) return view;
    const why = preflight === undefined ? MESSAGES.nodeIsGone : restartObstacle(view.vmi, preflight, w);
    return why === undefined ? view : withoutRoom(view.vmi, MESSAGES.noStart(why));
  });
}

/** Returns true if the node is cordoned and the drain is not paused. Otherwise, no further VM starts to leave. */
export function isRunning(w: NodeWorld): boolean {
  return w.ne.spec.progress === "Running" && nodeToDrain(w)?.unschedulable === true;
}

/** Returns whether a VM is restarting. The next VM restarts only after this VM runs on another node. */
export function isRestarting(w: NodeWorld): boolean {
  return ownEvacuations(w).some((e: EvacuationFacts) => e.spec.by === "Restart" && isActive(e));
}

function isEnding({ fate }: VmView): boolean {
  return fate === "Goes" || fate === "ShutsDown";
}

/**
 * Returns whether pods that belong to no VM leave now. They leave when no VM is moving or about to move. VMs that are
 * shut down or restarted leave after these pods, unless `forceShutdowns` is set.
 */
export function areOthersNext(views: readonly VmView[], { ne }: NodeWorld): boolean {
  return views.every((view) => isQuiet(view) || (!ne.spec.forceShutdowns && isEnding(view)));
}

function heldBack(views: readonly VmView[], w: NodeWorld): readonly VmView[] {
  const isFree = w.ne.spec.forceShutdowns || !views.some(isEnding) || !isBlockedOtherwise(views, w);
  return isFree ? views : views.map(waiting);
}

/**
 * Returns whether the node has blockers other than the VMs that Lifeboat shuts down. An object that cannot be parsed is
 * such a blocker. A PodDisruptionBudget that delays a restart or a stop does not count as a blocker.
 */
function isBlockedOtherwise(views: readonly VmView[], w: NodeWorld): boolean {
  const isInTheWay = (view: VmView) => !isEnding(view) && view.isKept !== true;
  if (overdue(w).length > 0 || views.some(isInTheWay)) return true;
  const ending = new Set(views.filter(isEnding).map(({ vmi }) => vmi.uid));
  const isOther = ({ vmi }: Subject) => vmi === undefined || !ending.has(vmi.uid);
  const pods = podsLeft(w).filter((subject) => isLeft(subject, w) && isOther(subject));
  return podBlockers(pods, views, w).length > 0 || unreadableOn(w).length > 0;
}

function waiting(view: VmView): VmView {
  if (!isEnding(view)) return view;
  const { vmi, blocker = blockerOf(vmi, "HeldBack", MESSAGES.evictedLater) } = view;
  return {
    ...view,
    fate: "Waits",
    isHeldBack: true,
    blocker: { ...blocker, message: MESSAGES.heldBack(blocker.message) },
  };
}
