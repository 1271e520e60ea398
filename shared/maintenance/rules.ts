/** What comes next for a NodeEvacuation: the first rule that applies says phase, message and actions. */
import { type Action, recordEvent } from "../kube/action.ts";
import { type EvacuationFacts, isActive, isHeldOff } from "../kube/evacuation.ts";
import { isShutdown } from "../evacuation/shutdown.ts";
import { hasEnded, isOpen, type NodeCondition, type NodeEvacuationPhase } from "../kube/node-evacuation.ts";
import { timeText } from "../preflight/duration.ts";
import { secondsAfter, secondsUntil, withoutFractions } from "../settings/time.ts";
import { forecastOf, mayStart } from "./forecast.ts";
import { leaving } from "./leaving.ts";
import { expiredText, startText, waitsBecause } from "./messages.ts";
import { outcomesOf, settledSince } from "./outcomes.ts";
import { vmOf } from "./vms.ts";
import {
  actingOf,
  hasStarted,
  isDue,
  type NodeNext,
  type NodeRule,
  type NodeWorld,
  ownerOf,
  wantedOf,
} from "./world.ts";

// prettier-ignore
export const NODE_RULES: readonly NodeRule[] = [
  // It ends, or has ended
  afterwards, cancelled, nodeGone, expired,
  // It has not started
  pausedBefore, waitsForHour, waitsForAnother, waitsForPredecessor, waitsForRollout, notCordoned, judged,
  // It has
  uncordoned, paused, leaving,
];

export function nextOfNode(w: NodeWorld): NodeNext | "Nothing" {
  for (const rule of NODE_RULES) {
    const next = rule(w);
    if (next !== undefined) return next;
  }
  return "Nothing";
}

/** Once the node is uncordoned after its maintenance, VMs return to it, or start again. */
function afterwards(w: NodeWorld): NodeNext | "Nothing" | undefined {
  const { ne, node } = w;
  if (!hasEnded(ne)) return undefined;
  const more = settledSince(w);
  const { message = "" } = ne.status;
  if (ne.status.phase !== "Evacuated") return leftOver(w, more);
  if (!isOpen(ne) || node?.unschedulable === true)
    return more === undefined ? "Nothing" : { phase: "Evacuated", message, more };
  // Once: VMs whose return has failed stay where they are.
  const returning = node === undefined || ne.status.conditions.some(isReturned) ? [] : w.returning;
  const back = returning.map((vmi): Action => ({ verb: "ReturnVm", vmi, node: ne.spec.nodeName, nodeEvacuation: ne }));
  return {
    phase: "Evacuated",
    message,
    more: { ...more, conditions: [returned(w)] },
    first: starts(w),
    chains: back.map((one) => [one]),
  };
}

function isReturned({ type }: NodeCondition): boolean {
  return type === "Returned";
}

/** VMs that do not run again keep it open. */
function returned({ evacuations }: NodeWorld): NodeCondition {
  const held = evacuations.filter(isHeldOff);
  const condition = { type: "Returned", lastTransitionTime: "" } as const;
  if (held.length === 0) return { ...condition, status: "True", reason: "Uncordoned", message: "" };
  const refused = held.map((e) => `${vmOf(e)}: ${heldBecause(e)}`);
  return {
    ...condition,
    status: "False",
    reason: "NotStarted",
    message: `not started again yet: ${refused.join("; ")}`,
  };
}

function heldBecause({ status }: EvacuationFacts): string {
  return status.conditions.find(({ type }) => type === "Released")?.message || "it is about to start";
}

/** Another function may have cordoned the node, or begun with a VM, while this one ended it. */
function leftOver(w: NodeWorld, more: NodeNext["more"]): NodeNext | "Nothing" {
  const { phase = "Withdrawn", message = "" } = w.ne.status;
  const first = [...withdrawals(w), ...taken(w)];
  return first.length === 0 && more === undefined ? "Nothing" : { phase, message, more: more ?? {}, first };
}

/** Withdraws Evacuations. If the node is gone, migrations continue; a VM that is being stopped, or is off, starts again. */
function withdrawals({ evacuations, node }: Pick<NodeWorld, "evacuations" | "node">): readonly Action[] {
  const isLeft = (e: EvacuationFacts) => isHeldOff(e) || (isActive(e) && (node !== undefined || isShutdown(e)));
  return withdrawn(evacuations.filter(isLeft));
}

/** VMs that were stopped for it, or are being stopped: Lifeboat starts a VM whose Evacuation is withdrawn. */
function starts({ evacuations }: NodeWorld): readonly Action[] {
  return withdrawn(evacuations.filter((e) => isHeldOff(e) || e.status.phase === "Stopping"));
}

function withdrawn(evacuations: readonly EvacuationFacts[]): readonly Action[] {
  const wanted = evacuations.filter(({ spec }) => spec.intent !== "Withdrawn");
  return wanted.map((evacuation) => ({ verb: "WithdrawEvacuation", evacuation }));
}

/** Another party has uncordoned the node: a cordon that follows is not Lifeboat's. */
function disowned({ ne, node }: NodeWorld): readonly Action[] {
  const by = ownerOf(ne);
  return node?.cordonedBy === by ? [{ verb: "Uncordon", node: node.name, by }] : [];
}

/** What has not moved stays, and what has been stopped starts; the node is schedulable again, if that is Lifeboat's to say. */
function end(w: NodeWorld, phase: NodeEvacuationPhase, message: string): NodeNext {
  const more = hasStarted(w.ne) ? { outcomes: outcomesOf([], w) } : {};
  return { phase, message, more, first: [...withdrawals(w), ...taken(w)], again: true };
}

/** Its own cordon, or that of one that has ended before it, unless another NodeEvacuation wants the node closed. */
function taken({ ne, node, rivals, now }: NodeWorld): readonly Action[] {
  const by = [ne, ...rivals.filter(hasEnded)].map(ownerOf).find((owner) => owner === node?.cordonedBy);
  return node === undefined || by === undefined || wantedOf(rivals, now).length > 0
    ? []
    : [{ verb: "Uncordon", node: node.name, by }];
}

function cancelled(w: NodeWorld): NodeNext | undefined {
  if (w.ne.spec.intent !== "Withdrawn") return undefined;
  return end(w, "Withdrawn", "spec.intent is Withdrawn: what moves continues, the rest stays");
}

/** Nothing waits for it any more: what was stopped for it starts elsewhere. */
function nodeGone(w: NodeWorld): NodeNext | undefined {
  if (w.node !== undefined) return undefined;
  return { phase: "Gone", message: `there is no node ${w.ne.spec.nodeName}`, first: withdrawals(w), again: true };
}

function expired(w: NodeWorld): NodeNext | undefined {
  const { notAfter } = w.ne.spec.schedule;
  if (notAfter === undefined || secondsUntil(notAfter, w.now) > 0) return undefined;
  return end(w, "Expired", expiredText(w.ne, withoutFractions(notAfter)));
}

/** What will happen is said before, and VMs whose guests will end have an Event. */
function scheduled(w: NodeWorld, why: string): NodeNext {
  const { ne, preflight: facts } = w;
  if (facts === undefined)
    return { phase: "Scheduled", message: `${why}${ne.status.verdict === undefined ? "" : known(ne.status.verdict)}` };
  const { found, shutdowns } = forecastOf(facts, w);
  const { verdict } = found;
  const when =
    ne.spec.schedule.notBefore === undefined ? "" : ` from ${withoutFractions(ne.spec.schedule.notBefore)} on`;
  const text = `node ${ne.spec.nodeName} is to be empty${when}: the guest of this VM will shut down (NodeEvacuation ${ne.name})`;
  const events = shutdowns.map((vmi) => [recordEvent(vmi, "ShutdownPlanned", text, ne.uid)]);
  return { phase: "Scheduled", message: `${why}${known(verdict)}`, more: { verdict }, chains: events };
}

function known(verdict: string): string {
  return `; as things are, it ${verdict === "Unknown" ? "cannot be judged" : verdict}`;
}

function waitsForHour(w: NodeWorld): NodeNext | undefined {
  if (hasStarted(w.ne) || isDue(w.ne, w.now)) return undefined;
  return scheduled(w, startText(w.ne.spec));
}

function waitsForAnother(w: NodeWorld): NodeNext | undefined {
  const acting = actingOf(w);
  return acting.uid === w.ne.uid ? undefined : scheduled(w, `waits for NodeEvacuation ${acting.name} of the same node`);
}

function waitsForPredecessor(w: NodeWorld): NodeNext | undefined {
  const { after } = w.ne.spec.schedule;
  if (after === undefined || hasStarted(w.ne)) return undefined;
  const why = waitsBecause(after, w.before, w.ne.spec.nodeName);
  return why === undefined ? undefined : scheduled(w, why);
}

/** VMs were lost where migrations of a drain and of a rollout came together: kubevirt/kubevirt. */
function waitsForRollout(w: NodeWorld): NodeNext | undefined {
  return w.isRollingOut === true && !hasStarted(w.ne)
    ? scheduled(w, "waits until KubeVirt has been rolled out")
    : undefined;
}

function pausedBefore({ ne }: NodeWorld): NodeNext | undefined {
  if (ne.spec.progress !== "Paused" || hasStarted(ne)) return undefined;
  return {
    phase: "Paused",
    message: "spec.progress is Paused: it has not started, and does not start until it is resumed",
  };
}

/** A node that another party has cordoned stays cordoned in the end. */
function notCordoned({ ne, node }: NodeWorld): NodeNext | undefined {
  if (node === undefined || hasStarted(ne)) return undefined;
  const by = ownerOf(ne);
  // A cordon of one that has ended, or is gone, is taken over: the one that acts is this one. Else a function that ends it would open it.
  const left = node.cordonedBy === by ? undefined : node.cordonedBy;
  if (node.unschedulable && left === undefined) return undefined;
  const cordon: Action = { verb: "Cordon", node: node.name, by, from: node.unschedulable ? left : undefined };
  return {
    phase: ne.status.phase ?? "Scheduled",
    message: ne.status.message ?? "starts now",
    first: [cordon],
    again: true,
  };
}

/** What one that is to start still has to know. */
export const NOT_READ: NodeNext = { phase: "Scheduled", message: "the preflight has not been read yet" };

function judged(w: NodeWorld): NodeNext | undefined {
  const { ne, preflight: facts, now } = w;
  if (hasStarted(ne)) return undefined;
  if (facts === undefined) return NOT_READ;
  const { found } = forecastOf(facts, w);
  const { verdict } = found;
  const { startIf } = ne.spec;
  if (!mayStart(startIf, verdict)) {
    const message = `startIf is ${startIf}, and the verdict is ${verdict}: ${found.summary}`;
    return { phase: "Refused", message, more: { verdict }, first: taken(w) };
  }
  const time = found.time;
  const eta = time && secondsAfter(now, time.seconds.most);
  const message = time === undefined ? "no VM has to move" : timeText(time);
  const more = { verdict, startTime: now.toISOString(), estimatedCompletionTime: eta };
  return { phase: "Evacuating", message, more, again: true };
}

function uncordoned(w: NodeWorld): NodeNext | undefined {
  if (w.node?.unschedulable !== false) return undefined;
  const message = `another party has uncordoned the node, so nothing new begins: kubectl cordon ${w.node.name} continues it`;
  // Reasons from before count no longer: whoever has uncordoned the node may have changed them. What was stopped starts.
  return { phase: "Paused", message, more: { blockers: [] }, first: [...disowned(w), ...starts(w)] };
}

/** An empty node is empty, paused or not. */
function paused(w: NodeWorld): NodeNext | undefined {
  if (w.ne.spec.progress !== "Paused") return undefined;
  const next = leaving(w);
  if (next.phase === "Evacuated") return next;
  return {
    ...next,
    phase: "Paused",
    message: "spec.progress is Paused: nothing new begins, what moves continues",
    chains: [],
  };
}
