/** Steering: the scheduler prefers nodes that are finished to nodes whose turn is still to come, so that a VM moves once. */
import type { Plan } from "../../kube/action.ts";
import type { NodeFacts } from "../../kube/facts.ts";
import { isPendingTaint } from "../../kube/names.ts";
import { hasRollingEnded, type RollingMaintenanceFacts } from "../../kube/rolling-maintenance.ts";
import { isPastWindow, isPendingRow, isStoppedByFailure } from "./world.ts";

/** Sets the taint where a node is to be avoided and takes it off everywhere else, also where nothing names the node any more. */
export function planSteering(
  nodes: readonly NodeFacts[],
  rolling: readonly RollingMaintenanceFacts[],
  now: Date,
): Plan {
  const avoided = new Set(rolling.flatMap((rm) => avoidedBy(rm, now)));
  const changed = nodes.filter(({ name, taints }) => taints.some(isPendingTaint) !== avoided.has(name));
  return { chains: changed.map(({ name }) => [{ verb: "Steer", node: name, isPending: avoided.has(name) }]) };
}

/** Nodes that will start, unless it is paused or no further node starts. */
function avoidedBy(rm: RollingMaintenanceFacts, now: Date): readonly string[] {
  const { spec, status } = rm;
  const isOff = spec.steering === "None" || spec.progress === "Paused" || spec.intent === "Withdrawn";
  if (isOff || hasRollingEnded(rm) || isStoppedByFailure(rm, status.nodes) || isPastWindow({ rm, now })) return [];
  return status.nodes.filter(isPendingRow).map(({ name }) => name);
}
