/**
 * Taints and tolerations, as Kubernetes matches them (core/v1 `ToleratesTaint`).
 * Owns: whether a toleration covers a taint. Does not own: for how long, nor which taints matter.
 */
import type { Taint, Toleration } from "../facts.ts";

export function tolerates({ key, operator = "Equal", value = "", effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key === undefined) return operator === "Exists";
  return key === taint.key && (operator === "Exists" || value === (taint.value ?? ""));
}

/** The first of the taints that nothing tolerates; undefined: all are tolerated. */
export function untolerated(taints: readonly Taint[], tolerations: readonly Toleration[] = []): Taint | undefined {
  return taints.find((taint) => !tolerations.some((toleration) => tolerates(toleration, taint)));
}
