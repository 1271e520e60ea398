/** Disruptions in progress: pods that a scheduler or a taint manager is ending, and deadlines that have passed. */
import { type Action, type Plan, recordEvent } from "../kube/action.ts";
import { conditionedDisruption, knownDisruptions } from "./disruption-cause.ts";
import { isGateOn } from "../settings/guarded.ts";
import { activeEvacuation, ofVmi } from "../evacuation/identity.ts";
import type { NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import { isMarked } from "../evacuation/mark.ts";
import { isToMove } from "../eviction/table.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import { armFor } from "../shield/shield.ts";
import type { Moment } from "../settings/time.ts";
import {
  drivingTaint,
  isAlive,
  isFinal,
  isLauncher,
  isMigrationTarget,
  keyOf,
  unprotectedReason,
  vmiNameOf,
} from "../kube/objects.ts";
import { startDisruption } from "./decide.ts";

export interface DisruptionWorld extends Moment {
  readonly vmis: readonly VmiFacts[];
  readonly evacuations: readonly EvacuationFacts[];
  /** Launcher pods that are pointed at, and those whose deadline may have passed. */
  readonly pods: readonly PodFacts[];
  readonly nodes: readonly NodeFacts[];
}

export function planDisruptions(w: DisruptionWorld): Plan {
  const vmis = new Map(w.vmis.map((vmi) => [keyOf(vmi), vmi]));
  const chains = w.pods.filter(isLauncher).map((pod) => {
    const vmi = vmis.get(keyOf({ namespace: pod.namespace, name: vmiNameOf(pod) ?? "" }));
    if (vmi === undefined || !runsIn(vmi, pod)) return [];
    return pod.deleting ? seen(pod, vmi, w) : overdue(pod, vmi, w);
  });
  const again = chains.some((chain) => chain.some(({ verb }) => verb === "CreateEvacuation"));
  return { chains: chains.filter((chain) => chain.length > 0), again };
}

/** Not a pod of an earlier VMI of the same name, nor one on another node than its VMI. */
function runsIn(vmi: VmiFacts, pod: PodFacts): boolean {
  const isLiving = !vmi.deleting && !isFinal(vmi) && unprotectedReason(pod, undefined, vmi) === undefined;
  return isLiving && vmi.nodeName !== undefined && !isMigrationTarget(pod, vmi);
}

/** A pod that is terminating by a disruption whose VMI is not marked: best effort, SIGTERM is on its way. */
function seen(pod: PodFacts, vmi: VmiFacts, w: DisruptionWorld): readonly Action[] {
  const disruption = conditionedDisruption(pod, w);
  if (disruption === undefined || !isGateOn(disruption.cause, w.settings)) return [];
  const evacuations = ofVmi(w.evacuations, vmi);
  // The guard has seen it: its Evacuation says what is left to do.
  const isKnown = knownDisruptions({ pod, vmi, evacuations, podUID: pod.uid }, w.now).length > 0;
  if (isKnown || !isToSave(pod, vmi, w)) return [];
  const chosen = { ...disruption, requestedBy: pod.disruptionTarget?.reason ?? disruption.cause, launcher: pod };
  const { name, actions } = startDisruption(vmi, chosen, evacuations, w);
  const message =
    `pod ${pod.name} is terminating (cause ${disruption.cause}): moving the VM off node ${vmi.nodeName}, ` +
    "if there is time";
  return [...actions, recordEvent(vmi, "DisruptionSeen", message, name)];
}

function isToSave(pod: PodFacts, vmi: VmiFacts, { settings, nodes }: DisruptionWorld): boolean {
  if (isMarked(vmi) || !isToMove(vmi, settings)) return false;
  return nodes.every((node) => node.name !== pod.nodeName || isAlive(node));
}

/** The taint manager tries five times: past the deadline Lifeboat finishes its deletion, unless the VM's evacuation was given up or cancelled. */
function overdue(pod: PodFacts, vmi: VmiFacts, { evacuations, nodes, settings, now }: DisruptionWorld) {
  const node = nodes.find(({ name }) => name === pod.nodeName);
  const taint = drivingTaint(node, pod);
  // In post-copy the guest would be lost with the pod that it has left.
  if (taint === undefined || !isGateOn("NoExecuteTaint", settings) || vmi.guestOnTarget === true) return [];
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
  const message = `it has not left node ${pod.nodeName} by ${spec.deadline} (taint ${taint.key}): deleting pod ${pod.name}`;
  const actions: readonly Action[] = [{ verb: "DeletePod", pod }, recordEvent(vmi, "DeadlineKept", message, uid)];
  return [...armFor(vmi, { settings, now, evacuations }), ...actions];
}
