/**
 * Computes the status of a NodeEvacuation. Lifeboat writes the status only after a visible change. Between two writes,
 * Lifeboat waits two seconds, except after an important change such as a new phase.
 */
import {
  hasEnded,
  NODE_END_PHASES,
  NODE_EVACUATION_BOUNDS as BOUNDS,
  type NodeCondition,
  type NodeEvacuationFacts,
  type NodeEvacuationStatus,
} from "../kube/node-evacuation.ts";
import { secondsSince } from "../settings/time.ts";
import type { NodeNext } from "./world.ts";

const LEAST_SECONDS = 2;

/** Returns the status to write. Returns undefined if the status does not have to be written now. */
export function nodeStatusAfter(
  { status: before }: NodeEvacuationFacts,
  next: Pick<NodeNext, "phase" | "message" | "more">,
  now: Date,
): NodeEvacuationStatus | undefined {
  const time = now.toISOString();
  const isEnd = NODE_END_PHASES.some((phase) => phase === next.phase);
  const status: NodeEvacuationStatus = {
    ...before,
    phase: next.phase,
    message: next.message.slice(0, BOUNDS["status.message"]).toWellFormed(),
    ...next.more,
    ...(isEnd && { completionTime: before.completionTime ?? time, estimatedCompletionTime: undefined }),
  };
  const conditions = conditionsAfter(before, status, next, time);
  const written = { ...status, conditions };
  if (textOf(written) === textOf(before)) return undefined;
  const isSoon = before.phase === next.phase && secondsSince(before.lastUpdateTime, now) < LEAST_SECONDS;
  return isSoon && !isNews(before, next) ? undefined : { ...written, lastUpdateTime: time };
}

/**
 * Returns true if the start time, a condition or an outcome has changed. Lifeboat writes such a change at once. After a
 * VM has left, only the status shows that the VM was on the node, and whether an eviction shut its guest down.
 */
function isNews(before: NodeEvacuationStatus, { more = {} }: Pick<NodeNext, "more">): boolean {
  const { startTime, conditions, outcomes = before.outcomes } = more;
  return startTime !== undefined || conditions !== undefined || knownIn(outcomes) !== knownIn(before.outcomes);
}

function knownIn(outcomes: NodeEvacuationStatus["outcomes"]): string {
  return outcomes.map(({ uid, outcome, reason }) => (outcome === undefined ? `${uid} ${reason}` : uid)).join();
}

/** Returns the conditions. The condition `Drained` exists from the start, so that `kubectl wait` can wait for it. */
function conditionsAfter(
  before: NodeEvacuationStatus,
  status: NodeEvacuationStatus,
  { phase, message, more }: Pick<NodeNext, "phase" | "message" | "more">,
  time: string,
): readonly NodeCondition[] {
  const is = (type: NodeCondition["type"], holds: boolean) => {
    return { type, status: holds ? "True" : "False", reason: phase, message: "" } as const;
  };
  const isUnderWay = status.startTime !== undefined && !hasEnded({ status });
  const wasBlocked = before.conditions.some(({ type }) => type === "Blocked");
  const shown = [
    ...(status.startTime === undefined ? [] : [is("DrainInProgress", isUnderWay)]),
    { ...is("Drained", phase === "Evacuated"), message: hasEnded({ status }) ? message : "" },
    ...(phase === "Blocked" || wasBlocked
      ? [{ ...is("Blocked", phase === "Blocked"), message: phase === "Blocked" ? message : "" }]
      : []),
    ...(more?.conditions ?? []),
  ];
  const kept = before.conditions.filter(({ type }) => shown.every((one) => one.type !== type));
  const changed = shown.map((one): NodeCondition => {
    const same = before.conditions.find(({ type, status: was }) => type === one.type && was === one.status);
    const { lastTransitionTime = time } = same ?? {};
    return {
      ...one,
      message: one.message.slice(0, BOUNDS["status.conditions[].message"]).toWellFormed(),
      lastTransitionTime,
    };
  });
  return [...kept, ...changed].toSorted((a, b) => (a.type < b.type ? -1 : 1));
}

/** Lifeboat does not write the status if only these fields change. */
const TIMES: readonly string[] = ["lastUpdateTime", "estimatedCompletionTime"];

function textOf(status: NodeEvacuationStatus): string {
  const entries = Object.entries(status).filter(([key, value]) => value !== undefined && !TIMES.includes(key));
  return JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
