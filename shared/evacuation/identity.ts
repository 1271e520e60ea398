/**
 * Which pod an `Evacuation` is about, and its name, which is derived from the pod and counts up: two functions that start it create one
 * object.
 */
import type { NewEvacuation } from "../kube/action.ts";
import {
  type Cause,
  EVACUATION_BOUNDS,
  type EvacuationFacts,
  type EvacuationSpec,
  isActive,
  isToBeReleased,
} from "../kube/evacuation.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { FOUND_MARKED, NAME_PREFIX } from "../kube/names.ts";
import { derivedName, hash8 } from "../kube/objects.ts";

/** The pod that the guest runs in, by KubeVirt's own list; undefined if that names none on the VM's node, or two. */
export function guestPodUID({ activePods, nodeName }: VmiFacts): string | undefined {
  const here = Object.entries(activePods).filter(([, node]) => node === nodeName);
  return here.length === 1 ? here[0]?.[0] : undefined;
}

export function podUIDOf({ spec, status }: EvacuationFacts): string | undefined {
  return status.podUID ?? spec.pod?.uid;
}

/** The node of the pod that has to leave; undefined if KubeVirt does not list that pod any more. */
export function sourceNodeOf(evacuation: EvacuationFacts, { activePods, nodeName }: VmiFacts): string | undefined {
  const uid = podUIDOf(evacuation);
  if (uid === undefined || Object.keys(activePods).length === 0) return nodeName;
  // Its creator may have written any UID: `__proto__` too.
  return Object.hasOwn(activePods, uid) ? activePods[uid] : undefined;
}

/** Whether it is about the pod that the VMI's guest runs in now, as is one that names no pod and has not been reconciled yet. */
export function isAbout(evacuation: EvacuationFacts, vmi: VmiFacts, podUID = guestPodUID(vmi)): boolean {
  const { virtualMachineInstanceUID = vmi.uid, sourceNode = vmi.nodeName } = evacuation.status;
  if (virtualMachineInstanceUID !== vmi.uid || evacuation.spec.vmiName !== vmi.name) return false;
  const own = podUIDOf(evacuation);
  return own === undefined || podUID === undefined ? sourceNode === vmi.nodeName : own === podUID;
}

export function ofVmi(
  evacuations: readonly EvacuationFacts[],
  { namespace, name }: VmiFacts,
): readonly EvacuationFacts[] {
  return evacuations.filter((e) => e.namespace === namespace && e.spec.vmiName === name);
}

/** Sorts the oldest first: of several active ones about one pod it continues, by any cause. */
export function byAge(a: EvacuationFacts, b: EvacuationFacts): number {
  return a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1);
}

export function activeEvacuation(
  vmi: VmiFacts,
  evacuations: readonly EvacuationFacts[],
  podUID?: string,
): EvacuationFacts | undefined {
  const active = evacuations.filter((e) => isActive(e) && isAbout(e, vmi, podUID));
  return active.toSorted(byAge)[0];
}

/** Whether one about the pod has ended, and the VMI's mark is still to be taken back. */
export function isReleasePending(vmi: VmiFacts, evacuations: readonly EvacuationFacts[], podUID?: string): boolean {
  return evacuations.some((e) => isToBeReleased(e) && isAbout(e, vmi, podUID));
}

/** Whether that is so, and no other one of the pod continues. */
export function isMarkEnded(vmi: VmiFacts, evacuations: readonly EvacuationFacts[], podUID?: string): boolean {
  return isReleasePending(vmi, evacuations, podUID) && activeEvacuation(vmi, evacuations, podUID) === undefined;
}

/** The newest one about the VMI's pod that ended without a move and whose back-off is not over. */
export function backingOffEvacuation(
  vmi: VmiFacts,
  evacuations: readonly EvacuationFacts[],
  { now, podUID }: { readonly now: Date; readonly podUID?: string | undefined },
): EvacuationFacts | undefined {
  const backingOff = evacuations.filter(
    (e) => !isActive(e) && isAbout(e, vmi, podUID) && Date.parse(e.status.nextAttemptTime ?? "") > now.getTime(),
  );
  return backingOff.toSorted(byAge).at(-1);
}

export interface EvacuationOrigin {
  readonly cause: Cause;
  readonly requestedBy: string;
  readonly pod?: { readonly name?: string; readonly uid: string };
  readonly deadline?: string;
}

/** One that follows another inherits its attempts and the rest of its back-off, unless it has a deadline or a person asks for it. */
export function newEvacuation(
  vmi: VmiFacts,
  { cause, requestedBy, pod, deadline }: EvacuationOrigin,
  { evacuations, now }: { readonly evacuations: readonly EvacuationFacts[]; readonly now: Date },
): NewEvacuation {
  const uid = pod?.uid ?? guestPodUID(vmi);
  const before = backingOffEvacuation(vmi, evacuations, { now, podUID: uid });
  const about = { vmiName: vmi.name, pod: uid === undefined ? undefined : { ...pod, uid } };
  const inherited =
    before === undefined || deadline !== undefined || cause === "Operator" ? undefined : inheritanceOf(before);
  const spec = { ...about, cause, requestedBy, intent: "Evacuate", deadline, inherited } as const;
  const subject = hash8(uid ?? `${vmi.uid}/${vmi.nodeName ?? ""}`);
  const ordinal = 1 + Math.max(0, ...evacuations.map((e) => ordinalOf(e, vmi, subject)));
  return { namespace: vmi.namespace, name: nameOf(vmi, subject, ordinal), spec };
}

/** KubeVirt's webhook marked the VM, and another function saw the mark before the same request was reviewed here. */
export function hasNoRequester({ spec }: NewEvacuation): boolean {
  return spec.requestedBy === FOUND_MARKED;
}

/** To be created once more: that puts the user into the one that is there. */
export function withRequester({ namespace, name, spec }: EvacuationFacts, requestedBy: string): NewEvacuation {
  return { namespace, name, spec: { ...spec, requestedBy } };
}

/** A drain that continues for days fails more often than the definition allows. */
function inheritanceOf({ status }: EvacuationFacts): NonNullable<EvacuationSpec["inherited"]> {
  return {
    attempts: Math.min(status.attempts, EVACUATION_BOUNDS["spec.inherited.attempts"]),
    notBefore: status.nextAttemptTime,
  };
}

function nameOf(vmi: VmiFacts, subject: string, ordinal: number): string {
  return derivedName("", vmi.name, `${subject}-${ordinal}`);
}

export function migrationName({ uid, spec }: EvacuationFacts, attempt: number): string {
  return derivedName(NAME_PREFIX, spec.vmiName, `${hash8(uid)}-${attempt}`);
}

/** 0 for a name that is not of this form, a person's for example. */
function ordinalOf({ name }: EvacuationFacts, vmi: VmiFacts, subject: string): number {
  const ordinal = Number(/-(\d{1,6})$/.exec(name)?.[1] ?? 0);
  return name === nameOf(vmi, subject, ordinal) ? ordinal : 0;
}

export interface Retry {
  /** It backs off, and `spec.retryAt` ends that; or it was given up, and another one starts, which inherits nothing. */
  readonly retry: "TryNow" | "StartNew";
  readonly evacuation: EvacuationFacts;
}

export function retryOf(vmi: VmiFacts, evacuations: readonly EvacuationFacts[]): Retry | undefined {
  const active = activeEvacuation(vmi, evacuations);
  if (active !== undefined)
    return active.status.phase === "BackingOff" ? { retry: "TryNow", evacuation: active } : undefined;
  // One that was cancelled since, as the next request of a drain had started it, takes nothing of that back.
  const abandoned = evacuations.filter((e) => e.status.phase === "Abandoned" && isAbout(e, vmi));
  const last = abandoned.toSorted(byAge).at(-1);
  return last === undefined ? undefined : { retry: "StartNew", evacuation: last };
}
