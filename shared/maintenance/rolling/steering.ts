/**
 * Taints the nodes whose drain has not started. The scheduler then prefers nodes that have already been drained, so
 * that each VM moves only once.
 */
import type { Plan } from "../../kube/action.ts";
import type { NodeFacts } from "../../kube/facts.ts";
import { isPendingTaint } from "../../kube/names.ts";
import { hasRollingEnded, type RollingMaintenanceFacts } from "../../kube/rolling-maintenance.ts";
import { isPastWindow, isPendingRow, isStoppedByFailure } from "./world.ts";

/** Adds Lifeboat's taint to the nodes whose drain is pending, and removes the taint from all other nodes. */
export function planSteering(
  nodes: readonly NodeFacts[],
  rolling: readonly RollingMaintenanceFacts[],
  now: Date,
): Plan {
  const avoided = new Set(rolling.flatMap((rm) => avoidedBy(rm, now)));
  const changed = nodes.filter(({ name, taints }) => taints.some(isPendingTaint) !== avoided.has(name));
  return { chains: changed.map(({ name }) => [{ verb: "Steer", node: name, isPending: avoided.has(name) }]) };
}

/**
 * Returns the nodes whose drain is pending. Returns no node if the RollingMaintenance is paused or will start no
 * further drain.
 */
function avoidedBy(rm: RollingMaintenanceFacts, now: Date): readonly string[] {
  const { spec, status } = rm;
  const isOff = spec.steering === "None" || spec.progress === "Paused" || spec.intent === "Withdrawn";
  if (isOff || hasRollingEnded(rm) || isStoppedByFailure(rm, status.nodes) || isPastWindow({ rm, now })) return [];
  return status.nodes.filter(isPendingRow).map(({ name }) => name);
}
