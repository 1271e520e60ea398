/**
 * What has to happen in a run, for each place a VM can begin at.
 * Owns: telling, in words, what has not yet. Does not own: what is left to tidy up after it (rest.ts).
 */
import { isFinal } from "../sandbox/kubevirt/resources.ts";
import { ALWAYS, type CastMember } from "./cast.ts";
import type { Endings } from "./endings.ts";
import { PREEMPTOR } from "./scene.ts";
import type { Stage } from "./stage.ts";

/** Empty: everything that the run is about has happened. */
export function missingIn(stage: Stage, endings: Pick<Endings, "abandoned">): readonly string[] {
  const { plan, drain } = stage;
  const staying = plan.vms.filter((member) => !isThrough(member, stage, endings));
  return [
    ...staying.map(({ name, place }) => `${name} has not left the node (${place})`),
    ...(drain.isDone || plan.vms.some(isStuck) ? [] : ["the drain has not come to its end"]),
    ...(hasPreempted(stage) ? [] : ["the preemptor does not run"]),
  ];
}

function isStuck({ failures }: CastMember): boolean {
  return failures === ALWAYS;
}

function isThrough(member: CastMember, stage: Stage, { abandoned }: Pick<Endings, "abandoned">): boolean {
  const { arena, scene } = stage;
  const vmi = arena.observer.vmis.get(`${scene.namespace}/${member.name}`);
  if (vmi === undefined || isFinal(vmi.status) || vmi.metadata.deletionTimestamp !== undefined) return true;
  if (!mustLeave(member) || vmi.status?.nodeName !== scene.nodeOf[member.place]) return true;
  return isStuck(member) && abandoned.has(vmi.metadata.uid);
}

/**
 * A preemptor needs some of the room, not all of it; a descheduling request that came to nothing rests for minutes, so
 * that whether a VM is asked again is not up to Lifeboat alone.
 */
function mustLeave({ place }: CastMember): boolean {
  return place !== "Preempted" && place !== "Retired";
}

function hasPreempted({ arena, plan, scene }: Stage): boolean {
  if (!plan.faults.includes("Preemption")) return true;
  return arena.observer.pods.get(`${scene.namespace}/${PREEMPTOR.name}`)?.status?.phase === "Running";
}
