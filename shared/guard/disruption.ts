/**
 * Handles disruptions in progress: pods that a scheduler or a taint manager is deleting, NoExecute taints, and passed
 * deadlines.
 */
import { type Action, type Plan, recordEvent } from "../kube/action.ts";
import { conditionedDisruption, knownDisruptions } from "./disruption-cause.ts";
import { GUARDED, isGateOn } from "../settings/guarded.ts";
import { activeEvacuation, ofVmi } from "../evacuation/identity.ts";
import type { NodeFacts, PodFacts, Taint, VmiFacts } from "../kube/facts.ts";
import { isMarked } from "../evacuation/mark.ts";
import { nodeOf } from "../evacuation/world.ts";
import { isToMove } from "../eviction/table.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import { armFor } from "../shield/shield.ts";
import { resolveStrategy } from "../settings/strategy.ts";
import { type Deciding, type Moment, secondsSince } from "../settings/time.ts";
import {
  drivingTaints,
  isAlive,
  isFinal,
  isHandlerMissing,
  isLauncher,
  isMigrationTarget,
  keyOf,
  toleratedSeconds,
  unprotectedReason,
  vmiNameOf,
} from "../kube/objects.ts";
import { startDisruption } from "./decide.ts";
import { GUARD_MESSAGES as MESSAGES } from "./messages.ts";

export interface DisruptionWorld extends Deciding {
  readonly vmis: readonly VmiFacts[];
  readonly evacuations: readonly EvacuationFacts[];
  /**
   * The launcher pods to check: pods from an event, pods on nodes with a NoExecute taint, and pods with a deadline that
   * might have passed.
   */
  readonly pods: readonly PodFacts[];
}

export function planDisruptions(w: DisruptionWorld): Plan {
  const vmis = new Map(w.vmis.map((vmi) => [keyOf(vmi), vmi]));
  const chains = w.pods.filter(isLauncher).map((pod) => {
    const vmi = vmis.get(keyOf({ namespace: pod.namespace, name: vmiNameOf(pod) ?? "" }));
    if (vmi === undefined || !runsIn(vmi, pod)) return orphaned(pod, vmi, w);
    return pod.deleting ? seen(pod, vmi, w) : tainted(pod, vmi, w);
  });
  const again = chains.some((chain) => chain.some(({ verb }) => verb === "CreateEvacuation"));
  return { chains: chains.filter((chain) => chain.length > 0), again };
}

function runsIn(vmi: VmiFacts, pod: PodFacts): boolean {
  const isLiving = !vmi.deleting && !isFinal(vmi) && unprotectedReason(pod, undefined, vmi) === undefined;
  return isLiving && vmi.nodeName !== undefined && !isMigrationTarget(pod, vmi);
}

/**
 * Deletes a pod without a running VM if the taint manager tried to delete it. Does not delete the target pod of a
 * migration.
 */
function orphaned(pod: PodFacts, vmi: VmiFacts | undefined, { settings }: DisruptionWorld) {
  const isWanted = isGateOn("NoExecuteTaint", settings) || settings.isHoldingTaints;
  const isOther =
    vmi === undefined || unprotectedReason(pod, undefined, vmi) === "VmiGone" || vmi.deleting || isFinal(vmi);
  return isWanted && isOther && isReasonGiven(pod) && !pod.deleting ? [{ verb: "DeletePod", pod } as const] : [];
}

/** Starts an evacuation for a pod that is already terminating, and records an Event. */
function seen(pod: PodFacts, vmi: VmiFacts, w: DisruptionWorld): readonly Action[] {
  const disruption = conditionedDisruption(pod, w);
  if (disruption === undefined || !isGateOn(disruption.cause, w.settings)) return [];
  const evacuations = ofVmi(w.evacuations, vmi);
  const isKnown = knownDisruptions({ pod, vmi, evacuations, podUID: pod.uid }, w.now).length > 0;
  if (isKnown || !isToSave(pod, vmi, w)) return [];
  const chosen = { ...disruption, requestedBy: pod.disruptionTarget?.reason ?? disruption.cause, launcher: pod };
  const { name, actions } = startDisruption(vmi, chosen, evacuations, w);
  const message = MESSAGES.terminating(pod, disruption.cause, vmi.nodeName);
  return [...actions, recordEvent(vmi, "DisruptionSeen", message, name)];
}

function isToSave(pod: PodFacts, vmi: VmiFacts, { settings, facts }: DisruptionWorld): boolean {
  if (isMarked(vmi) || !isToMove(vmi, settings)) return false;
  const node = nodeOf(pod, facts);
  return node === undefined || isAlive(node);
}

/**
 * Moves the VM or deletes the pod if the pod does not tolerate a NoExecute taint. The taint manager does not repeat a
 * refused deletion, so Lifeboat acts itself.
 */
function tainted(pod: PodFacts, vmi: VmiFacts, w: DisruptionWorld): readonly Action[] {
  const node = nodeOf(pod, w.facts);
  if (node === undefined) return [];
  if (isHeldInVain(pod, node, w)) return [{ verb: "DeletePod", pod }];
  const taint =
    isGateOn("NoExecuteTaint", w.settings) && isAlive(node) ? dueTaint(pod, drivingTaints(node, pod), w) : undefined;
  if (taint === undefined) return [];
  if (!isToMove(vmi, w.settings)) return letGo(pod, vmi, taint, w);
  const evacuations = ofVmi(w.evacuations, vmi);
  const subject = { pod, vmi, evacuations, podUID: pod.uid };
  if (knownDisruptions(subject, w.now).some(({ cause }) => cause === "NoExecuteTaint")) {
    return overdue(pod, vmi, { ...w, node, taint });
  }
  // Lifeboat counts the deadline from now and not from the taint's time, so that the VM gets its full time even after
  // an outage of Lifeboat.
  const deadline = w.now.getTime() + w.settings.guard.deadlineSeconds.NoExecuteTaint * 1000;
  const chosen = { cause: "NoExecuteTaint", deadline, requestedBy: TAINT_MANAGER, launcher: pod } as const;
  const { name, actions } = startDisruption(vmi, chosen, evacuations, w);
  const message = MESSAGES.tainted(node, taint.key, pod);
  return [...actions, recordEvent(vmi, "DeletionRefused", message, name)];
}

/** The reason in the DisruptionTarget condition of a pod that the taint manager deletes. */
const TAINT_MANAGER = GUARDED.NoExecuteTaint.reason;

function isReasonGiven({ disruptionTarget }: PodFacts): boolean {
  return disruptionTarget?.active === true && disruptionTarget.reason === TAINT_MANAGER;
}

/**
 * Returns a taint that the pod does not tolerate, or no longer tolerates. If the taint manager has already tried to
 * delete the pod, ignores the rest of the toleration's time.
 */
function dueTaint(pod: PodFacts, taints: readonly Taint[], { now }: Moment): Taint | undefined {
  return taints.find((taint) => {
    const seconds = toleratedSeconds(taint, pod);
    return seconds < Infinity && (isReasonGiven(pod) || seconds === 0 || secondsSince(taint.timeAdded, now) >= seconds);
  });
}

/**
 * Returns whether a ValidatingAdmissionPolicy refuses the taint manager's deletion although Lifeboat would allow it.
 * This happens if the feature gate NoExecuteTaintEvictionLiveMigration is off, or if the node is lost.
 */
function isHeldInVain(pod: PodFacts, node: NodeFacts, m: Moment): boolean {
  const { isHoldingTaints } = m.settings;
  const isVain = isGateOn("NoExecuteTaint", m.settings) ? !isAlive(node) : isHoldingTaints;
  const driving = node.taints.filter(({ effect }) => effect === "NoExecute");
  return isVain && dueTaint(pod, driving, m) !== undefined;
}

/** Deletes the pod of a VM that does not move. */
function letGo(pod: PodFacts, vmi: VmiFacts, { key }: Taint, { settings }: DisruptionWorld): readonly Action[] {
  const resolved = resolveStrategy(vmi, settings);
  const message = MESSAGES.taintedAndStays(pod, key);
  const isAsked = resolved.known && resolved.strategy === "None";
  return [{ verb: "DeletePod", pod }, ...(isAsked ? [] : [recordEvent(vmi, "DeletionAllowed", message, pod.uid)])];
}

interface Tainted extends DisruptionWorld {
  readonly node: NodeFacts;
  readonly taint: Taint;
}

/** Deletes the pod after the deadline, unless the VM's evacuation has failed or was cancelled. */
function overdue(pod: PodFacts, vmi: VmiFacts, { evacuations, node, taint, settings, now }: Tainted) {
  // After a post-copy migration has started, the guest still needs this pod. Without virt-handler, the guest cannot
  // leave the pod.
  if (vmi.guestOnTarget === true || isHandlerMissing(node, now)) return [];
  const subject = { pod, vmi, evacuations: ofVmi(evacuations, vmi), podUID: pod.uid };
  if (activeEvacuation(vmi, subject.evacuations, pod.uid)?.spec.intent !== "Evacuate") return [];
  const late = knownDisruptions(subject, now).find(({ cause, deadline, evacuation }) => {
    const isWanted = isActive(evacuation)
      ? evacuation.spec.intent === "Evacuate"
      : evacuation.status.phase === "Duplicate";
    return cause === "NoExecuteTaint" && deadline <= now.getTime() && isWanted;
  });
  if (late === undefined) return [];
  const { uid, spec } = late.evacuation;
  const message = MESSAGES.overdue(pod, spec.deadline, taint.key);
  const actions: readonly Action[] = [{ verb: "DeletePod", pod }, recordEvent(vmi, "DeadlineKept", message, uid)];
  return [...armFor(vmi, { settings, now, evacuations }), ...actions];
}
