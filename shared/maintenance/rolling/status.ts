/**
 * Computes the status of a RollingMaintenance. Lifeboat writes the status only after a visible change. Between two
 * writes, Lifeboat waits two seconds, unless a phase has changed.
 */
import {
  ROLLING_BOUNDS as BOUNDS,
  ROLLING_END_PHASES,
  type NodeRow,
  type RollingMaintenanceFacts,
  type RollingMaintenanceStatus,
} from "../../kube/rolling-maintenance.ts";
import { secondsAfter, secondsSince } from "../../settings/time.ts";
import { ROLLING_MESSAGES as MESSAGES } from "./messages.ts";
import { isActiveRow, isPendingRow, nodeCountsOf, type RollingNext } from "./world.ts";

const LEAST_SECONDS = 2;

/** Returns the status to write. Returns undefined if the status does not have to be written now. */
export function rollingStatusAfter(
  rm: RollingMaintenanceFacts,
  next: Omit<RollingNext, "first" | "again">,
  now: Date,
): RollingMaintenanceStatus | undefined {
  const { status: before } = rm;
  const rows = next.rows ?? before.nodes;
  const isEnd = ROLLING_END_PHASES.some((phase) => phase === next.phase);
  const status: RollingMaintenanceStatus = {
    ...before,
    phase: next.phase,
    message: next.message.slice(0, BOUNDS["status.message"]).toWellFormed(),
    nodes: rows,
    nodeCounts: nodeCountsOf(rows),
    ...(isEnd
      ? { completionTime: before.completionTime ?? now.toISOString(), ...NO_ESTIMATE }
      : estimateOf(rows, rm, now)),
    ...next.more,
  };
  if (textOf(status) === textOf(before)) return undefined;
  const isSoon = secondsSince(before.lastUpdateTime, now) < LEAST_SECONDS;
  return isSoon && phasesOf(status) === phasesOf(before) ? undefined : { ...status, lastUpdateTime: now.toISOString() };
}

/**
 * Returns the phases as one text. Lifeboat writes a changed phase at once, because the next drain depends on the phase.
 */
export function phasesOf({ phase, startTime, nodes }: RollingMaintenanceStatus): string {
  return [phase, startTime, ...nodes.map((row) => row.phase)].join();
}

const TIMES: readonly string[] = ["lastUpdateTime", "estimatedCompletionTime", "forecast"];

function textOf(status: RollingMaintenanceStatus): string {
  const entries = Object.entries(status).filter(([key, value]) => value !== undefined && !TIMES.includes(key));
  return JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

type Estimate = Pick<RollingMaintenanceStatus, "forecast" | "estimatedCompletionTime">;
const NO_ESTIMATE: Estimate = { forecast: undefined, estimatedCompletionTime: undefined };

/**
 * Estimates the end from the average time that a node took before the next node could start. Returns no estimate until
 * the first node is done.
 */
function estimateOf(rows: readonly NodeRow[], { spec }: RollingMaintenanceFacts, now: Date): Estimate {
  const isUntilBack = spec.nextNode === "WhenUncordoned";
  const taken = rows.flatMap(({ startTime, completionTime, returnTime }) => {
    const end = isUntilBack ? returnTime : completionTime;
    return startTime === undefined || end === undefined ? [] : [secondsSince(startTime, new Date(end))];
  });
  const left = rows.filter((row) => isPendingRow(row) || isActiveRow(row)).length;
  if (taken.length === 0 || left === 0) return NO_ESTIMATE;
  const each = taken.reduce((sum, seconds) => sum + seconds, 0) / taken.length;
  const rounds = Math.ceil(left / spec.maxUnavailable);
  const estimatedCompletionTime = secondsAfter(now, rounds * each);
  const { notAfter } = spec.schedule;
  const seconds = notAfter === undefined ? Number.POSITIVE_INFINITY : Math.max(0, -secondsSince(notAfter, now));
  const free = Math.max(0, spec.maxUnavailable - rows.filter(isActiveRow).length);
  const inTime = seconds === 0 ? 0 : free + Math.floor(seconds / Math.max(1, each)) * spec.maxUnavailable;
  const late = Math.max(0, rows.filter(isPendingRow).length - inTime);
  const pace = MESSAGES.pace(each);
  const forecast =
    late > 0 ? MESSAGES.someLate(pace, late, notAfter ?? "") : MESSAGES.lastEnds(pace, estimatedCompletionTime);
  return { estimatedCompletionTime, forecast };
}
