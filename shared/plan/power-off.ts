/**
 * Lists reasons not to power off a drained node. Examples are remaining pods with volumes, attached volumes without a
 * pod, and storage engines that protect the last replica of a volume.
 */
import { isOfVm, keyOf, vmiNameOf } from "../kube/objects.ts";
import { unclaimedOn } from "../maintenance/detaching.ts";
import type { PodVerdict, PreflightPod } from "../preflight/facts.ts";
import type { PlanFacts } from "./facts.ts";
import { PLAN_MESSAGES } from "./messages.ts";
import type { Step } from "./sequence.ts";

export function powerOffObstacles(
  { node, judged: { facts, verdicts, mayEnd } }: Pick<Step, "node" | "judged">,
  f: Pick<PlanFacts, "pods" | "attached">,
): readonly string[] {
  const ofPods = facts.pods.flatMap((pod) => {
    const verdict = verdicts.get(keyOf(pod));
    return (verdict && obstacleOf(pod, verdict, mayEnd)) ?? [];
  });
  return [...ofPods, ...unusedOn(node, f)];
}

/**
 * Returns a message about volumes that are attached to the node although no pod on the node uses them. Ignores pods
 * that arrive from other nodes.
 */
function unusedOn(node: string, { pods, attached }: Pick<PlanFacts, "pods" | "attached">): readonly string[] {
  if (attached === undefined) return [];
  const { attachments, volumes } = attached;
  const own = pods.filter(({ nodeName }) => nodeName === node);
  const names = unclaimedOn(node, { attachments, pods: own, volumes: () => volumes }).map(
    ({ persistentVolumeName = "" }) => persistentVolumeName,
  );
  return names.length === 0 ? [] : [PLAN_MESSAGES.unusedVolumes(names)];
}

function obstacleOf(pod: PreflightPod, verdict: PodVerdict, mayEnd: boolean): string | undefined {
  if (verdict.reason === "BudgetOfController") return PLAN_MESSAGES.lastReplica(pod, verdict.message);
  if (!isLeft(verdict, mayEnd)) return undefined;
  const name = isOfVm(pod) ? `VM ${pod.namespace}/${vmiNameOf(pod) ?? ""}` : `pod ${keyOf(pod)}`;
  const claims = [...pod.claims, ...(pod.ephemeralClaims ?? [])];
  if (claims.length > 0) return PLAN_MESSAGES.volumesStay(claims, name);
  return isOfVm(pod) ? PLAN_MESSAGES.runsHere(name) : undefined;
}

function isLeft({ outcome, room }: PodVerdict, mayEnd: boolean): boolean {
  if (outcome === "ShutsDown" && !mayEnd) return true;
  return outcome === "Stays" || outcome === "Blocked" || room?.fits === false;
}
