/** Messages of a NodeEvacuation that has not started. */
import { hasEnded, type NodeEvacuationFacts, type NodeEvacuationSpec } from "../kube/node-evacuation.ts";
import { named } from "../kube/objects.ts";
import { withoutFractions } from "../settings/time.ts";
import { predecessorOf } from "./questions.ts";
import { hasStarted, type NodeWorld } from "./world.ts";

/** When it starts. */
export function startText({ schedule: { notBefore, after } }: NodeEvacuationSpec): string {
  const time = withoutFractions(notBefore ?? "");
  if (after === undefined) return `starts at ${time}`;
  return `starts after NodeEvacuation ${after}${notBefore === undefined ? "" : `, not before ${time}`}`;
}

/** Says why a NodeEvacuation waits for its predecessor `after`. Undefined: it does not wait. */
export function waitsBecause(after: string, w: NodeWorld): string | undefined {
  const ne = predecessorOf(w);
  const change = `lifeboat cancel node/${w.ne.spec.nodeName}, and drain it anew`;
  if (ne === undefined) return `does not start: NodeEvacuation ${after}, which it follows, does not exist; ${change}`;
  const { phase, message = "" } = ne.status;
  const before = `NodeEvacuation ${after} of node ${ne.spec.nodeName}`;
  if (phase === "Evacuated") {
    const node = w.facts.get("nodes", named(ne.spec.nodeName));
    return node?.unschedulable === true
      ? `waits until node ${node.name}, which ${after} has emptied, is uncordoned`
      : undefined;
  }
  if (hasEnded(ne)) return `does not start: ${before}, which it follows, has ended as ${phase}: ${message}; ${change}`;
  const stands = phase === "Blocked" || phase === "Paused" ? `, which is ${phase}: ${message}` : "";
  return `waits for ${before}${stands}`;
}

export function expiredText(ne: NodeEvacuationFacts, notAfter: string): string {
  if (hasStarted(ne)) return `the node was not empty at ${notAfter} (spec.schedule.notAfter)`;
  const { message = "Lifeboat had not looked at it" } = ne.status;
  return `it had not started at ${notAfter} (spec.schedule.notAfter): ${message}`;
}
