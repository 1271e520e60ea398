/**
 * Taints: which ones a pod tolerates, which ones drive it off its node, and which ones say that the node is gone. Upstream: core/v1
 * `ToleratesTaint`; kube-controller-manager's taint eviction controller; KubeVirt's evacuation controller.
 */
import type { NodeFacts, PodFacts, Taint, Toleration } from "./facts.ts";

export function tolerates({ key, operator = "Equal", value = "", effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key === undefined) return operator === "Exists";
  return key === taint.key && (operator === "Exists" || value === (taint.value ?? ""));
}

/** The first of the taints that nothing tolerates; undefined: all are tolerated. */
export function untolerated(taints: readonly Taint[], tolerations: readonly Toleration[] = []): Taint | undefined {
  return taints.find((taint) => !tolerations.some((toleration) => tolerates(toleration, taint)));
}

export const DEAD_NODE_TAINTS: readonly string[] = [
  "node.kubernetes.io/not-ready",
  "node.kubernetes.io/unreachable",
  "node.kubernetes.io/out-of-service",
];

/** On a node that is gone or silent there is nothing to save, and failover must not wait. */
export function isAlive(node: NodeFacts | undefined): boolean {
  return node !== undefined && node.ready && !node.taints.some((taint) => DEAD_NODE_TAINTS.includes(taint.key));
}

/**
 * The first NoExecute taint that the pod does not tolerate for good: a toleration for some seconds has expired when the taint
 * manager deletes the pod. A dead node's taints do not count: the guard refuses nothing there, and the pod's seconds have just started.
 */
export function drivingTaint(node: NodeFacts | undefined, { tolerations = [] }: PodFacts): Taint | undefined {
  const driving = node?.taints.filter(({ key, effect }) => effect === "NoExecute" && !DEAD_NODE_TAINTS.includes(key));
  const forGood = tolerations.filter(({ tolerationSeconds }) => tolerationSeconds === undefined);
  return untolerated(driving ?? [], forGood);
}

/** VMs that can migrate leave a node that carries KubeVirt's drain taint. Only the effect NoSchedule counts. */
export function carriesDrainTaint(
  { taints }: Pick<NodeFacts, "taints">,
  { drainTaintKey }: { readonly drainTaintKey: string },
): boolean {
  return taints.some((taint) => taint.key === drainTaintKey && taint.effect === "NoSchedule");
}
