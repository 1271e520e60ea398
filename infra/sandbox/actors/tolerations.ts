/** Returns how long a pod tolerates the NoExecute taints of its node. */
import { tolerates, type Taint } from "./node-fit.ts";
import type { Node, Pod } from "./resources.ts";

export function noExecuteTaints(node: Node | undefined): readonly Taint[] {
  return (node?.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
}

/** Returns the tolerated seconds. 0: the pod must leave now. Infinity: it may stay. */
export function toleratedFor(pod: Pod, taints: readonly Taint[]): number {
  const { tolerations = [] } = pod.spec ?? {};
  // The first matching toleration counts for a taint.
  const used = taints.map((taint) => tolerations.find((toleration) => tolerates(toleration, taint)));
  return Math.min(
    Infinity,
    ...used.map((one) => (one === undefined ? 0 : Math.max(0, one.tolerationSeconds ?? Infinity))),
  );
}
