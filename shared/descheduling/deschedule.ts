/** A descheduling cycle: take the Lease, read what the policy needs, request, give the Lease back. */
import type { Client } from "../kube/client.ts";
import { ClusterError } from "../kube/failures.ts";
import { isHeld } from "../kube/lease.ts";
import type { LeaseFacts } from "../kube/schemas/kubernetes.ts";
import { NodeWithResources } from "../kube/schemas/scheduled-pod.ts";
import type { Settings } from "../settings/settings.ts";
import { type DeschedulingClient, LEASE_SECONDS } from "./client.ts";
import { type CycleReport, type CycleWorld, NO_CYCLE, runCycle } from "./cycle/cycle.ts";
import type { DeschedulerPolicy } from "./cycle/policy.ts";
import { interpretAnswer, type Requests } from "./cycle/request.ts";
import { activeEvacuations, evacuationsOf } from "../kube/requests.ts";
import { isLauncher, keyOf } from "../kube/objects.ts";
import { act } from "../evacuation/perform.ts";
import { withdraw } from "../evacuation/api.ts";

export interface DeschedulingDeps {
  readonly cluster: Client;
  readonly client: DeschedulingClient;
  readonly settings: Settings;
  readonly policy: DeschedulerPolicy;
  /** Decides everything, changes nothing. */
  readonly dryRun: boolean;
  /** As it was when the cycle was found to be due: gives way to one that has started meanwhile. Absent: as it is now. */
  readonly lease?: LeaseFacts | undefined;
  /** Seconds after which no further request is made. */
  readonly seconds: number;
  readonly now: () => Date;
  readonly onFailure: (failure: ClusterError) => void;
}

/** Whether a cycle is due by its Lease. A last cycle far ahead was not one of Lifeboat's. */
export function isDue({ acquiredAt }: LeaseFacts, intervalSeconds: number, now: Date): boolean {
  const age = now.getTime() - Date.parse(acquiredAt ?? "");
  return intervalSeconds > 0 && !(Math.abs(age) < intervalSeconds * 1000);
}

export async function deschedule(deps: DeschedulingDeps): Promise<CycleReport> {
  const { client, dryRun } = deps;
  if (dryRun) return await cycle(deps);
  const now = deps.now();
  const found = deps.lease ?? (await client.getLease());
  const taken = isHeld(found, LEASE_SECONDS, now) ? "Conflict" : await client.takeLease(found, now);
  if (taken === "Conflict") return NO_CYCLE;
  try {
    return await cycle(deps);
  } finally {
    // Otherwise it expires.
    await attempt(client.giveLeaseBack(taken), undefined, deps);
  }
}

async function cycle(deps: DeschedulingDeps): Promise<CycleReport> {
  const { settings, policy } = deps;
  const now = deps.now();
  const observed = await observe(deps);
  const inBackground = settings.featureGates.includes("EvictionsInBackground");
  const until = new Date(now.getTime() + deps.seconds * 1000);
  return await runCycle({ ...observed, policy, settings, inBackground, until, now }, requestsOf(deps));
}

/**
 * Evacuations come first: one that begins later is found by the read before its request. VMIs come after the pods: a launcher pod whose VMI
 * is missing has lost it.
 */
async function observe({ cluster, client }: DeschedulingDeps) {
  const evacuations = await activeEvacuations(cluster);
  const [nodes, pods] = await Promise.all([cluster.list("nodes", { as: NodeWithResources }), client.listPods()]);
  const vmis = pods.some(isLauncher) ? await cluster.list("virtualmachineinstances") : [];
  return {
    evacuations,
    nodes,
    pods,
    vmis: new Map(vmis.map((vmi) => [keyOf(vmi), vmi])),
  } satisfies Partial<CycleWorld>;
}

/** In a dry run nothing is written, but evictions are asked for: webhooks and budgets say what would become of them. */
function requestsOf(deps: DeschedulingDeps): Requests {
  const { cluster, client, policy, dryRun, now } = deps;
  return {
    now,
    act: async (action) => (dryRun ? "Done" : await attempt(act(action, { cluster, now }), "Failed", deps)),
    withdraw: async (evacuation) => (dryRun ? "Done" : await attempt(withdraw(evacuation, cluster), "Failed", deps)),
    evacuationsOf: (key) => attempt(evacuationsOf(key, cluster), undefined, deps),
    async evict(nominated, inBackground) {
      const options = { gracePeriodSeconds: policy.gracePeriodSeconds, dryRun };
      const answer = await attempt(client.evict(nominated, options), undefined, deps);
      return answer === undefined ? "Unknown" : interpretAnswer(answer, inBackground ? policy.messagePrefixes : []);
    },
  };
}

async function attempt<T, F>(
  request: Promise<T>,
  ifFailed: F,
  { onFailure }: Pick<DeschedulingDeps, "onFailure">,
): Promise<T | F> {
  try {
    return await request;
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    onFailure(error);
    return ifFailed;
  }
}
