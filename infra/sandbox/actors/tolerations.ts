/** Determines how long a pod tolerates the NoExecute taints of its node. */
import { tolerates, type Taint } from "./node-fit.ts";
import type { Node, Pod } from "./resources.ts";

export function noExecuteTaints(node: Node | undefined): readonly Taint[] {
  return (node?.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
}

/**
 * Returns the seconds until the pod must leave the node. The result is 0 for a pod that must leave now, and Infinity
 * for a pod that may stay.
 */
export function toleratedFor(pod: Pod, taints: readonly Taint[]): number {
  const { tolerations = [] } = pod.spec ?? {};
  // If several tolerations match a taint, the first is used.
  const used = taints.map((taint) => tolerations.find((toleration) => tolerates(toleration, taint)));
  return Math.min(
    Infinity,
    ...used.map((one) => (one === undefined ? 0 : Math.max(0, one.tolerationSeconds ?? Infinity))),
  );
}
