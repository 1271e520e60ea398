/** Computes the time line of a RollingMaintenance: the planned and the actual drains of its nodes. */
import type { NodeRow, RollingMaintenanceFacts } from "../../shared/kube/rolling-maintenance.ts";

/** A period. Times are milliseconds since the epoch. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Bar {
  readonly node: NodeRow;
  /** The planned time of the drain. Undefined if the RollingMaintenance has no planned end. */
  readonly planned: Span | undefined;
  /**
   * The actual time of the drain. If the drain has not ended, the period ends now. Undefined if the drain has not
   * started.
   */
  readonly actual: Span | undefined;
}

export interface TimeLine {
  readonly bars: readonly Bar[];
  readonly span: Span;
}

/** Plans the drains. Each node gets an equal part of the time, and `maxUnavailable` nodes drain in parallel. */
export function timeLineOf({ spec, status, createdAt }: RollingMaintenanceFacts, now: Date): TimeLine {
  const began = timeOf(status.startTime) ?? timeOf(spec.schedule.notBefore) ?? createdAt;
  const end = timeOf(status.completionTime) ?? timeOf(status.estimatedCompletionTime) ?? timeOf(spec.schedule.notAfter);
  const bars = status.nodes.map((node, at) => ({
    node,
    planned:
      end === undefined || end <= began
        ? undefined
        : shareOf(at, status.nodes.length, spec.maxUnavailable, { from: began, to: end }),
    actual: actualOf(node, now),
  }));
  const spans = bars.flatMap(({ planned, actual }) => [planned ?? [], actual ?? []].flat());
  const from = Math.min(began, ...spans.map((span) => span.from));
  const to = Math.max(end ?? now.getTime(), ...spans.map((span) => span.to));
  return { bars, span: { from, to: Math.max(to, from + 1) } };
}

function shareOf(at: number, nodes: number, atOnce: number, { from, to }: Span): Span {
  const turns = Math.ceil(nodes / Math.max(1, atOnce));
  const length = (to - from) / turns;
  const start = from + Math.floor(at / Math.max(1, atOnce)) * length;
  return { from: start, to: start + length };
}

function actualOf({ startTime, completionTime }: NodeRow, now: Date): Span | undefined {
  const from = timeOf(startTime);
  if (from === undefined) return undefined;
  return { from, to: Math.max(from, timeOf(completionTime) ?? now.getTime()) };
}

function timeOf(time: string | undefined): number | undefined {
  const at = Date.parse(time ?? "");
  return Number.isNaN(at) ? undefined : at;
}
