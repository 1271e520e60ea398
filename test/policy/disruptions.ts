/**
 * Disruptions that do not ask, minimal plus one tweak: a deletion by the scheduler, pods with the condition, nodes.
 * Owns: assembling those facts. Does not own: VM and pod themselves (fixtures.ts).
 */
import { decideDeletion, type DeletionDecision, type DeletionFacts } from "../../shared/policy/deletion.ts";
import type { GuardCause } from "../../shared/policy/disruption-cause.ts";
import { type DisruptionWorld, planDisruptions } from "../../shared/policy/disruption.ts";
import type { DisruptionTarget, NodeFacts, PodFacts, Taint, VmiFacts } from "../../shared/policy/facts.ts";
import { type FeatureGate, type GuardSettings, type Settings } from "../../shared/policy/settings.ts";
import { marked, NODE, NOW, pod, settings, time, vmi } from "./fixtures.ts";

export const SCHEDULER = "system:kube-scheduler";
export const NODE_CONTROLLER = "system:serviceaccount:kube-system:node-controller";
export const TAINT_CONTROLLER = "system:serviceaccount:kube-system:taint-eviction-controller";

export const REASON = {
  Preemption: "PreemptionByScheduler",
  NoExecuteTaint: "DeletionByTaintManager",
} as const satisfies Record<GuardCause, string>;

export const REQUESTER = { Preemption: SCHEDULER, NoExecuteTaint: NODE_CONTROLLER } as const;

export const GATES: readonly FeatureGate[] = [
  "PreemptionEvictionLiveMigration",
  "NoExecuteTaintEvictionLiveMigration",
  "NodePressureEvictionLiveMigration",
];

/** All gates on. */
export function guarded(guard: Partial<GuardSettings> = {}, tweak: Parameters<typeof settings>[0] = {}): Settings {
  const base = settings({ featureGates: GATES, ...tweak });
  return { ...base, guard: { ...base.guard, ...guard } };
}

export function condition(cause: GuardCause, tweak: Partial<DisruptionTarget> = {}): DisruptionTarget {
  return { active: true, reason: REASON[cause], since: time(0), ...tweak };
}

/** The launcher pod, as it is when the scheduler or the taint manager has just picked it. */
export function target(cause: GuardCause, since = 0, tweak: Partial<PodFacts> = {}): PodFacts {
  return pod({ disruptionTarget: condition(cause, { since: time(since) }), ...tweak });
}

export function node(tweak: Partial<NodeFacts> = {}): NodeFacts {
  return {
    name: NODE,
    ready: true,
    unschedulable: false,
    taints: [],
    pressures: [],
    allocatableMemory: 64 * 2 ** 30,
    ...tweak,
  };
}

/** What the taint manager deletes for. */
export const MAINTENANCE: Taint = { key: "maintenance", effect: "NoExecute" };

/** The scheduler deletes the launcher pod of the VM for a pod of higher priority, on 1.36. */
export function deletion(tweak: Partial<DeletionFacts> = {}): DeletionFacts {
  return {
    pod: target("Preemption"),
    vmi: vmi(),
    node: node({ taints: [MAINTENANCE] }),
    neighbours: [],
    evacuating: [],
    requester: SCHEDULER,
    patienceSeconds: 25,
    serverMinor: 36,
    settings: guarded(),
    now: NOW,
    ...tweak,
  };
}

/** "Hold" or the reason for which it goes. */
export function answer(decision: DeletionDecision): string {
  return decision.verdict === "Release" ? decision.reason : decision.verdict;
}

export function answerTo(tweak: Partial<DeletionFacts>): string {
  return answer(decideDeletion(deletion(tweak)));
}

export function held(tweak: Partial<DeletionFacts>): Extract<DeletionDecision, { verdict: "Hold" }> {
  const decision = decideDeletion(deletion(tweak));
  if (decision.verdict !== "Hold") throw new Error(`released: ${decision.reason}`);
  return decision;
}

/** The record with which the VM is marked, or undefined. */
export function markedBy(tweak: Partial<DeletionFacts>) {
  return held(tweak).actions.flatMap((action) => ("record" in action && action.record ? [action.record] : []))[0];
}

/** Another VM of that name, held since so many seconds ago. */
export function heldCalled(name: string, ago: number, cause: GuardCause = "Preemption", on = NODE): VmiFacts {
  const place = { node: on, podUID: `pod-${name}` };
  const activePods = { [place.podUID]: on };
  const tweak = { name, uid: `uid-${name}`, nodeName: on, evacuationNodeName: on, activePods };
  return marked(tweak, { cause, since: time(-ago), ...place });
}

export function disruptionWorld(tweak: Partial<DisruptionWorld> = {}): DisruptionWorld {
  return { vmis: [vmi()], pods: [], nodes: [node()], settings: guarded(), now: NOW, ...tweak };
}

export function plannedDisruptions(tweak: Partial<DisruptionWorld>) {
  return planDisruptions(disruptionWorld(tweak)).chains.flat();
}
