/**
 * A descheduling cycle: observe, then perform the steps of the policy one after another.
 * Owns: performing, and what a failure means to the policy. Does not own: the steps (cycle/cycle.ts), what is read
 * (reads/observe-cycle.ts).
 */
import type { Cluster } from "../cluster/cluster.ts";
import { ClusterError } from "../cluster/failure.ts";
import type { Settings } from "../policy/settings.ts";
import { type CycleReport, runCycle } from "./cycle/cycle.ts";
import { interpretAnswer } from "./cycle/eviction-answer.ts";
import type { DeschedulerPolicy } from "./cycle/policy.ts";
import type { Outcome, Step } from "./cycle/step.ts";
import { observeCycle } from "./reads/observe-cycle.ts";

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
  const cycle = runCycle({ ...observed, policy, settings, inBackground, claimed, until, now: began });
  let next = cycle.next();
  while (next.done !== true) {
    const result = dryRun ? granted(next.value) : await tried(next.value, deps);
    next = cycle.next({ ...result, now: deps.now() });
  }
  return next.value;
}

async function tried(step: Step, deps: DeschedulingDeps): Promise<Outcome> {
  try {
    return await perform(step, deps);
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    deps.onFailure(error);
    return WHEN_FAILED[step.step];
  }
}

const WHEN_FAILED = {
  Write: { step: "Write", outcome: "Failed" },
  Act: { step: "Act", outcome: "Failed" },
  Evict: { step: "Evict", outcome: "Unknown" },
  Read: { step: "Read" },
} as const satisfies Record<Step["step"], Outcome>;

async function perform(step: Step, { cluster, settings, policy }: DeschedulingDeps): Promise<Outcome> {
  switch (step.step) {
    case "Write":
      return { step: "Write", outcome: await cluster.writeRegister(step.found, step.register) };
    case "Act":
      return { step: "Act", outcome: await cluster.act(step.action, settings) };
    case "Evict": {
      const answer = await cluster.evict(step.nominated, policy.gracePeriodSeconds);
      return { step: "Evict", outcome: interpretAnswer(answer, step.inBackground ? policy.messagePrefixes : []) };
    }
    case "Read":
      return { step: "Read", register: await cluster.getDeschedulingRegister() };
  }
}

/** What a dry run assumes of each step. */
function granted(step: Step): Outcome {
  if (step.step === "Evict") return { step: "Evict", outcome: step.inBackground ? "Background" : "Evicted" };
  return step.step === "Read" ? { step: "Read" } : { step: step.step, outcome: "Done" };
}
