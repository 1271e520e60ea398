/**
 * Whether a node is there to move anything away from.
 * Owns: that. Does not own: where a VM may move to (pressure.ts, and the scheduler).
 */
import type { NodeFacts } from "../facts.ts";

export const DEAD_NODE_TAINTS: readonly string[] = [
  "node.kubernetes.io/not-ready",
  "node.kubernetes.io/unreachable",
  "node.kubernetes.io/out-of-service",
];

/** On a node that is gone or silent there is nothing to save, and failover must not wait. */
export function isAlive(node: NodeFacts | undefined): boolean {
  return node !== undefined && node.ready && !node.taints.some((taint) => DEAD_NODE_TAINTS.includes(taint.key));
}
