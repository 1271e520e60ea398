/** Disruptions that do not ask, minimal plus one tweak: a deletion by the scheduler, pods with the condition, nodes. */
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

/** Causes that the pod's condition tells. */
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

/** All gates on but that of the cause. */
export function gatesBut(cause: GuardCause): readonly FeatureGate[] {
  return GATES.filter((gate) => gate !== GUARDED[cause].gate);
}

/** All gates on. */
export function guarded(guard: Partial<Settings["guard"]> = {}, tweak: Parameters<typeof settings>[0] = {}): Settings {
  const base = settings({ featureGates: GATES, ...tweak });
  return { ...base, guard: { ...base.guard, ...guard } };
}

export function condition(cause: ConditionedCause, tweak: Partial<DisruptionTarget> = {}): DisruptionTarget {
  return { active: true, reason: REASON[cause], since: time(0), ...tweak };
}

/** The launcher pod, as it is when the scheduler or the taint manager has just picked it. */
export function target(cause: ConditionedCause, since = 0, tweak: Partial<PodFacts> = {}): PodFacts {
  return pod({ disruptionTarget: condition(cause, { since: time(since) }), ...tweak });
}

/** Returns the traces of a deletion for that cause: the pod's condition, or the requester. */
export function askedFor(cause: GuardCause): Pick<DeletionFacts, "pod" | "requester"> {
  return { pod: cause === "NodeTermination" ? pod() : target(cause), requester: REQUESTER[cause] };
}

/** Karpenter deletes the launcher pod, of a node that ends so many seconds from now. */
export function termination(left: number, tweak: Partial<DeletionFacts> = {}): Partial<DeletionFacts> {
  return { ...askedFor("NodeTermination"), node: node(), deleteBy: at(left).getTime(), ...tweak };
}

/** The taint for which the taint manager deletes pods. */
export const MAINTENANCE: Taint = { key: "maintenance", effect: "NoExecute" };

/** The scheduler deletes the launcher pod of the VM for a pod of higher priority. */
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

/** "Refuse" or the reason for which it goes. */
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

/** Seconds until the deadline that a refusal names. */
export function secondsLeft(tweak: Partial<DeletionFacts>): number {
  const [, until = ""] = /until (\S+) at the latest/.exec(refused(tweak).message) ?? [];
  return (Date.parse(until) - (tweak.now ?? NOW).getTime()) / 1000;
}

/** The Evacuation that the first refusal begins; undefined if none. */
export function evacuationOf(tweak: Partial<DeletionFacts>): NewEvacuation | undefined {
  return only("CreateEvacuation", refused(tweak).actions)[0]?.evacuation;
}

/** As it is when it has just been created. */
export function created(started: NewEvacuation): EvacuationFacts {
  return { ...newborn({ uid: `uid-${started.name}`, createdAt: NOW.getTime() }), ...started };
}

type EvacuationTweak = NonNullable<Parameters<typeof evacuation>[0]>;

/** The Evacuation of the VM's pod that a disruption began whose deadline is so many seconds from now. */
export function disrupted(cause: GuardCause, left: number, { spec, ...tweak }: EvacuationTweak = {}): EvacuationFacts {
  const ofGuard = { cause, requestedBy: REQUESTER[cause], deadline: time(left) };
  return evacuation({ uid: "guard-uid", ...tweak, spec: { ...ofGuard, ...spec } });
}

/** The one that a drain began before. */
export function drained(tweak: EvacuationTweak = {}): EvacuationFacts {
  return evacuation({ name: "web-drained-1", uid: "drain-uid", createdAt: at(-600).getTime(), ...tweak });
}

interface Around extends Omit<DisruptionWorld, "facts"> {
  readonly nodes: readonly NodeFacts[];
}

/** Rules may ask for the nodes of the pods. */
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
