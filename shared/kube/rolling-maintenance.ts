/** Defines the RollingMaintenance: which nodes to drain, a few at a time. */
import {
  hasEnded,
  NODE_ACTIVE_PHASES,
  NODE_END_PHASES,
  type NodeEvacuationFacts,
  type NodeEvacuationSpec,
  type VmCounts,
} from "./node-evacuation.ts";

export const ROLLING_ACTIVE_PHASES = ["Scheduled", "Running", "Paused", "Blocked"] as const;
export const ROLLING_END_PHASES = ["Completed", "Stopped", "Withdrawn"] as const;

export type RollingPhase = (typeof ROLLING_ACTIVE_PHASES)[number] | (typeof ROLLING_END_PHASES)[number];

/**
 * The phases of a node in a RollingMaintenance. While the node's NodeEvacuation is in progress, the node has the phase
 * of its NodeEvacuation.
 */
export const ROW_PHASES = [
  "Pending",
  "Starting",
  ...NODE_ACTIVE_PHASES,
  ...NODE_END_PHASES,
  "Returned",
  "Skipped",
] as const;
export type RowPhase = (typeof ROW_PHASES)[number];

/** The options for draining each node. */
export type NodeTemplate = Pick<
  NodeEvacuationSpec,
  "startIf" | "virtualMachines" | "forceShutdowns" | "otherPods" | "returnVMs"
>;

/** The spec of a RollingMaintenance. Times are RFC 3339. */
export interface RollingMaintenanceSpec {
  /** The CRD requires exactly one of these fields. */
  readonly nodes: {
    readonly names?: readonly string[] | undefined;
    readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  };
  readonly intent: "Evacuate" | "Withdrawn";
  readonly progress: "Running" | "Paused";
  readonly schedule: { readonly notBefore?: string | undefined; readonly notAfter?: string | undefined };
  readonly maxUnavailable: number;
  readonly nextNode: "WhenUncordoned" | "WhenEvacuated";
  readonly nodeTimeoutSeconds: number;
  readonly whenNodeFails: "Stop" | "Continue";
  readonly steering: "None" | "AwayFromPending";
  readonly template: NodeTemplate;
}

export interface NodeRow {
  readonly name: string;
  /** The name of the node's NodeEvacuation. Absent until the drain of the node starts. */
  readonly nodeEvacuation?: string | undefined;
  readonly phase: RowPhase;
  readonly message?: string | undefined;
  readonly startTime?: string | undefined;
  readonly completionTime?: string | undefined;
  readonly returnTime?: string | undefined;
  readonly virtualMachines?: VmCounts | undefined;
}

export type NodeCounts = Readonly<Record<"total" | "pending" | "active" | "evacuated" | "failed", number>>;

export interface RollingMaintenanceStatus {
  readonly phase?: RollingPhase | undefined;
  readonly message?: string | undefined;
  readonly forecast?: string | undefined;
  /** The start of the RollingMaintenance. At the start, Lifeboat resolves the node selector to nodes. */
  readonly startTime?: string | undefined;
  readonly estimatedCompletionTime?: string | undefined;
  readonly completionTime?: string | undefined;
  readonly lastUpdateTime?: string | undefined;
  readonly nodeCounts?: NodeCounts | undefined;
  readonly nodes: readonly NodeRow[];
}

/** The maximum length of each text or list that Lifeboat writes. */
export const ROLLING_BOUNDS = {
  "status.message": 2048,
  "status.forecast": 1024,
  "status.nodes": 500,
  "status.nodes[].message": 256,
} as const;

export interface RollingMaintenanceFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** The creation time in milliseconds since the epoch. */
  readonly createdAt: number;
  /** Whether `lifeboat drain` created the object. Lifeboat deletes such an object some time after its end. */
  readonly isCommands: boolean;
  readonly spec: RollingMaintenanceSpec;
  readonly status: RollingMaintenanceStatus;
}

export function hasRollingEnded({ status: { phase } }: Pick<RollingMaintenanceFacts, "status">): boolean {
  return phase !== undefined && (ROLLING_END_PHASES as readonly string[]).includes(phase);
}

/** The RollingMaintenances, and a text for each one that cannot be parsed: `name: what is wrong`. */
interface Listed {
  readonly items: readonly RollingMaintenanceFacts[];
  readonly odd: readonly string[];
}

/**
 * Returns the NodeEvacuation as paused if its RollingMaintenance is paused, and as withdrawn if its RollingMaintenance
 * is withdrawn or has ended. Until the NodeEvacuation starts, the RollingMaintenance's `notAfter` also applies. A
 * RollingMaintenance that cannot be parsed might be paused, so its NodeEvacuation counts as paused.
 */
export function asPartOf(ne: NodeEvacuationFacts, { items, odd }: Listed): NodeEvacuationFacts {
  if (ne.owner === undefined || hasEnded(ne)) return ne;
  const { name, uid: ownerUid } = ne.owner;
  const unreadable = odd.find((issue) => issue.startsWith(`${name}: `));
  if (unreadable !== undefined)
    return { ...ne, owner: { ...ne.owner, unreadable }, spec: { ...ne.spec, progress: "Paused" } };
  const rm = items.find(({ uid }) => uid === ownerUid);
  if (rm === undefined) return ne;
  const isOver = rm.spec.intent === "Withdrawn" || hasRollingEnded(rm);
  const intent = isOver ? "Withdrawn" : ne.spec.intent;
  const progress = rm.spec.progress === "Paused" ? "Paused" : ne.spec.progress;
  const ends = [ne.spec.schedule, ...(ne.status.startTime === undefined ? [rm.spec.schedule] : [])];
  const [notAfter] = ends
    .flatMap((schedule) => schedule.notAfter ?? [])
    .toSorted((a, b) => Date.parse(a) - Date.parse(b));
  return { ...ne, spec: { ...ne.spec, intent, progress, schedule: { ...ne.spec.schedule, notAfter } } };
}
