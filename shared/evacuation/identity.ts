/**
 * The pod and the name of an `Evacuation`. The name depends only on the pod and a counter, so that two processes create
 * the same object.
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
 * Returns the UID of the pod in which the guest runs: the only pod in `status.activePods` on the VMI's node. Undefined:
 * the node has no pod of the VMI, or two pods.
 */
export function guestPodUID({ activePods, nodeName }: VmiFacts): string | undefined {
  const here = Object.entries(activePods).filter(([, node]) => node === nodeName);
  return here.length === 1 ? here[0]?.[0] : undefined;
}

export function podUIDOf({ spec, status }: EvacuationFacts): string | undefined {
  return status.podUID ?? spec.pod?.uid;
}

/** Returns the node of the pod that has to leave. Returns undefined if KubeVirt no longer lists the pod. */
export function sourceNodeOf(evacuation: EvacuationFacts, { activePods, nodeName }: VmiFacts): string | undefined {
  const uid = podUIDOf(evacuation);
  if (uid === undefined || Object.keys(activePods).length === 0) return nodeName;
  // The UID is looked up safely, because the Evacuation's creator may have written any text, such as `__proto__`.
  return Object.hasOwn(activePods, uid) ? activePods[uid] : undefined;
}

/**
 * Returns whether the Evacuation is about the pod in which the guest runs now. If either pod is unknown, compares the
 * source node with the VMI's node.
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

/** Sorts Evacuations, the oldest first. If several are active for one pod, only the oldest continues, for any cause. */
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

/** Returns whether an Evacuation of the pod has ended, but Lifeboat has not yet removed the VM's mark. */
export function isReleasePending(vmi: VmiFacts, evacuations: readonly EvacuationFacts[], podUID?: string): boolean {
  return evacuations.some((e) => isToBeReleased(e) && isAbout(e, vmi, podUID));
}

/** Returns whether the mark of an ended Evacuation remains, and no other Evacuation of the pod is active. */
export function isMarkEnded(vmi: VmiFacts, evacuations: readonly EvacuationFacts[], podUID?: string): boolean {
  return isReleasePending(vmi, evacuations, podUID) && activeEvacuation(vmi, evacuations, podUID) === undefined;
}

/** Returns the newest Evacuation of the VMI's pod that ended without a move and whose back-off is not over. */
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
 * Makes an Evacuation, which inherits attempts and back-off of the former Evacuation. An Evacuation inherits nothing if
 * it has a deadline or if a person requested it.
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
 * Returns whether the Evacuation names no requester. This happens if another process saw KubeVirt's mark before
 * Lifeboat reviewed the eviction.
 */
export function hasNoRequester({ spec }: NewEvacuation): boolean {
  return spec.requestedBy === FOUND_MARKED;
}

/**
 * Makes a copy of an existing Evacuation with another requester, under the same name. If the copy cannot be created
 * because the name is taken, Lifeboat adds the requester to the existing Evacuation.
 */
export function withRequester({ namespace, name, spec }: EvacuationFacts, requestedBy: string): NewEvacuation {
  return { namespace, name, spec: { ...spec, requestedBy } };
}

/**
 * Returns the attempts and the back-off to inherit. The CRD limits the attempts, and a VM may fail more often during a
 * drain of several days.
 */
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

/** Returns the counter in the name. Returns 0 for a name without a counter, for example a name that a person chose. */
function ordinalOf({ name }: EvacuationFacts, vmi: VmiFacts, subject: string): number {
  const ordinal = Number(/-(\d{1,6})$/.exec(name)?.[1] ?? 0);
  return name === nameOf(vmi, subject, ordinal) ? ordinal : 0;
}

export interface Retry {
  /**
   * `TryNow`: the evacuation backs off, and `spec.retryAt` ends the back-off. `StartNew`: the evacuation was given up,
   * and a new one starts without its attempts.
   */
  readonly retry: "TryNow" | "StartNew";
  readonly evacuation: EvacuationFacts;
}

export function retryOf(vmi: VmiFacts, evacuations: readonly EvacuationFacts[]): Retry | undefined {
  const active = activeEvacuation(vmi, evacuations);
  if (active !== undefined)
    return active.status.phase === "BackingOff" ? { retry: "TryNow", evacuation: active } : undefined;
  // The last Evacuation that was given up can be retried, even if a person has cancelled a later Evacuation.
  const abandoned = evacuations.filter((e) => e.status.phase === "Abandoned" && isAbout(e, vmi));
  const last = abandoned.toSorted(byAge).at(-1);
  return last === undefined ? undefined : { retry: "StartNew", evacuation: last };
}
