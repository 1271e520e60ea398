/** Updates a pod's status with the reasons why it is unschedulable, and with its nominated node. */
import type { KubeClient } from "./client.ts";
import { timestamp, type Clock } from "./clock.ts";
import { findCondition, withCondition, type Condition } from "./conditions.ts";
import type { EventRecorder } from "./event-recorder.ts";
import { noneAvailable } from "./node-fit.ts";
import type { Attempt } from "./preemption.ts";
import { pods, type Pod } from "./resources.ts";

export interface Teller {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
}

export interface Refusal {
  readonly reasons: readonly string[];
  readonly attempt: Attempt;
}

export async function tellUnschedulable(teller: Teller, pod: Pod, refusal: Refusal): Promise<void> {
  const { client, clock, recorder } = teller;
  const message = messageOf(refusal);
  const nominatedNodeName = nominationAfter(refusal.attempt, pod);
  const before = findCondition(pod.status?.conditions, "PodScheduled");
  const isSaid = before?.status === "False" && before.message === message;
  if (isSaid && pod.status?.nominatedNodeName === nominatedNodeName) return;
  if (!isSaid) await recorder.record(pod, pods, { type: "Warning", reason: "FailedScheduling", message });
  const wanted = { type: "PodScheduled", status: "False", reason: "Unschedulable", message };
  const conditions = withCondition<Condition>(pod.status?.conditions, wanted, timestamp(clock));
  const status = {
    conditions: [findCondition(conditions, "PodScheduled")],
    nominatedNodeName: nominatedNodeName ?? null,
  };
  const body = { metadata: { uid: pod.metadata.uid }, status };
  await client.patch(pods, pod.metadata, { type: "strategic", body }, { subresource: "status" });
}

/**
 * Returns the nominated node after a preemption attempt. If the pod may not preempt other pods, its nominated node does
 * not change.
 */
function nominationAfter(attempt: Attempt, { status }: Pod): string | undefined {
  switch (attempt.outcome) {
    case "Nominated":
      return attempt.node;
    case "NotEligible":
      return status?.nominatedNodeName;
    case "Futile":
      return undefined;
  }
}

function messageOf({ reasons, attempt }: Refusal): string {
  const nowhere = reasons.length === 0 ? "no nodes available to schedule pods" : noneAvailable(reasons);
  return attempt.outcome === "Nominated" ? nowhere : `${nowhere} preemption: ${attempt.message}`;
}
