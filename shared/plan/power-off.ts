/**
 * Reasons not to power off a drained node: pods that stay with their volumes, and storage engines that protect a last
 * replica.
 */
import { isOfVm, keyOf, vmiNameOf } from "../kube/objects.ts";
import type { PodVerdict, PreflightPod } from "../preflight/facts.ts";
import type { Step } from "./sequence.ts";

export function powerOffObstacles({ judged: { facts, verdicts, mayEnd } }: Pick<Step, "judged">): readonly string[] {
  return facts.pods.flatMap((pod) => {
    const verdict = verdicts.get(keyOf(pod));
    return (verdict && obstacleOf(pod, verdict, mayEnd)) ?? [];
  });
}

function obstacleOf(pod: PreflightPod, verdict: PodVerdict, mayEnd: boolean): string | undefined {
  if (verdict.reason === "BudgetOfController") {
    return `pod ${keyOf(pod)}: ${verdict.message}; a storage engine may guard the last replica of a volume`;
  }
  if (!isLeft(verdict, mayEnd)) return undefined;
  const name = isOfVm(pod) ? `VM ${pod.namespace}/${vmiNameOf(pod) ?? ""}` : `pod ${keyOf(pod)}`;
  if (pod.claims.length > 0) return `volumes stay attached: ${pod.claims.join(", ")} of ${name}`;
  return isOfVm(pod) ? `${name} runs on it` : undefined;
}

function isLeft({ outcome, room }: PodVerdict, mayEnd: boolean): boolean {
  if (outcome === "ShutsDown" && !mayEnd) return true;
  return outcome === "Stays" || outcome === "Blocked" || room?.fits === false;
}
