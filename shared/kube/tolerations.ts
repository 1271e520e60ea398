/** Decides whether a pod tolerates a taint. */
import type { Taint, Toleration } from "./facts.ts";

/** Compares the values of a taint and a toleration. Upstream: `ToleratesTaint` of Kubernetes' `core/v1`. */
const OPERATORS: Readonly<Record<string, (taint: string, toleration: string) => boolean>> = {
  Exists: () => true,
  Equal: (taint, toleration) => taint === toleration,
  Gt: (taint, toleration) => isInteger(taint) && isInteger(toleration) && BigInt(taint) > BigInt(toleration),
  Lt: (taint, toleration) => isInteger(taint) && isInteger(toleration) && BigInt(taint) < BigInt(toleration),
};

function isInteger(text: string): boolean {
  return /^-?\d{1,19}$/.test(text);
}

export function tolerates({ key, operator = "Equal", value = "", effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key === undefined) return operator === "Exists";
  return key === taint.key && (OPERATORS[operator]?.(taint.value ?? "", value) ?? false);
}
