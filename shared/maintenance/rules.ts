/** The next step of a NodeEvacuation: the first rule that applies returns phase, message and actions. */
import { unlessFailed } from "../facts/facts.ts";
import { kubeVirt } from "../facts/questions.ts";
import { type Action, recordEvent } from "../kube/action.ts";
import type { NodeEvacuationPhase } from "../kube/node-evacuation.ts";
import { PREFLIGHT_MESSAGES } from "../preflight/messages.ts";
import { secondsAfter, secondsUntil, withoutFractions } from "../settings/time.ts";
import { afterwards, disowned, starts, taken, withdrawals } from "./ended.ts";
import { forecastOf, mayStart } from "./forecast.ts";
import { leaving } from "./leaving.ts";
import { MAINTENANCE_MESSAGES as MESSAGES } from "./messages.ts";
import { withCounts, outcomesOf } from "./outcomes.ts";
import { nodeToDrain, preflightBeside, rivalsOf } from "./questions.ts";
import { actingOf, hasStarted, isTimeReached, type NodeNext, type NodeRule, type NodeWorld, ownerOf } from "./world.ts";

// prettier-ignore
export const NODE_RULES: readonly NodeRule[] = [
  // Rules that end the NodeEvacuation, or apply after its end
  afterwards, cancelled, nodeGone, expired, chained,
  // Rules before its start
  pausedBefore, waitsForHour, waitsForAnother, waitsForRollout, notCordoned, judged,
  // Rules after its start
  uncordoned, paused, leaving,
];

export function nextOfNode(w: NodeWorld): NodeNext | "Nothing" {
  for (const rule of NODE_RULES) {
    const next = rule(w);
    if (next !== undefined) return next;
  }
  return "Nothing";
}

/**
 * Ends the NodeEvacuation. VMs that have not moved stay, stopped VMs start, and the node is schedulable again if
 * Lifeboat cordoned it.
 */
function end(w: NodeWorld, phase: NodeEvacuationPhase, message: string): NodeNext {
  const more = hasStarted(w.ne) ? withCounts(outcomesOf([], w), w) : {};
  return { phase, message, more, first: [...withdrawals(w), ...taken(w)], again: true };
}

function cancelled(w: NodeWorld): NodeNext | undefined {
  if (w.ne.spec.intent !== "Withdrawn") return undefined;
  return end(w, "Withdrawn", MESSAGES.withdrawn);
}

/** The node is gone. Stopped VMs need not wait for the node: they start on other nodes. */
function nodeGone(w: NodeWorld): NodeNext | undefined {
  if (nodeToDrain(w) !== undefined) return undefined;
  return { phase: "Gone", message: MESSAGES.nodeGone(w.ne.spec.nodeName), first: withdrawals(w), again: true };
}

function expired(w: NodeWorld): NodeNext | undefined {
  const { notAfter } = w.ne.spec.schedule;
  if (notAfter === undefined || secondsUntil(notAfter, w.now) > 0) return undefined;
  return drained(w) ?? end(w, "Expired", MESSAGES.expired(w.ne, withoutFractions(notAfter)));
}

/**
 * Returns the phase Evacuated if the last VM or pod has left since the last reconcile. Such a NodeEvacuation does not
 * end as Expired.
 */
function drained(w: NodeWorld): NodeNext | undefined {
  if (!hasStarted(w.ne) || nodeToDrain(w)?.unschedulable !== true) return undefined;
  const next = unlessFailed(
    () => leaving(w),
    () => undefined,
  );
  return next?.phase === "Evacuated" ? next : undefined;
}

/**
 * Refuses a NodeEvacuation that names another NodeEvacuation in `schedule.after`. Lifeboat 0.3 started both in
 * sequence; this version would start both at the same time.
 */
function chained(w: NodeWorld): NodeNext | undefined {
  const { after } = w.ne.spec.schedule;
  if (after === undefined || hasStarted(w.ne)) return undefined;
  return { phase: "Refused", message: MESSAGES.chained(after), first: taken(w) };
}

/** Forecasts the drain. VMs whose guests will end get an Event. */
function scheduled(w: NodeWorld, why: string): NodeNext {
  const { ne } = w;
  // A forecast is expensive: between ticks, the last forecast is used.
  const isForecastMade = !w.isThorough && ne.status.verdict !== undefined;
  const facts = isForecastMade ? undefined : preflightBeside(w);
  const { verdict: last } = ne.status;
  if (facts === undefined)
    return { phase: "Scheduled", message: last === undefined ? why : MESSAGES.withForecast(why, last) };
  const { found, shutdowns } = forecastOf(facts, w);
  const { verdict } = found;
  const events = shutdowns.map((vmi) => [recordEvent(vmi, "ShutdownPlanned", MESSAGES.shutdownPlanned(ne), ne.uid)]);
  return { phase: "Scheduled", message: MESSAGES.withForecast(why, verdict), more: { verdict }, chains: events };
}

function waitsForHour(w: NodeWorld): NodeNext | undefined {
  if (hasStarted(w.ne) || isTimeReached(w.ne, w.now)) return undefined;
  return scheduled(w, MESSAGES.startsAt(w.ne.spec));
}

function waitsForAnother(w: NodeWorld): NodeNext | undefined {
  const acting = actingOf(w.ne, rivalsOf(w), w.now);
  return acting.uid === w.ne.uid ? undefined : scheduled(w, MESSAGES.waitsForAnother(acting.name));
}

/** KubeVirt is being updated. VMs were lost when a drain migrated them during KubeVirt's rollout. */
function waitsForRollout(w: NodeWorld): NodeNext | undefined {
  const isAnyTime = w.ne.spec.startIf === "Always" && w.ne.owner === undefined;
  if (hasStarted(w.ne) || isAnyTime || kubeVirt(w.facts)?.isRollingOut !== true) return undefined;
  return scheduled(w, MESSAGES.waitsForRollout);
}

function pausedBefore({ ne }: NodeWorld): NodeNext | undefined {
  if (ne.spec.progress !== "Paused" || hasStarted(ne)) return undefined;
  return { phase: "Paused", message: MESSAGES.pausedBefore };
}

/**
 * The node is not cordoned for this NodeEvacuation yet. If another party cordoned the node, the node stays cordoned
 * after the NodeEvacuation.
 */
function notCordoned(w: NodeWorld): NodeNext | undefined {
  const [{ ne }, node] = [w, nodeToDrain(w)];
  if (node === undefined || hasStarted(ne)) return undefined;
  const by = ownerOf(ne);
  // This NodeEvacuation takes over the cordon of an ended or deleted NodeEvacuation. Otherwise the cleanup after that
  // NodeEvacuation would uncordon the node.
  const left = node.cordonedBy === by ? undefined : node.cordonedBy;
  if (node.unschedulable && left === undefined) return undefined;
  const cordon: Action = { verb: "Cordon", node: node.name, by, from: node.unschedulable ? left : undefined };
  return {
    phase: ne.status.phase ?? "Scheduled",
    message: ne.status.message ?? MESSAGES.startsNow,
    first: [cordon],
    again: true,
  };
}

function judged(w: NodeWorld): NodeNext | undefined {
  const { ne, now } = w;
  if (hasStarted(ne)) return undefined;
  const facts = preflightBeside(w);
  if (facts === undefined) return undefined;
  const { found } = forecastOf(facts, w);
  const { verdict } = found;
  const { startIf } = ne.spec;
  if (!mayStart(startIf, verdict)) {
    const message = MESSAGES.refused(startIf, verdict, found.summary);
    return { phase: "Refused", message, more: { verdict }, first: taken(w) };
  }
  const time = found.time;
  const eta = time && secondsAfter(now, time.seconds.most);
  const message = time === undefined ? MESSAGES.nothingToMove : PREFLIGHT_MESSAGES.time(time);
  const more = { verdict, startTime: now.toISOString(), estimatedCompletionTime: eta };
  return { phase: "Evacuating", message, more, again: true };
}

function uncordoned(w: NodeWorld): NodeNext | undefined {
  const node = nodeToDrain(w);
  if (node?.unschedulable !== false) return undefined;
  // The old blockers are removed, because their causes may have changed. Stopped VMs start.
  const first = [...disowned(w), ...starts(w)];
  return { phase: "Paused", message: MESSAGES.uncordoned(node.name), more: { blockers: [] }, first };
}

/** A person has paused the NodeEvacuation. If no VM and no pod is left, the NodeEvacuation still ends as Evacuated. */
function paused(w: NodeWorld): NodeNext | undefined {
  if (w.ne.spec.progress !== "Paused") return undefined;
  const next = leaving(w);
  if (next.phase === "Evacuated") return next;
  return { ...next, phase: "Paused", message: MESSAGES.paused, chains: [] };
}
