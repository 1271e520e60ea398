/**
 * Decides the next step of a RollingMaintenance. The first rule that applies returns the phase, the message and the
 * actions.
 */
import type { Facts } from "../../facts/facts.ts";
import type { Action } from "../../kube/action.ts";
import { named } from "../../kube/objects.ts";
import { hasRollingEnded, type NodeRow, ROLLING_BOUNDS } from "../../kube/rolling-maintenance.ts";
import { hasCome, type Moment, secondsAfter, withoutFractions } from "../../settings/time.ts";
import { ROLLING_MESSAGES as MESSAGES } from "./messages.ts";
import { evacuationName, resolved, rowsOf } from "./nodes.ts";
import { rivalOf } from "./rivals.ts";
import {
  evacuationOf,
  isActiveRow,
  isFailedRow,
  isPastWindow,
  isPendingRow,
  isStoppedByFailure,
  isUnavailable,
  type RollingNext,
  type RollingRule,
  type RollingWorld,
} from "./world.ts";

// prettier-ignore
export const ROLLING_RULES: readonly RollingRule[] = [
  // Rules that end the RollingMaintenance
  ended, cancelled,
  // Rules before the start of the RollingMaintenance
  pausedBefore, waitsForHour, tooLate, starts,
  // Rules after the start of the RollingMaintenance
  creates, stopsAfterFailure, paused, completes, outOfTime, waitsForNodes, nextIsGone, waitsForRival, waitsForRollout, claims,
];

/** Returns the next step. Returns undefined if the RollingMaintenance does not exist. */
export function nextOfRolling(uid: string, facts: Facts, moment: Moment) {
  const all = facts.list("rollingmaintenances");
  const rm = all.find((one) => one.uid === uid);
  if (rm === undefined) return undefined;
  const others = all.filter((one) => one !== rm);
  const seen = { ...moment, facts, rm, others, nodeEvacuations: facts.list("nodeevacuations") };
  const w = { ...seen, rows: rowsOf(seen) };
  for (const rule of ROLLING_RULES) {
    const next = rule(w);
    if (next !== undefined) return { rm, next: next === "Nothing" ? next : { rows: w.rows, ...next } };
  }
  return { rm, next: "Nothing" as const };
}

/** The RollingMaintenance has ended. Lifeboat only adds the outcomes of VMs that were still moving. */
function ended({ rm, rows }: RollingWorld): RollingNext | "Nothing" | undefined {
  if (!hasRollingEnded(rm)) return undefined;
  const { phase = "Completed", message = "" } = rm.status;
  return JSON.stringify(rows) === JSON.stringify(rm.status.nodes) ? "Nothing" : { phase, message, rows };
}

/**
 * A person cancelled the RollingMaintenance. No further drain starts, and the RollingMaintenance ends when no node is
 * being drained.
 */
function cancelled({ rm, rows }: RollingWorld): RollingNext | undefined {
  if (rm.spec.intent !== "Withdrawn") return undefined;
  const left = skipped(rows.map((row) => (row.phase === "Starting" ? { ...row, phase: "Pending" } : row)));
  const active = left.filter(isActiveRow);
  if (active.length === 0) return { phase: "Withdrawn", message: MESSAGES.withdrawn, rows: left };
  return { phase: "Running", message: MESSAGES.withdrawnWaits(active), rows: left };
}

/** A person paused the RollingMaintenance before it started. */
function pausedBefore({ rm }: RollingWorld): RollingNext | undefined {
  if (rm.spec.progress !== "Paused" || rm.status.startTime !== undefined) return undefined;
  return { phase: "Paused", message: MESSAGES.pausedBefore };
}

/** The start time has not been reached. */
function waitsForHour({ rm, now }: RollingWorld): RollingNext | undefined {
  const { notBefore } = rm.spec.schedule;
  if (notBefore === undefined || rm.status.startTime !== undefined || hasCome(notBefore, now)) return undefined;
  return { phase: "Scheduled", message: MESSAGES.startsAt(notBefore) };
}

/** The end time passed before the RollingMaintenance could start. */
function tooLate(w: RollingWorld): RollingNext | undefined {
  if (w.rm.status.startTime !== undefined || !isPastWindow(w)) return undefined;
  return { phase: "Stopped", message: MESSAGES.tooLate(windowEnd(w)) };
}

/** The RollingMaintenance starts. Lifeboat lists its nodes in the status. */
function starts(w: RollingWorld): RollingNext | undefined {
  if (w.rm.status.startTime !== undefined) return undefined;
  const names = resolved(w);
  const most = ROLLING_BOUNDS["status.nodes"];
  if (names.length === 0) return { phase: "Stopped", message: MESSAGES.noNodes };
  if (names.length > most) return { phase: "Stopped", message: MESSAGES.tooManyNodes(names.length, most) };
  const rows = names.map((name): NodeRow => ({ name, phase: "Pending" }));
  return {
    phase: "Running",
    message: MESSAGES.startsWith(names[0]),
    rows,
    more: { startTime: w.now.toISOString() },
    again: true,
  };
}

/** A node has the phase Starting and no NodeEvacuation. Lifeboat creates the NodeEvacuation. */
function creates(w: RollingWorld): RollingNext | undefined {
  const claimed = w.rows.filter((row) => row.phase === "Starting" && evacuationOf(row, w) === undefined);
  if (claimed.length === 0 || w.rm.spec.progress === "Paused") return undefined;
  const first = claimed.map((row): Action => {
    const notAfter = secondsAfter(new Date(row.startTime ?? w.now), w.rm.spec.nodeTimeoutSeconds);
    return { verb: "CreateNodeEvacuation", rm: w.rm, node: row.name, name: evacuationName(w.rm, row.name), notAfter };
  });
  return { ...running(w, MESSAGES.startsWithAll(claimed)), first, again: true };
}

/** A node failed, so no further drain starts. The RollingMaintenance ends when no other node is being drained. */
function stopsAfterFailure(w: RollingWorld): RollingNext | undefined {
  if (!isStoppedByFailure(w.rm, w.rows)) return undefined;
  const failed = w.rows.filter(isFailedRow);
  const active = w.rows.filter(isActiveRow);
  const left = w.rows.filter(isPendingRow).length;
  if (left === 0 && active.length > 0) return undefined;
  if (active.length > 0) return running(w, MESSAGES.failedWaits(failed, active));
  return { phase: "Stopped", message: MESSAGES.failed(failed, left), rows: skipped(w.rows) };
}

/** A person paused the RollingMaintenance. No further drain starts. */
function paused(w: RollingWorld): RollingNext | undefined {
  if (w.rm.spec.progress !== "Paused") return undefined;
  return { phase: "Paused", message: MESSAGES.paused(w.rows) };
}

/** No node is left to drain. The RollingMaintenance is completed when the last drain has ended. */
function completes(w: RollingWorld): RollingNext | undefined {
  if (w.rows.some(isPendingRow)) return undefined;
  const active = w.rows.filter(isActiveRow);
  if (active.length > 0) return running(w, MESSAGES.waitsFor(active));
  return { phase: "Completed", message: MESSAGES.completed(w.rows, w.rows.filter(isFailedRow)) };
}

/** The end time (`notAfter`) has passed. No further drain starts. */
function outOfTime(w: RollingWorld): RollingNext | undefined {
  if (!isPastWindow(w)) return undefined;
  const left = w.rows.filter(isPendingRow).length;
  const end = windowEnd(w);
  const active = w.rows.filter(isActiveRow);
  if (active.length > 0) return running(w, MESSAGES.outOfTimeWaits(end, left, active));
  return { phase: "Stopped", message: MESSAGES.outOfTime(end, left, w.rows), rows: skipped(w.rows) };
}

/** The number of nodes that are out of service has reached `maxUnavailable`. No further drain starts. */
function waitsForNodes(w: RollingWorld): RollingNext | undefined {
  const unavailable = w.rows.filter((row) => isUnavailable(row, w.rm));
  if (unavailable.length < w.rm.spec.maxUnavailable) return undefined;
  const active = unavailable.filter(isActiveRow);
  return running(w, active.length > 0 ? MESSAGES.waitsFor(active) : MESSAGES.waitsForService(unavailable));
}

/** The next node no longer exists. It gets the phase Gone and counts as failed. */
function nextIsGone(w: RollingWorld): RollingNext | undefined {
  const next = w.rows.find(isPendingRow);
  if (next === undefined || w.facts.get("nodes", named(next.name)) !== undefined) return undefined;
  const time = w.now.toISOString();
  const gone: NodeRow = {
    ...next,
    phase: "Gone",
    message: MESSAGES.nodeGone,
    startTime: time,
    completionTime: time,
  };
  const rows = w.rows.map((row) => (row === next ? gone : row));
  return { ...running(w, MESSAGES.nextIsGone(next.name)), rows, again: true };
}

/** Another RollingMaintenance or NodeEvacuation drains the next node first. This RollingMaintenance waits. */
function waitsForRival(w: RollingWorld): RollingNext | undefined {
  const next = w.rows.find(isPendingRow);
  const rival = next && rivalOf(next.name, w);
  return rival === undefined ? undefined : running(w, MESSAGES.waitsForRival(next?.name, rival));
}

/**
 * KubeVirt is being updated. Lifeboat waits, because VMs can be lost when they migrate during an update of KubeVirt.
 */
function waitsForRollout(w: RollingWorld): RollingNext | undefined {
  const [kubevirt] = w.facts.list("kubevirts");
  if (kubevirt?.isRollingOut !== true) return undefined;
  return running(w, MESSAGES.waitsForRollout);
}

/**
 * The drain of the next node can start. Lifeboat first writes the phase Starting of this node into the status. If two
 * processes choose different nodes at the same time, only one of the two writes succeeds.
 */
function claims(w: RollingWorld): RollingNext | undefined {
  const next = w.rows.find(isPendingRow);
  if (next === undefined) return undefined;
  const claimed: NodeRow = {
    ...next,
    phase: "Starting",
    nodeEvacuation: evacuationName(w.rm, next.name),
    startTime: w.now.toISOString(),
  };
  const rows = w.rows.map((row) => (row === next ? claimed : row));
  return { ...running(w, MESSAGES.startsWith(next.name)), rows, again: true };
}

function running({ rows }: RollingWorld, message: string): RollingNext {
  const blocked = rows.filter(({ phase }) => phase === "Blocked");
  if (blocked.length === 0) return { phase: "Running", message };
  return { phase: "Blocked", message: MESSAGES.stuck(blocked) };
}

function skipped(rows: readonly NodeRow[]): readonly NodeRow[] {
  return rows.map((row) => (isPendingRow(row) ? { name: row.name, phase: "Skipped" } : row));
}

function windowEnd({ rm }: RollingWorld): string {
  return withoutFractions(rm.spec.schedule.notAfter ?? "");
}
