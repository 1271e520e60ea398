/** Events about node maintenance, recorded on the maintenance object and on the node. */
import { type Action, EVENT_TYPES, type EventReason, type KubernetesEvent } from "../../kube/action.ts";
import type { NodeEvacuationFacts, NodeEvacuationPhase } from "../../kube/node-evacuation.ts";
import type { RollingMaintenanceFacts, RollingPhase } from "../../kube/rolling-maintenance.ts";
import { MAINTENANCE_MESSAGES } from "../messages.ts";
import type { NodeNext } from "../world.ts";
import { ROLLING_MESSAGES } from "./messages.ts";
import type { RollingNext } from "./world.ts";

const OF_NODE: { readonly [P in NodeEvacuationPhase]?: EventReason } = {
  Evacuating: "MaintenanceStarted",
  Blocked: "MaintenanceBlocked",
  Evacuated: "MaintenanceCompleted",
  Refused: "MaintenanceRefused",
  Expired: "MaintenanceExpired",
  Withdrawn: "MaintenanceWithdrawn",
  Gone: "MaintenanceNodeGone",
};

/** Returns the Events of a NodeEvacuation whose phase has changed. */
export function nodeEvents(
  ne: NodeEvacuationFacts,
  { phase, message, more }: Pick<NodeNext, "phase" | "message" | "more">,
): readonly Action[] {
  const { name, uid, spec, status } = ne;
  const reason = OF_NODE[phase];
  const isResumed = phase === "Evacuating" && more?.startTime === undefined;
  if (reason === undefined || phase === status.phase || isResumed) return [];
  const text = MAINTENANCE_MESSAGES.changed(ne, phase, message);
  const occasion = `${uid}/${status.lastUpdateTime ?? ""}`;
  return [
    record({ kind: "NodeEvacuation", namespace: "", name, uid }, reason, text, occasion),
    // Uses the name of the node as its UID, like the kubelet in its own Events.
    record({ kind: "Node", namespace: "", name: spec.nodeName, uid: spec.nodeName }, reason, text, occasion),
  ];
}

const OF_ROLLING: { readonly [P in RollingPhase]?: EventReason } = {
  Blocked: "MaintenanceBlocked",
  Completed: "MaintenanceCompleted",
  Stopped: "MaintenanceStopped",
  Withdrawn: "MaintenanceWithdrawn",
};

/**
 * Returns the Events of a RollingMaintenance after it has started, its phase has changed, or one of its nodes has
 * failed.
 */
export function rollingEvents(
  rm: RollingMaintenanceFacts,
  { phase, message, more, rows = [] }: RollingNext,
): readonly Action[] {
  const { name, uid, status } = rm;
  const about = { kind: "RollingMaintenance", namespace: "", name, uid } as const;
  const before = new Map(status.nodes.map((row) => [row.name, row.phase]));
  const failed = rows.flatMap((row) => {
    const reason = row.phase === before.get(row.name) ? undefined : FAILURES[row.phase];
    return reason === undefined ? [] : [record(about, reason, ROLLING_MESSAGES.nodeFailed(row), `${uid}/${row.name}`)];
  });
  const isStart = more?.startTime !== undefined;
  const started = isStart ? [record(about, "MaintenanceStarted", message, uid)] : [];
  const reason = phase === status.phase ? undefined : OF_ROLLING[phase];
  const changed = reason === undefined ? [] : [record(about, reason, message, `${uid}/${status.lastUpdateTime ?? ""}`)];
  return [...started, ...failed, ...changed];
}

const FAILURES: Readonly<Record<string, EventReason>> = {
  Refused: "MaintenanceRefused",
  Expired: "MaintenanceExpired",
  Gone: "MaintenanceNodeGone",
};

function record(about: KubernetesEvent["about"], reason: EventReason, message: string, occasion: string): Action {
  return { verb: "Event", about, type: EVENT_TYPES[reason], reason, message, occasion };
}
