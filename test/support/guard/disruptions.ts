/**
 * Creates disruptions that bypass evictions: deletions by the scheduler, pods with the condition DisruptionTarget, and
 * deletions before a node is terminated.
 */
import { decideDeletion, type DeletionDecision, type DeletionFacts } from "../../../shared/guard/decide.ts";
import { type GuardCause, GUARDED } from "../../../shared/settings/guarded.ts";
import { type DisruptionWorld, planDisruptions } from "../../../shared/guard/disruption.ts";
import type { NewEvacuation } from "../../../shared/kube/action.ts";
import type { DisruptionTarget, NodeFacts, PodFacts, Taint } from "../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import type { FeatureGate, Settings } from "../../../shared/settings/settings.ts";
import { factsOf } from "../facts.ts";
import { at, evacuation, newborn, node, NOW, only, pod, settings, time, vmi } from "../fixtures.ts";

export const SCHEDULER = "system:kube-scheduler";
export const NODE_CONTROLLER = "system:serviceaccount:kube-system:node-controller";
export const TAINT_CONTROLLER = "system:serviceaccount:kube-system:taint-eviction-controller";

export const DEVICE_TAINT_CONTROLLER = "system:serviceaccount:kube-system:device-taint-eviction-controller";

export const KARPENTER = "system:serviceaccount:kube-system:karpenter";

/** Causes that appear in the condition of a pod. */
export type ConditionedCause = Exclude<GuardCause, "NodeTermination">;

export const REASON = {
  Preemption: "PreemptionByScheduler",
  NoExecuteTaint: "DeletionByTaintManager",
  DeviceTaint: "DeletionByDeviceTaintManager",
} as const satisfies Record<ConditionedCause, string>;

export const REQUESTER = {
  Preemption: SCHEDULER,
  NoExecuteTaint: NODE_CONTROLLER,
  DeviceTaint: DEVICE_TAINT_CONTROLLER,
  NodeTermination: KARPENTER,
} as const satisfies Record<GuardCause, string>;

export const GATES: readonly FeatureGate[] = [
  "PreemptionEvictionLiveMigration",
  "NoExecuteTaintEvictionLiveMigration",
  "NodeTerminationEvictionLiveMigration",
  "NodePressureEvictionLiveMigration",
];

export function gatesBut(cause: GuardCause): readonly FeatureGate[] {
  return GATES.filter((gate) => gate !== GUARDED[cause].gate);
}

export function guarded(guard: Partial<Settings["guard"]> = {}, tweak: Parameters<typeof settings>[0] = {}): Settings {
  const base = settings({ featureGates: GATES, ...tweak });
  return { ...base, guard: { ...base.guard, ...guard } };
}

export function condition(cause: ConditionedCause, tweak: Partial<DisruptionTarget> = {}): DisruptionTarget {
  return { active: true, reason: REASON[cause], since: time(0), ...tweak };
}

/**
 * Returns the launcher pod with the condition that the scheduler or the taint manager sets. `since` is the condition's
 * time, in seconds from now.
 */
export function target(cause: ConditionedCause, since = 0, tweak: Partial<PodFacts> = {}): PodFacts {
  return pod({ disruptionTarget: condition(cause, { since: time(since) }), ...tweak });
}

export function askedFor(cause: GuardCause): Pick<DeletionFacts, "pod" | "requester"> {
  return { pod: cause === "NodeTermination" ? pod() : target(cause), requester: REQUESTER[cause] };
}

/** Returns the facts when Karpenter deletes the launcher pod, `left` seconds before the node is terminated. */
export function termination(left: number, tweak: Partial<DeletionFacts> = {}): Partial<DeletionFacts> {
  return { ...askedFor("NodeTermination"), node: node(), deleteBy: at(left).getTime(), ...tweak };
}

export const MAINTENANCE: Taint = { key: "maintenance", effect: "NoExecute" };

/** Returns the scheduler's deletion of the VM's launcher pod, for a pod of higher priority. */
export function deletion(tweak: Partial<DeletionFacts> = {}): DeletionFacts {
  return {
    pod: target("Preemption"),
    vmi: vmi(),
    node: node({ taints: [MAINTENANCE] }),
    evacuations: [],
    requester: SCHEDULER,
    settings: guarded(),
    now: NOW,
    ...tweak,
  };
}

export function answer(decision: DeletionDecision): string {
  return decision.verdict === "Allow" ? decision.reason : decision.verdict;
}

export function answerTo(tweak: Partial<DeletionFacts>): string {
  return answer(decideDeletion(deletion(tweak)));
}

export function refused(tweak: Partial<DeletionFacts>): Extract<DeletionDecision, { verdict: "Refuse" }> {
  const decision = decideDeletion(deletion(tweak));
  if (decision.verdict !== "Refuse") throw new Error(`released: ${decision.reason}`);
  return decision;
}

/** Returns the seconds until the deadline that the message of the refusal contains. */
export function secondsLeft(tweak: Partial<DeletionFacts>): number {
  const [, until = ""] = /at the latest until (\S+)/.exec(refused(tweak).message) ?? [];
  return (Date.parse(until) - (tweak.now ?? NOW).getTime()) / 1000;
}

/** Returns the Evacuation that the first refusal creates, or undefined if it creates no Evacuation. */
export function evacuationOf(tweak: Partial<DeletionFacts>): NewEvacuation | undefined {
  return only("CreateEvacuation", refused(tweak).actions)[0]?.evacuation;
}

export function created(started: NewEvacuation): EvacuationFacts {
  return { ...newborn({ uid: `uid-${started.name}`, createdAt: NOW.getTime() }), ...started };
}

type EvacuationTweak = NonNullable<Parameters<typeof evacuation>[0]>;

/** Returns an Evacuation that a disruption has started. `left` is the time in seconds until the deadline. */
export function disrupted(cause: GuardCause, left: number, { spec, ...tweak }: EvacuationTweak = {}): EvacuationFacts {
  const ofGuard = { cause, requestedBy: REQUESTER[cause], deadline: time(left) };
  return evacuation({ uid: "guard-uid", ...tweak, spec: { ...ofGuard, ...spec } });
}

export function drained(tweak: EvacuationTweak = {}): EvacuationFacts {
  return evacuation({ name: "web-drained-1", uid: "drain-uid", createdAt: at(-600).getTime(), ...tweak });
}

interface Around extends Omit<DisruptionWorld, "facts"> {
  readonly nodes: readonly NodeFacts[];
}

export function disruptionWorld({ nodes = [node()], ...tweak }: Partial<Around> = {}): DisruptionWorld {
  const w = { vmis: [vmi()], evacuations: [], pods: [], settings: guarded(), now: NOW, ...tweak };
  const names = w.pods.flatMap(({ nodeName }) => nodeName ?? []);
  const map = names.map((name) => [`nodes ${name}`, nodes.find((one) => one.name === name)] as const);
  return { ...w, facts: factsOf(Object.fromEntries(map)) };
}

export function disruptionPlan(tweak: Partial<Around>) {
  return planDisruptions(disruptionWorld(tweak));
}

export function plannedDisruptions(tweak: Partial<Around>) {
  return disruptionPlan(tweak).chains.flat();
}
