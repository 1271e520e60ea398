/**
 * A descheduling cycle: observe, then perform the steps of the policy one after another.
 * Owns: performing, and what a failure is to the policy. Does not own: the steps (shared/descheduling/cycle/cycle.ts),
 * what is read (reads/observe-cycle.ts).
 */
import type { Cluster } from "../cluster/cluster.ts";
import { ClusterError } from "../cluster/failure.ts";
import { type CycleReport, runCycle } from "./cycle/cycle.ts";
import type { DeschedulerPolicy } from "./plugins/descheduler-policy.ts";
import type { Step, StepResult } from "./cycle/step.ts";
import type { Settings } from "../policy/settings.ts";
import { observeCycle } from "./reads/observe-cycle.ts";
import { evictionEvacuator, type PodEvacuator, recordingEvacuator } from "./pod-evacuator.ts";

export interface DeschedulingDeps {
  readonly cluster: Cluster;
  readonly settings: Settings;
  readonly policy: DeschedulerPolicy;
  /** Decides everything, changes nothing. */
  readonly dryRun: boolean;
  /** Gives way to a cycle that has begun meanwhile, even if there is nothing to request. */
  readonly claimed: boolean;
  /** Seconds after which no further request is begun. */
  readonly seconds: number;
  readonly now: () => Date;
  readonly onFailure: (failure: ClusterError) => void;
}

export async function deschedule(deps: DeschedulingDeps): Promise<CycleReport> {
  const { cluster, settings, policy, dryRun, claimed } = deps;
  const began = deps.now();
  const observed = await observeCycle(cluster, policy.needs);
  const inBackground = settings.featureGates.includes("EvictionsInBackground");
  const until = new Date(began.getTime() + deps.seconds * 1000);
  const cycle = runCycle({ ...observed, policy, inBackground, claimed, until, now: began });
  const evacuator = dryRun ? recordingEvacuator() : evictionEvacuator(cluster, policy);
  let next = cycle.next();
  while (next.done !== true) next = cycle.next(await perform(next.value, evacuator, deps));
  return next.value;
}

async function perform(step: Step, evacuator: PodEvacuator, deps: DeschedulingDeps): Promise<StepResult> {
  try {
    switch (step.step) {
      case "Act": {
        const outcome = deps.dryRun ? "Done" : await deps.cluster.act(step.action, deps.settings);
        return { step: "Act", outcome, now: deps.now() };
      }
      case "Evict":
        return { step: "Evict", outcome: await evacuator.evacuate(step), now: deps.now() };
      case "Read":
        return { step: "Read", register: await deps.cluster.getDeschedulingRegister(), now: deps.now() };
    }
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    deps.onFailure(error);
    return failed(step, deps.now());
  }
}

function failed({ step }: Step, now: Date): StepResult {
  switch (step) {
    case "Act":
      return { step, outcome: "Failed", now };
    case "Evict":
      return { step, outcome: "Unknown", now };
    case "Read":
      return { step, now };
  }
}
