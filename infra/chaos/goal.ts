/**
 * When everything that a run is about has happened.
 * Owns: that, for each place a VM can begin at. Does not own: what is left to tidy up after it (rest.ts).
 */
import { isFinal, type VirtualMachineInstance } from "../sandbox/kubevirt/resources.ts";
import { ALWAYS, type CastMember } from "./cast.ts";
import type { Endings } from "./endings.ts";
import { PREEMPTOR } from "./scene.ts";
import type { Stage } from "./stage.ts";

export function isReached(stage: Stage, endings: Pick<Endings, "abandoned">): boolean {
  const { plan, drain } = stage;
  const stuck = plan.vms.some((member) => isStuck(member));
  return (
    (drain.isDone || stuck) && plan.vms.every((member) => isThrough(member, stage, endings)) && hasPreempted(stage)
  );
}

function isStuck({ failures }: CastMember): boolean {
  return failures === ALWAYS;
}

function isThrough(member: CastMember, stage: Stage, { abandoned }: Pick<Endings, "abandoned">): boolean {
  const { arena, scene } = stage;
  const vmi = arena.observer.vmis.get(`${scene.namespace}/${member.name}`);
  if (vmi === undefined || isFinal(vmi.status) || vmi.metadata.deletionTimestamp !== undefined) return true;
  if (member.place === "Preempted" || hasLeft(vmi, scene.nodeOf[member.place])) return true;
  return isStuck(member) && abandoned.has(vmi.metadata.uid);
}

function hasLeft({ status }: VirtualMachineInstance, node: string): boolean {
  return status?.nodeName !== node;
}

/** Its place may have become free without a VM having to go. */
function hasPreempted({ arena, plan, scene }: Stage): boolean {
  if (!plan.faults.includes("Preemption")) return true;
  return arena.observer.pods.get(`${scene.namespace}/${PREEMPTOR.name}`)?.status?.phase === "Running";
}
