/**
 * Decides the next step of a NodeEvacuation. The first rule that applies returns the phase, the message and the
 * actions.
 */
import { unlessFailed } from "../facts/facts.ts";
import { kubeVirt } from "../facts/questions.ts";
import { type Action, recordEvent } from "../kube/action.ts";
import type { NodeEvacuationFacts, NodeEvacuationPhase } from "../kube/node-evacuation.ts";
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
  // Rules that end the NodeEvacuation or apply after its end
  afterwards, cancelled, nodeGone, expired, chained,
  // Rules before the start of the NodeEvacuation
  pausedBefore, waitsForHour, waitsForAnother, waitsForRollout, notCordoned, judged,
  // Rules after the start of the NodeEvacuation
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
 * Ends the NodeEvacuation. The remaining VMs stay on the node, stopped VMs start again, and Lifeboat removes its own
 * cordon.
 */
function end(w: NodeWorld, phase: NodeEvacuationPhase, message: string): NodeNext {
  const more = hasStarted(w.ne) ? withCounts(outcomesOf([], w), w) : {};
  return { phase, message, more, first: [...withdrawals(w), ...taken(w)], again: true };
}

/** A person has withdrawn the NodeEvacuation. */
function cancelled(w: NodeWorld): NodeNext | undefined {
  if (w.ne.spec.intent !== "Withdrawn") return undefined;
  return end(w, "Withdrawn", MESSAGES.withdrawn);
}

/** The node no longer exists. Stopped VMs start on other nodes. */
function nodeGone(w: NodeWorld): NodeNext | undefined {
  return nodeToDrain(w) === undefined ? gone(w) : undefined;
}

function gone(w: NodeWorld): NodeNext {
  return { phase: "Gone", message: MESSAGES.nodeGone(w.ne.spec.nodeName), first: withdrawals(w), again: true };
}

/** The time `notAfter` has passed. If the node has just become empty, the NodeEvacuation still ends as Evacuated. */
function expired(w: NodeWorld): NodeNext | undefined {
  const { notAfter } = w.ne.spec.schedule;
  if (notAfter === undefined || secondsUntil(notAfter, w.now) > 0) return undefined;
  return drained(w) ?? end(w, "Expired", MESSAGES.expired(w.ne, withoutFractions(notAfter)));
}

/**
 * Returns the phase Evacuated if the last VM or pod has just left the node. The NodeEvacuation then does not end as
 * Expired, although `notAfter` has passed.
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
 * Refuses a NodeEvacuation with `schedule.after`, which names another NodeEvacuation. Lifeboat 0.3 started this drain
 * only after the other drain. This version would start both drains at the same time.
 */
function chained(w: NodeWorld): NodeNext | undefined {
  const { after } = w.ne.spec.schedule;
  if (after === undefined || hasStarted(w.ne)) return undefined;
  return { phase: "Refused", message: MESSAGES.chained(after), first: taken(w) };
}

/** Forecasts the drain, and records an Event for each VM whose guest will be shut down. */
function scheduled(w: NodeWorld, why: string): NodeNext {
  const { ne } = w;
  // A forecast is expensive. Lifeboat makes a forecast every minute, and uses the last forecast in between.
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

/** The start time (`notBefore`) has not been reached. */
function waitsForHour(w: NodeWorld): NodeNext | undefined {
  if (hasStarted(w.ne) || isTimeReached(w.ne, w.now)) return undefined;
  return scheduled(w, MESSAGES.startsAt(w.ne.spec));
}

/** Another NodeEvacuation drains the same node first. This NodeEvacuation waits. */
function waitsForAnother(w: NodeWorld): NodeNext | undefined {
  const acting = actingOf(w.ne, rivalsOf(w), w.now);
  return acting.uid === w.ne.uid ? undefined : scheduled(w, MESSAGES.waitsForAnother(acting.name));
}

/**
 * KubeVirt is being updated. Lifeboat waits, because VMs can be lost when they migrate during an update of KubeVirt.
 * With `startIf: Always`, a NodeEvacuation waits only if it is part of a RollingMaintenance.
 */
function waitsForRollout(w: NodeWorld): NodeNext | undefined {
  const isAnyTime = w.ne.spec.startIf === "Always" && w.ne.owner === undefined;
  if (hasStarted(w.ne) || isAnyTime || kubeVirt(w.facts)?.isRollingOut !== true) return undefined;
  return scheduled(w, MESSAGES.waitsForRollout);
}

/** Returns a message if the NodeEvacuation counts as paused because its RollingMaintenance cannot be parsed. */
function pausedBecause({ owner }: NodeEvacuationFacts): string | undefined {
  return owner?.unreadable === undefined ? undefined : MESSAGES.ownerUnreadable(owner.unreadable);
}

/** A person has paused the NodeEvacuation before its start. */
function pausedBefore({ ne }: NodeWorld): NodeNext | undefined {
  if (ne.spec.progress !== "Paused" || hasStarted(ne)) return undefined;
  return { phase: "Paused", message: pausedBecause(ne) ?? MESSAGES.pausedBefore };
}

/**
 * The node is not cordoned for this NodeEvacuation yet. If somebody else has cordoned the node, Lifeboat does not
 * uncordon the node at the end.
 */
function notCordoned(w: NodeWorld): NodeNext | undefined {
  const [{ ne }, node] = [w, nodeToDrain(w)];
  if (node === undefined || hasStarted(ne)) return undefined;
  const by = ownerOf(ne);
  // This NodeEvacuation takes over the cordon of an earlier NodeEvacuation. Otherwise the cleanup after the earlier
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

/** The NodeEvacuation starts, or is refused because the forecast does not satisfy `startIf`. */
function judged(w: NodeWorld): NodeNext | undefined {
  const { ne, now } = w;
  if (hasStarted(ne)) return undefined;
  const facts = preflightBeside(w);
  // The node was deleted between two reads.
  if (facts === undefined) return gone(w);
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

/** A person has uncordoned the node, so the NodeEvacuation pauses. */
function uncordoned(w: NodeWorld): NodeNext | undefined {
  const node = nodeToDrain(w);
  if (node?.unschedulable !== false) return undefined;
  // Starts the VMs that were stopped. Removes the old blockers from the status, because they might be outdated.
  const first = [...disowned(w), ...starts(w)];
  return { phase: "Paused", message: MESSAGES.uncordoned(node.name), more: { blockers: [] }, first };
}

/** A person has paused the NodeEvacuation. If no VM and no pod is left, the NodeEvacuation still ends as Evacuated. */
function paused(w: NodeWorld): NodeNext | undefined {
  if (w.ne.spec.progress !== "Paused") return undefined;
  const next = leaving(w);
  if (next.phase === "Evacuated") return next;
  return { ...next, phase: "Paused", message: pausedBecause(w.ne) ?? MESSAGES.paused, chains: [] };
}
