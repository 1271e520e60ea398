/** Decides whether a pod tolerates a taint. */
import type { Taint, Toleration } from "./facts.ts";

/** Compares the values of a taint and a toleration. Upstream: `ToleratesTaint` of Kubernetes' `core/v1`. */
const OPERATORS: ReadonlyMap<string, (taint: string, toleration: string) => boolean> = new Map([
  ["Exists", () => true],
  ["Equal", (taint: string, toleration: string) => taint === toleration],
  ["Gt", (taint: string, toleration: string) => areIntegers(taint, toleration) && BigInt(taint) > BigInt(toleration)],
  ["Lt", (taint: string, toleration: string) => areIntegers(taint, toleration) && BigInt(taint) < BigInt(toleration)],
]);

function areIntegers(...texts: readonly string[]): boolean {
  return texts.every((text) => /^-?\d{1,19}$/.test(text));
}

export function tolerates({ key, operator = "Equal", value = "", effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key === undefined) return operator === "Exists";
  return key === taint.key && (OPERATORS.get(operator)?.(taint.value ?? "", value) ?? false);
}
