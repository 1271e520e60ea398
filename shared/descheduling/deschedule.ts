/** A descheduling cycle: take the Lease, observe, then perform the steps of the policy one after another. */
import type { Cluster } from "../cluster/cluster.ts";
import { ClusterError } from "../cluster/failure.ts";
import type { Settings } from "../policy/settings.ts";
import { type CycleReport, NO_CYCLE, runCycle } from "./cycle/cycle.ts";
import { interpretAnswer } from "./cycle/eviction-answer.ts";
import { isHeld, type LeaseFacts } from "./cycle/lease.ts";
import type { DeschedulerPolicy } from "./cycle/policy.ts";
import type { Outcome, Step } from "./cycle/step.ts";
import { observeCycle } from "./reads/observe-cycle.ts";

export interface DeschedulingDeps {
  readonly cluster: Cluster;
  readonly settings: Settings;
  readonly policy: DeschedulerPolicy;
  /** Decides everything, changes nothing. */
  readonly dryRun: boolean;
  /** As it was when the cycle was found to be due: gives way to one that has begun meanwhile. Absent: as it is now. */
  readonly lease?: LeaseFacts | undefined;
  /** Seconds after which no further request is begun. */
  readonly seconds: number;
  readonly now: () => Date;
  readonly onFailure: (failure: ClusterError) => void;
}

export async function deschedule(deps: DeschedulingDeps): Promise<CycleReport> {
  const { cluster, dryRun, onFailure } = deps;
  if (dryRun) return await cycle(deps);
  const now = deps.now();
  const found = deps.lease ?? (await cluster.getDeschedulingLease());
  const taken = isHeld(found, now) ? "Conflict" : await cluster.takeDeschedulingLease(found, now);
  if (taken === "Conflict") return NO_CYCLE;
  try {
    return await cycle(deps);
  } finally {
    // Otherwise it expires.
    await optional(cluster.giveDeschedulingLeaseBack(taken), onFailure);
  }
}

async function optional(request: Promise<unknown>, onFailure: DeschedulingDeps["onFailure"]): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    onFailure(error);
  }
}

async function cycle(deps: DeschedulingDeps): Promise<CycleReport> {
  const { cluster, settings, policy, dryRun } = deps;
  const began = deps.now();
  const observed = await observeCycle(cluster, policy.needs);
  const inBackground = settings.featureGates.includes("EvictionsInBackground");
  const until = new Date(began.getTime() + deps.seconds * 1000);
  const steps = runCycle({ ...observed, policy, settings, inBackground, until, now: began });
  let next = steps.next();
  while (next.done !== true) {
    const result = (dryRun ? assumed(next.value) : undefined) ?? (await tried(next.value, deps));
    next = steps.next({ ...result, now: deps.now() });
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
  Act: { step: "Act", outcome: "Failed" },
  Withdraw: { step: "Withdraw", outcome: "Failed" },
  Look: { step: "Look" },
  Evict: { step: "Evict", outcome: "Unknown" },
} as const satisfies Record<Step["step"], Outcome>;

async function perform(step: Step, { cluster, policy, dryRun }: DeschedulingDeps): Promise<Outcome> {
  switch (step.step) {
    case "Act":
      return { step: "Act", outcome: await cluster.act(step.action) };
    case "Withdraw":
      return { step: "Withdraw", outcome: await cluster.withdraw(step.evacuation) };
    case "Look": {
      const { namespace, name } = step.vmi;
      return { step: "Look", evacuations: await cluster.listEvacuations({ namespace, name }) };
    }
    case "Evict": {
      const answer = await cluster.evict(step.nominated, { gracePeriodSeconds: policy.gracePeriodSeconds, dryRun });
      return { step: "Evict", outcome: interpretAnswer(answer, step.inBackground ? policy.messagePrefixes : []) };
    }
  }
}

/** In a dry run: undefined for what is asked nevertheless. Webhooks and budgets say what becomes of an eviction, without its being done. */
function assumed({ step }: Step): Outcome | undefined {
  return step === "Act" || step === "Withdraw" ? { step, outcome: "Done" } : undefined;
}
