/** Messages of a NodeEvacuation that has not started. */
import type { NodeEvacuationFacts, NodeEvacuationSpec } from "../kube/node-evacuation.ts";
import { withoutFractions } from "../settings/time.ts";
import { hasStarted } from "./world.ts";

/** Says when a NodeEvacuation starts. */
export function startText({ schedule }: NodeEvacuationSpec): string {
  return `starts at ${withoutFractions(schedule.notBefore ?? "")}`;
}

export function chainedText({ schedule: { after } }: NodeEvacuationSpec): string {
  return `it waited for NodeEvacuation ${after} (spec.schedule.after), which is no longer supported: create a RollingMaintenance of the nodes`;
}

export function expiredText(ne: NodeEvacuationFacts, notAfter: string): string {
  if (hasStarted(ne)) return `the node was not empty at ${notAfter} (spec.schedule.notAfter)`;
  const { message = "Lifeboat had not reconciled it" } = ne.status;
  return `it had not started at ${notAfter} (spec.schedule.notAfter): ${message}`;
}
