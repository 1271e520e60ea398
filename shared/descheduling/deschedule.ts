/** Runs a descheduling cycle: takes the Lease, reads the facts, sends requests, and releases the Lease. */
import type { Client } from "../kube/client.ts";
import { ClusterError } from "../kube/failures.ts";
import { giveLeaseBack, isHeld, readLease, takeLease } from "../kube/lease.ts";
import type { LeaseFacts } from "../kube/schemas/lease.ts";
import { NodeWithResources, scheduledPodSchema } from "../kube/schemas/scheduled-pod.ts";
import { withdrawEvacuation } from "../act/evacuate-vm.ts";
import { act } from "../act/perform.ts";
import { isLauncher, keyOf } from "../kube/objects.ts";
import { readActiveEvacuations, readEvacuationsOf, requestEviction } from "../kube/requests.ts";
import * as names from "../kube/names.ts";
import type { Settings } from "../settings/settings.ts";
import { type CycleReport, type CycleWorld, NO_CYCLE, runCycle } from "./cycle/cycle.ts";
import { annotationsAfter, isOnlyRequested, readMemory } from "./cycle/memory.ts";
import type { DeschedulerPolicy } from "./cycle/policy.ts";
import { interpretAnswer, type Requests } from "./cycle/request.ts";
import { DESCHEDULING_MESSAGES as MESSAGES } from "./messages.ts";

const LEASE = { namespace: names.LIFEBOAT_NAMESPACE, name: names.DESCHEDULING };
/**
 * The duration of the Lease, in seconds. A cycle does not renew the Lease. The cycle ends at least a minute before the
 * Lease expires, because clocks differ.
 */
export const LEASE_SECONDS = 300;

export interface DeschedulingDeps {
  readonly cluster: Client;
  readonly settings: Settings;
  readonly policy: DeschedulerPolicy;
  readonly dryRun: boolean;
  /**
   * The Lease from which Lifeboat concluded that a cycle is due. The cycle does not run if the Lease has changed since
   * then. If this field is undefined, the cycle reads the Lease.
   */
  readonly lease?: LeaseFacts | undefined;
  /** The cycle sends no request after this number of seconds. */
  readonly seconds: number;
  readonly now: () => Date;
  readonly onFailure: (failure: ClusterError) => void;
}

export function cycleLease(cluster: Client): Promise<LeaseFacts> {
  return readLease(LEASE, cluster);
}

/** Returns whether the interval since the last cycle has passed. Ignores an `acquiredAt` far in the future. */
export function isCycleDue({ acquiredAt }: LeaseFacts, intervalSeconds: number, now: Date): boolean {
  const age = now.getTime() - Date.parse(acquiredAt ?? "");
  return intervalSeconds > 0 && !(Math.abs(age) < intervalSeconds * 1000);
}

export async function deschedule(deps: DeschedulingDeps): Promise<CycleReport> {
  const { cluster, dryRun } = deps;
  const now = deps.now();
  const found = deps.lease ?? (await cycleLease(cluster));
  if (dryRun) return await cycle(deps, found);
  if (isHeld(found, LEASE_SECONDS, now)) return NO_CYCLE;
  const taken = await takeLease(LEASE, found, { holder: names.MANAGED_BY, seconds: LEASE_SECONDS, now }, cluster);
  if (taken === "Conflict") return NO_CYCLE;
  let changes: ReturnType<typeof annotationsAfter> = {};
  try {
    const report = await cycle(deps, taken);
    const requested = report.nominations.filter(({ result }) => result === "Background").length;
    changes = annotationsAfter(taken.annotations, report.memory, requested);
    return report;
  } finally {
    // If this request fails, the Lease is held until it expires.
    await attempt(giveLeaseBack(LEASE, taken, cluster, changes), undefined, deps);
  }
}

async function cycle(deps: DeschedulingDeps, { annotations }: LeaseFacts): Promise<CycleReport> {
  const { settings, policy, seconds } = deps;
  const now = deps.now();
  const until = new Date(now.getTime() + seconds * 1000);
  const memory = readMemory(annotations);
  return await runCycle({ ...(await observe(deps)), policy, settings, until, now, memory }, requestsOf(deps));
}

/** Reads VMIs after the pods, so that no launcher pod is newer than the list of VMIs. */
async function observe({ cluster }: DeschedulingDeps) {
  const evacuations = await readActiveEvacuations(cluster);
  const [nodes, pods] = await Promise.all([
    cluster.list("nodes", { as: NodeWithResources }),
    cluster.list("pods", { unlike: { "spec.nodeName": [""] }, as: scheduledPodSchema() }),
  ]);
  const vmis = pods.some(isLauncher) ? await cluster.list("virtualmachineinstances") : [];
  return {
    evacuations,
    nodes,
    pods,
    vmis: new Map(vmis.map((vmi) => [keyOf(vmi), vmi])),
  } satisfies Partial<CycleWorld>;
}

/**
 * Returns the requests of a cycle. A dry run writes nothing. It sends evictions with `dryRun`, to find out whether a
 * webhook or a PodDisruptionBudget refuses an eviction.
 */
function requestsOf(deps: DeschedulingDeps): Requests {
  const { cluster, policy, dryRun, now } = deps;
  return {
    now,
    act: async (action) => (dryRun ? "Done" : await attempt(act(action, { cluster, now }), "Failed", deps)),
    withdraw: async (evacuation) =>
      dryRun ? "Done" : await attempt(withdrawEvacuation(evacuation, cluster), "Failed", deps),
    evacuationsOf: (key) => attempt(readEvacuationsOf(key, cluster), undefined, deps),
    async evict({ pod, profile, plugin, reason }) {
      // Webhooks that review the eviction can read its reason in these annotations.
      const annotations = {
        [names.REQUESTED_BY_ANNOTATION]: names.DESCHEDULER,
        [names.REASON_ANNOTATION]: MESSAGES.triggeredBy({ profile, plugin, reason }),
      };
      const options = { gracePeriodSeconds: policy.gracePeriodSeconds, dryRun, annotations };
      const answer = await attempt(requestEviction(pod, options, cluster), undefined, deps);
      const isInBackground = isOnlyRequested(pod) || isLauncher(pod);
      return answer === undefined ? "Unknown" : interpretAnswer(answer, isInBackground ? policy.messagePrefixes : []);
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
