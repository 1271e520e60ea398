/** Guests that wait: a drain that cannot succeed ends none, so restarts, stops and shutdowns come last. */
import { isActive } from "../kube/evacuation.ts";
import { keyOf } from "../kube/objects.ts";
import { isShutdown } from "../evacuation/shutdown.ts";
import type { Subject } from "../preflight/progress.ts";
import { isLeft, overdue, podBlockers } from "./blockers.ts";
import { blockerOf, viewOf, vmOf, type VmView } from "./vms.ts";
import type { NodeWorld } from "./world.ts";

/** What becomes of each VM of the node, with those held back whose guests would end while something else blocks it. */
export function viewsOf(w: NodeWorld): readonly VmView[] {
  const views = w.vmis.map((vmi) => viewOf(vmi, w));
  return w.ne.spec.forceShutdowns || !isBlockedOtherwise(views, w) ? views : views.map(heldBack);
}

/** By a VM that is to move and has not, by one that cannot leave, by one that did not start again, or by another pod. Pods that were not read may block. */
function isBlockedOtherwise(views: readonly VmView[], w: NodeWorld): boolean {
  if (w.subjects === undefined || overdue(w).length > 0 || views.some((view) => isInTheWay(view, w))) return true;
  const ending = new Set(views.filter(isEnding).map(({ vmi }) => vmi.uid));
  const isOther = ({ vmi }: Subject) => vmi === undefined || !ending.has(vmi.uid);
  const pods = w.subjects.filter((subject) => isLeft(subject, w) && isOther(subject));
  return podBlockers(pods, views, w).length > 0;
}

function isEnding({ fate }: VmView): boolean {
  return fate === "Goes" || fate === "ShutsDown";
}

/** A budget lets such VMs end one after another, and each restart waits for the one before. */
function isInTheWay(view: VmView, { kept, evacuations }: NodeWorld): boolean {
  const isItsOwn = evacuations.some((e) => isActive(e) && isShutdown(e) && vmOf(e) === keyOf(view.vmi));
  return !isEnding(view) && !isItsOwn && !kept.has(keyOf(view.vmi));
}

const UNTIL = "once nothing else blocks the node (spec.forceShutdowns: true does not wait)";

function heldBack(view: VmView): VmView {
  if (!isEnding(view)) return view;
  const { vmi, blocker = blockerOf(vmi, "HeldBack", "its eviction ends its guest; Lifeboat evicts it") } = view;
  return { ...view, fate: "Waits", isHeldBack: true, blocker: { ...blocker, message: `${blocker.message} ${UNTIL}` } };
}
