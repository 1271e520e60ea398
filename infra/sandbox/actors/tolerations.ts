/**
 * How long a pod may stay on a node that wants it gone.
 * Owns: matching tolerations against NoExecute taints. Does not own: removing the pod (taint-manager.ts).
 */
import { tolerates, type Taint } from "./node-fit.ts";
import type { Node, Pod } from "./resources.ts";

export function noExecuteTaints(node: Node | undefined): readonly Taint[] {
  return (node?.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
}

/** Seconds; 0: it has to go now, Infinity: it may stay. */
export function toleratedFor(pod: Pod, taints: readonly Taint[]): number {
  const { tolerations = [] } = pod.spec ?? {};
  // The first toleration that fits a taint is the one that counts for it.
  const used = taints.map((taint) => tolerations.find((toleration) => tolerates(toleration, taint)));
  return Math.min(
    Infinity,
    ...used.map((one) => (one === undefined ? 0 : Math.max(0, one.tolerationSeconds ?? Infinity))),
  );
}
