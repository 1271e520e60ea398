/** What has to happen in a run, for each place a VM can begin at. */
import { isFinal, LABEL, type VirtualMachineInstance } from "../../sandbox/kubevirt/resources.ts";
import { ALWAYS, type CastMember, isRefused, type Place } from "./cast.ts";
import type { Endings } from "./endings.ts";
import { rowOf } from "./fault-table.ts";
import type { Observer } from "./observer.ts";
import type { RequestCheck } from "./requests.ts";
import { PREEMPTOR, type Scene } from "./scene.ts";
import type { Stage } from "./stage.ts";

/** As much of a stage as is looked at. */
export interface View {
  readonly arena: { readonly observer: Pick<Observer, "vmis" | "pods" | "leases"> };
  readonly plan: Pick<Stage["plan"], "faults" | "vms">;
  readonly scene: Pick<Scene, "namespace" | "nodeOf">;
  readonly drain: Pick<Stage["drain"], "isDone">;
}

export type SeenSoFar = Pick<Endings, "abandoned"> & Pick<RequestCheck, "asked">;

/** Empty: everything that the run is about has happened. */
export function missingIn(view: View, seen: SeenSoFar): readonly string[] {
  const { plan, drain } = view;
  const staying = plan.vms.filter((member) => !isThrough(member, view, seen));
  const drained = plan.vms.filter(({ place }) => place === "Drained");
  return [
    ...staying.map(({ name, place }) => `${name} has not left the node (${place})`),
    ...drained
      .filter((member) => isTakenAway(member, view))
      .map(({ name }) => `${name} has left, though it is refused`),
    ...(drain.isDone || drained.some((member) => isStuck(member) || isRefused(member))
      ? []
      : ["the drain has not come to its end"]),
    ...(hasPreempted(view) ? [] : ["the preemptor does not run"]),
    ...(hasAsked(view, seen) ? [] : ["descheduling has asked for no VM"]),
  ];
}

function isStuck({ failures }: CastMember): boolean {
  return failures === ALWAYS;
}

function isThrough(member: CastMember, view: View, { abandoned }: Pick<Endings, "abandoned">): boolean {
  const vmi = vmiWhereItBegan(member, view);
  if (vmi === undefined || !MUST_LEAVE[member.place] || isRefused(member)) return true;
  return isStuck(member) && abandoned.has(vmi.metadata.uid);
}

function isTakenAway(member: CastMember, view: View): boolean {
  if (!isRefused(member)) return false;
  return liveVmi(member, view) !== undefined && vmiWhereItBegan(member, view) === undefined;
}

function vmiWhereItBegan(member: CastMember, view: View): VirtualMachineInstance | undefined {
  const vmi = liveVmi(member, view);
  return vmi?.status?.nodeName === view.scene.nodeOf[member.place] ? vmi : undefined;
}

function liveVmi({ name }: CastMember, { arena, scene }: View): VirtualMachineInstance | undefined {
  const vmi = arena.observer.vmis.get(`${scene.namespace}/${name}`);
  return vmi === undefined || isFinal(vmi.status) || vmi.metadata.deletionTimestamp !== undefined ? undefined : vmi;
}

/**
 * A preemptor needs some of the room, not all of it; a taint that goes again drives no VM away for good; a descheduling
 * request that came to nothing rests for minutes, so that whether a VM is asked again is not up to Lifeboat alone: it has
 * to ask at all.
 */
const MUST_LEAVE = {
  Drained: true,
  Preempted: false,
  Tainted: true,
  Unsettled: false,
  Ending: true,
  Pressed: true,
  Covered: true,
  Exposed: true,
  Retired: false,
} as const satisfies Record<Place, boolean>;

function hasPreempted({ arena, plan, scene }: View): boolean {
  if (!plan.faults.includes("Preemption")) return true;
  return arena.observer.pods.get(`${scene.namespace}/${PREEMPTOR.name}`)?.status?.phase === "Running";
}

/** Whether some VM was asked for, if one is left to ask for. */
function hasAsked(view: View, { asked }: SeenSoFar): boolean {
  if (!view.plan.faults.includes("Descheduling") || asked.size > 0) return true;
  if (isBrokenOff(view)) return true;
  const launchers = [...view.arena.observer.pods.list()];
  return !view.plan.vms.some((member) => {
    if (member.place !== "Retired" || !member.migratable) return false;
    const uid = vmiWhereItBegan(member, view)?.metadata.uid;
    return launchers.some(({ metadata, spec }) => {
      const isItsOwn = uid !== undefined && metadata.labels?.[LABEL.createdBy] === uid;
      return isItsOwn && spec?.nodeName === view.scene.nodeOf.Retired;
    });
  });
}

/** A cycle that is broken off keeps its Lease for longer than a run lasts, and no other cycle asks meanwhile. */
function isBrokenOff({ arena, plan }: View): boolean {
  const breaksOff = plan.faults.some((fault) => rowOf(fault).breaksOff);
  return breaksOff && [...arena.observer.leases.list()].some(({ spec }) => Boolean(spec?.holderIdentity));
}
