/**
 * Finds the pod of an Evacuation, and computes the name of a new Evacuation. Two processes that have read the same
 * Evacuations of a VM compute the same name for the same pod.
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

/**
 * Returns the UID of the pod in which the guest runs: the only pod in `status.activePods` that is on the VMI's node.
 * Returns undefined if no pod or several pods are on this node.
 */
export function guestPodUID({ activePods, nodeName }: VmiFacts): string | undefined {
  const here = Object.entries(activePods).filter(([, node]) => node === nodeName);
  return here.length === 1 ? here[0]?.[0] : undefined;
}

export function podUIDOf({ spec, status }: EvacuationFacts): string | undefined {
  return status.podUID ?? spec.pod?.uid;
}

/**
 * Returns the VMI's node if the Evacuation names no pod, or if `status.activePods` of the VMI is empty. Otherwise,
 * returns the node of the Evacuation's pod, or undefined if `activePods` does not contain the pod.
 */
export function sourceNodeOf(evacuation: EvacuationFacts, { activePods, nodeName }: VmiFacts): string | undefined {
  const uid = podUIDOf(evacuation);
  if (uid === undefined || Object.keys(activePods).length === 0) return nodeName;
  // The UID can be any text, for example `__proto__`.
  return Object.hasOwn(activePods, uid) ? activePods[uid] : undefined;
}

/**
 * Returns whether the guest still runs in the Evacuation's pod. Compares the nodes if the pod of the guest or of the
 * Evacuation is unknown.
 */
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

/**
 * Compares two Evacuations by creation time, then by name. If a pod has several active Evacuations, only the oldest
 * continues.
 */
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

/** Returns whether an Evacuation of the pod has ended, but has not been cleaned up yet. */
export function isReleasePending(vmi: VmiFacts, evacuations: readonly EvacuationFacts[], podUID?: string): boolean {
  return evacuations.some((e) => isToBeReleased(e) && isAbout(e, vmi, podUID));
}

/** Returns true if no Evacuation is active, but an ended Evacuation might have left its evacuationNodeName set. */
export function isMarkEnded(vmi: VmiFacts, evacuations: readonly EvacuationFacts[], podUID?: string): boolean {
  return isReleasePending(vmi, evacuations, podUID) && activeEvacuation(vmi, evacuations, podUID) === undefined;
}

/** Returns the newest of the pod's Evacuations that have ended without a move and whose back-off is not over. */
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

/**
 * Makes an Evacuation. If the back-off of the pod's earlier Evacuation is not over, the new Evacuation inherits the
 * number of attempts and the back-off. It inherits nothing if it has a deadline, or if a person requested it.
 */
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

/**
 * Returns whether the Evacuation's requester is unknown, because Lifeboat created the Evacuation when it found an
 * evacuationNodeName that KubeVirt had set.
 */
export function hasNoRequester({ spec }: NewEvacuation): boolean {
  return spec.requestedBy === FOUND_MARKED;
}

/**
 * Makes a copy of an Evacuation with the same name and another requester. If the original is still active when Lifeboat
 * creates the copy, Lifeboat only adds the requester to the original.
 */
export function withRequester({ namespace, name, spec }: EvacuationFacts, requestedBy: string): NewEvacuation {
  return { namespace, name, spec: { ...spec, requestedBy } };
}

/** Returns the attempts and the back-off for a new Evacuation. The CRD limits the number of attempts. */
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

/** Returns the number at the end of an Evacuation's name. Returns 0 for a name that a person chose. */
function ordinalOf({ name }: EvacuationFacts, vmi: VmiFacts, subject: string): number {
  const ordinal = Number(/-(\d{1,6})$/.exec(name)?.[1] ?? 0);
  return name === nameOf(vmi, subject, ordinal) ? ordinal : 0;
}

export interface Retry {
  /**
   * `TryNow`: the evacuation backs off, and `spec.retryAt` ends the back-off. `StartNew`: the evacuation was abandoned,
   * and a new evacuation counts its attempts from zero.
   */
  readonly retry: "TryNow" | "StartNew";
  readonly evacuation: EvacuationFacts;
}

export function retryOf(vmi: VmiFacts, evacuations: readonly EvacuationFacts[]): Retry | undefined {
  const active = activeEvacuation(vmi, evacuations);
  if (active !== undefined)
    return active.status.phase === "BackingOff" ? { retry: "TryNow", evacuation: active } : undefined;
  // An abandoned Evacuation can be retried even if a later Evacuation was cancelled.
  const abandoned = evacuations.filter((e) => e.status.phase === "Abandoned" && isAbout(e, vmi));
  const last = abandoned.toSorted(byAge).at(-1);
  return last === undefined ? undefined : { retry: "StartNew", evacuation: last };
}
