/**
 * Disruptions already under way: pods that are being ended although nobody asked, and deadlines that have passed.
 * Owns: marking what the guard did not see, and finishing what the taint manager gave up on. Does not own: the guard.
 */
import { type Action, tell } from "./action.ts";
import { disruptionOf, GATE_OF_CAUSE } from "./disruption-cause.ts";
import { isFinal, keyOf, type NodeFacts, type PodFacts, type VmiFacts } from "./facts.ts";
import { GUARD } from "./deletion-table.ts";
import { markActions } from "./mark.ts";
import { isMigrationTarget } from "./migration-target.ts";
import { isAlive } from "./node-alive.ts";
import { drivingTaint } from "./no-execute.ts";
import type { Plan } from "./plan.ts";
import { isLauncher, unprotectedReason, vmiNameOf } from "./pod-kind.ts";
import { beganAt, disruptionRecord, type EvacuationRecord, isActive } from "./record.ts";
import type { Settings } from "./settings.ts";
import { isMarked, strategyOf } from "./stage.ts";
import { mobilityOf } from "./strategy.ts";

export interface DisruptionWorld {
  readonly vmis: readonly VmiFacts[];
  /** Launcher pods that somebody has pointed at, and those whose deadline may have passed. */
  readonly pods: readonly PodFacts[];
  /** The nodes of these pods. */
  readonly nodes: readonly NodeFacts[];
  readonly settings: Settings;
  readonly now: Date;
}

export function planDisruptions(w: DisruptionWorld): Plan {
  if (!w.settings.reconcilers.disruption) return { chains: [] };
  const vmis = new Map(w.vmis.map((vmi) => [keyOf(vmi), vmi]));
  const chains = w.pods
    .filter((pod) => isLauncher(pod) && wasChosen(pod))
    .map((pod) => {
      const vmi = vmis.get(keyOf({ namespace: pod.namespace, name: vmiNameOf(pod) ?? "" }));
      // Nor is it a pod of a VMI made anew under the same name.
      if (vmi === undefined || vmi.deleting || isFinal(vmi) || unprotectedReason(pod, undefined, vmi)) return [];
      return pod.deleting ? seen(pod, vmi, w) : overdue(pod, vmi, w);
    });
  const filled = chains.filter((chain) => chain.length > 0);
  const waits = w.vmis.flatMap((vmi) => secondsToDeadline(vmi, w));
  // What is marked now is evacuated by whoever looks next.
  const soonest = waits.reduce((a, b) => Math.min(a, b), filled.length > 0 ? 0 : Infinity);
  return { chains: filled, ...(soonest === Infinity ? {} : { requeueAfterSeconds: soonest }) };
}

/**
 * Whether a disruption has ever chosen the pod: the condition, True or reset since. A record says so too, but whoever may
 * edit a VMI may edit its record.
 */
function wasChosen({ disruptionTarget }: PodFacts): boolean {
  return disruptionTarget !== undefined;
}

/** A pod that is terminating by a disruption whose VMI nobody has marked: best effort, SIGTERM is on its way. */
function seen(pod: PodFacts, vmi: VmiFacts, { settings, nodes, now }: DisruptionWorld): readonly Action[] {
  const disruption = disruptionOf(pod, { vmi, launcherUID: pod.uid }, settings, now);
  if (disruption === undefined || isMarked(vmi) || vmi.nodeName === undefined || isMigrationTarget(pod, vmi)) return [];
  if (GUARD[strategyOf(vmi, settings)][mobilityOf(vmi)] === "release") return [];
  if (nodes.some((node) => node.name === pod.nodeName && !isAlive(node))) return [];
  const { cause, since } = disruption;
  const begin = { cause, requestedBy: pod.disruptionTarget?.reason ?? cause, node: vmi.nodeName, podUID: pod.uid };
  const record = disruptionRecord(vmi, begin, { since, now });
  const told = `pod ${pod.name} is terminating (cause ${cause}): moving the VM off node ${vmi.nodeName}, if there is time`;
  return [...markActions(vmi, record, { settings, now }), tell(vmi, "DisruptionSeen", told, record.id)];
}

function taintRecord(vmi: VmiFacts, settings: Settings): EvacuationRecord | undefined {
  const { record } = vmi;
  if (record?.cause !== "NoExecuteTaint" || !isActive(record, vmi.nodeName)) return undefined;
  return settings.featureGates.includes(GATE_OF_CAUSE.NoExecuteTaint) ? record : undefined;
}

function leftSeconds(record: EvacuationRecord, { settings, now }: Pick<DisruptionWorld, "settings" | "now">): number {
  const deadline = (beganAt(record, now) ?? now.getTime()) + settings.guard.deadlineSeconds.NoExecuteTaint * 1000;
  return (deadline - now.getTime()) / 1000;
}

function secondsToDeadline(vmi: VmiFacts, w: DisruptionWorld): readonly number[] {
  const record = taintRecord(vmi, w.settings);
  const left = record === undefined ? 0 : leftSeconds(record, w);
  return left > 0 ? [left] : [];
}

/** VMIs under evacuation for a NoExecute taint: their pods and nodes tell whether it is still there. */
export function drivenOf({ vmis, settings }: Pick<DisruptionWorld, "vmis" | "settings">): readonly VmiFacts[] {
  return vmis.filter((vmi) => taintRecord(vmi, settings) !== undefined);
}

/**
 * UIDs of those whose taint is gone: the node lives, and drives their pod away no longer. The taint manager does not take
 * back what it has begun to delete, so this has to be found out here.
 */
export function untaintedOf(w: Pick<DisruptionWorld, "vmis" | "settings" | "pods" | "nodes">): ReadonlySet<string> {
  const gone = drivenOf(w).filter((vmi) => {
    const node = w.nodes.find(({ name }) => name === vmi.nodeName);
    const pod = w.pods.find(({ uid }) => uid === vmi.record?.podUID);
    return isAlive(node) && pod !== undefined && drivingTaint(node, pod) === undefined;
  });
  return new Set(gone.map(({ uid }) => uid));
}

/** The taint manager tries five times and never again: past the deadline its deletion is ours to finish. */
function overdue(pod: PodFacts, vmi: VmiFacts, w: DisruptionWorld): readonly Action[] {
  const record = taintRecord(vmi, w.settings);
  const node = w.nodes.find((n) => n.name === pod.nodeName);
  if (record === undefined || node === undefined || record.podUID !== pod.uid || leftSeconds(record, w) > 0) return [];
  const taint = drivingTaint(node, pod);
  if (taint === undefined) return [];
  const seconds = w.settings.guard.deadlineSeconds.NoExecuteTaint;
  const told = `it has not left node ${node.name} within ${seconds} s of taint ${taint.key}: deleting pod ${pod.name}`;
  return [{ verb: "DeletePod", pod }, tell(vmi, "DeadlineKept", told, record.id)];
}
