/**
 * Evacuating a pod on behalf of a descheduling cycle: the seam behind which the eviction API is today.
 * Owns: the interface, its implementation by evictions, and one that only records. Does not own: whom to evacuate
 * (shared/policy/descheduling), the request itself (shared/descheduling/reads/evict.ts).
 */
import type { Cluster } from "../cluster/cluster.ts";
import type { DeschedulerPolicy } from "./plugins/descheduler-policy.ts";
import { type EvictionOutcome, interpretAnswer } from "./cycle/eviction-answer.ts";
import type { Nominated } from "./cycle/nominations.ts";

export interface EvacuationRequest {
  readonly nominated: Nominated;
  /** Whether it may go on after the answer; otherwise only what is done at once is done. */
  readonly inBackground: boolean;
}

export interface PodEvacuator {
  /** Throws a ClusterError where there was no answer. */
  evacuate(request: EvacuationRequest): Promise<EvictionOutcome>;
}

/** By the eviction API: the webhook that reviews the eviction starts the evacuation, and says so in the words of a 429. */
export function evictionEvacuator(
  cluster: Cluster,
  policy: Pick<DeschedulerPolicy, "messagePrefixes" | "gracePeriodSeconds">,
): PodEvacuator {
  const { messagePrefixes, gracePeriodSeconds } = policy;
  return {
    async evacuate({ nominated: { pod, profile, plugin, reason = "" }, inBackground }) {
      const answer = await cluster.evict({
        pod,
        reason: `triggered by ${profile}/${plugin}: ${reason}`,
        ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
      });
      return interpretAnswer(answer, inBackground ? messagePrefixes : []);
    },
  };
}

/** For a dry run: every request is granted, and nothing is sent. */
export function recordingEvacuator(): PodEvacuator & { readonly requests: readonly EvacuationRequest[] } {
  const requests: EvacuationRequest[] = [];
  return {
    requests,
    async evacuate(request) {
      requests.push(request);
      return request.inBackground ? "Background" : "Evicted";
    },
  };
}
