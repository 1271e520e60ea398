/** The DisruptionTarget condition. Components set this condition on a pod before they delete or end the pod. */
import type { KubeClient } from "./client.ts";
import { timestamp, type Clock } from "./clock.ts";
import { findCondition, withCondition, type Condition } from "./conditions.ts";
import { pods, type Pod } from "./resources.ts";

export const DISRUPTION_TARGET = "DisruptionTarget";

export interface Disruption {
  readonly reason:
    | "PreemptionByScheduler"
    | "DeletionByTaintManager"
    | "DeletionByDeviceTaintManager"
    | "TerminationByKubelet"
    | "DeletionByPodGC";
  readonly message: string;
}

export async function markDisruptionTarget(
  client: KubeClient,
  clock: Clock,
  pod: Pod,
  { reason, message }: Disruption,
): Promise<void> {
  if (isMarked(pod, { reason, message })) return;
  const { name, namespace, uid, generation } = pod.metadata;
  const wanted: Condition = {
    type: DISRUPTION_TARGET,
    status: "True",
    reason,
    message,
    ...(generation !== undefined && { observedGeneration: generation }),
  };
  const conditions = withCondition<Condition>(pod.status?.conditions, wanted, timestamp(clock));
  const condition = findCondition(conditions, DISRUPTION_TARGET);
  const body = { metadata: { uid }, status: { conditions: [condition] } };
  await client.patch(pods, { namespace, name }, { type: "strategic", body }, { subresource: "status" });
}

export function isMarked(pod: Pod, { reason, message }: Disruption): boolean {
  const there = findCondition(pod.status?.conditions, DISRUPTION_TARGET);
  return there?.status === "True" && there.reason === reason && there.message === message;
}
