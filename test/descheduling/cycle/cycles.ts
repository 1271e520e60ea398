/**
 * One descheduling cycle over a simulated cluster, with what it did on the way.
 * Owns: driving it, and answers other than the cluster's. Does not own: the cluster (simulation/), expectations.
 */
import type { Action } from "../../../shared/policy/action.ts";
import { type CycleReport, runCycle } from "../../../shared/descheduling/cycle/cycle.ts";
import type { DeschedulerPolicy } from "../../../shared/descheduling/cycle/policy.ts";
import type { EvictionOutcome } from "../../../shared/descheduling/cycle/eviction-answer.ts";
import type { DeschedulerPod } from "../../../shared/descheduling/plugins/facts.ts";
import type { ActOutcome, Step, StepResult } from "../../../shared/descheduling/cycle/step.ts";
import { keyOf, type VmiFacts } from "../../../shared/policy/facts.ts";
import { at, NOW, settings } from "../../policy/fixtures.ts";
import { node } from "../fixtures.ts";
import { SimulatedPods } from "./simulation/cluster.ts";
import { type Heard, policy, scripted, vmiOf } from "../worlds.ts";

export interface Options {
  readonly order: readonly string[];
  readonly policy?: Partial<DeschedulerPolicy>;
  readonly inBackground?: boolean;
  readonly claimed?: boolean;
  readonly vmis?: readonly VmiFacts[];
  readonly nodes?: readonly string[];
  readonly until?: Date;
  /** Instead of what the cluster does. */
  readonly perform?: (step: Step) => StepResult | undefined;
}

export interface Done extends CycleReport {
  readonly heard: Heard;
  readonly steps: readonly Step[];
}

export function cycle(cluster: SimulatedPods, o: Options): Done {
  const pods = [...cluster.pods.values()];
  const heard: Heard = [];
  const steps: Step[] = [];
  const vmis = o.vmis ?? pods.map((pod) => vmiOf(pod));
  const running = runCycle({
    policy: policy([scripted(o.order, pods, heard)], o.policy),
    nodes: (o.nodes ?? ["node01", "node02"]).map((name) => node(name)),
    pods,
    vmis: new Map(vmis.map((vmi) => [keyOf(vmi), vmi])),
    namespaces: new Map(),
    budgets: new Map(),
    storageClasses: new Map(),
    priorityClasses: new Map(),
    register: cluster.register,
    settings: settings(),
    inBackground: o.inBackground ?? true,
    claimed: o.claimed ?? false,
    until: o.until ?? at(200),
    now: cluster.now,
  });
  let next = running.next();
  while (next.done !== true) {
    steps.push(next.value);
    next = running.next(o.perform?.(next.value) ?? cluster.perform(next.value));
  }
  return { ...next.value, heard, steps };
}

export function results({ nominations }: CycleReport): readonly string[] {
  return nominations.map(({ result }) => result);
}

export function clusterOf(...pods: readonly DeschedulerPod[]): SimulatedPods {
  return new SimulatedPods(pods, NOW);
}

export function annotationsOf(cluster: SimulatedPods, uid: string): Readonly<Record<string, string>> {
  return cluster.pods.get(uid)?.annotations ?? {};
}

/** The eviction of that pod, or of every one, is answered so. */
export function answering(outcome: EvictionOutcome, uid?: string) {
  return (step: Step): StepResult | undefined => {
    const isIt = step.step === "Evict" && (uid === undefined || step.nominated.pod.uid === uid);
    return isIt ? { step: "Evict", outcome, now: NOW } : undefined;
  };
}

export function nameOf(step: Step): Step["step"] | Action["verb"] {
  return step.step === "Act" ? step.action.verb : step.step;
}

/** Steps of that name, on that pod or on anything, end so. */
export function ending(name: "Write" | Action["verb"], outcome: ActOutcome, uid?: string) {
  return (step: Step): StepResult | undefined => {
    if (nameOf(step) !== name || (step.step !== "Act" && step.step !== "Write")) return undefined;
    const pod = step.step === "Act" && step.action.verb === "AnnotatePod" ? step.action.pod : undefined;
    return uid === undefined || pod?.uid === uid ? { step: step.step, outcome, now: NOW } : undefined;
  };
}
