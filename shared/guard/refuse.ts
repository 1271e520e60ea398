/** Refuses a deletion for now: when its requester is to ask again, its message, and the Evacuation that the first refusal starts. */
import { type Action, recordEvent } from "../kube/action.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { PodFacts, VmiFacts } from "../kube/facts.ts";
import type { Moment } from "../settings/time.ts";
import { type DeletionTerms, type Disruption, type KnownDisruption, knownDisruptions } from "./disruption-cause.ts";
import { newEvacuation } from "../evacuation/identity.ts";
import { markActions } from "../evacuation/mark.ts";
import { isMigrationTarget } from "../kube/objects.ts";

export interface Refusal {
  readonly verdict: "Refuse";
  /**
   * Seconds after which the requester's own client asks again: one request and ten retries, as client-go does. Absent: the requester is
   * to stop, for it spins at the speed of the network otherwise.
   */
  readonly retryAfterSeconds?: number;
  readonly message: string;
  /** Done before the answer. */
  readonly actions: readonly Action[];
  readonly events: readonly Action[];
}

export interface RefusalFacts extends Moment, DeletionTerms {
  /** As it was when the deletion was asked for. */
  readonly pod: PodFacts;
  /** The launcher pod that owns a hotplug pod. */
  readonly launcher?: PodFacts;
  /** Every Evacuation that names the VMI, read at the same time as it. */
  readonly evacuations: readonly EvacuationFacts[];
}

/** While the migration runs, and where nothing is known or there is no room for a review: as often as a drain repeats its evictions. */
export const RETRY_SECONDS = 5;
/** After the first refusal: KubeVirt needs seconds to begin, and a guest some more. */
const FIRST_RETRY_SECONDS = 10;
/** Of a VM that waits in KubeVirt's queue. Eleven requests cover a preemption's deadline so, in one round of the scheduler. */
const QUEUED_RETRY_SECONDS = 15;

export function refuse(f: RefusalFacts, vmi: VmiFacts, disruption: Disruption): Refusal {
  const { pod, launcher = pod } = f;
  const { cause, deadline } = disruption;
  const known = knownDisruptions({ ...f, vmi, podUID: launcher.uid }, f.now);
  const mine = known.find((one) => one.cause === cause);
  const until = new Date(deadline).toISOString();
  const refusal = {
    verdict: "Refuse",
    retryAfterSeconds: retryAfterSeconds(vmi, mine, (deadline - f.now.getTime()) / 1000),
    message:
      `deletion of pod "${pod.name}" (cause ${cause}) waits until VMI "${vmi.namespace}/${vmi.name}" has moved, ` +
      `until ${until} at the longest`,
  } as const;
  // The target of a migration: its VM is not on that node yet, and a later deletion marks it once it is.
  const isStarted = mine !== undefined || known.some(isBackingOff) || isMigrationTarget(launcher, vmi);
  if (isStarted) return { ...refusal, actions: [], events: [] };
  const { name, actions } = startDisruption(
    vmi,
    { cause, deadline, launcher, requestedBy: f.requester },
    f.evacuations,
    f,
  );
  const message =
    `${f.requester} deletes pod ${pod.name} (cause ${cause}): refused until the VM has left node ${vmi.nodeName}, ` +
    `until ${until} at the longest`;
  return { ...refusal, actions, events: [recordEvent(vmi, "DeletionRefused", message, name)] };
}

/** It has just ended without a move: no new one begins before its back-off is over. */
function isBackingOff({ evacuation }: KnownDisruption): boolean {
  return !isActive(evacuation) && evacuation.status.phase !== "Duplicate";
}

/**
 * At each retry Lifeboat has to answer, or the webhook's failurePolicy `Ignore` allows it: so as few as serve. Never past the
 * deadline.
 */
function retryAfterSeconds(vmi: VmiFacts, known: KnownDisruption | undefined, secondsLeft: number): number {
  const pause = known === undefined ? FIRST_RETRY_SECONDS : QUEUED_RETRY_SECONDS;
  return Math.max(1, Math.ceil(Math.min(vmi.isMigrating ? RETRY_SECONDS : pause, secondsLeft)));
}

interface Chosen extends Disruption {
  readonly launcher: PodFacts;
  readonly requestedBy: string;
}

/** An evacuation that a drain began before continues: the new one ends as its Duplicate, and its deadline counts. */
export function startDisruption(
  vmi: VmiFacts,
  { cause, requestedBy, launcher, deadline }: Chosen,
  /** Every one that names the VMI. */
  evacuations: readonly EvacuationFacts[],
  { settings, now }: Moment,
) {
  const pod = { name: launcher.name, uid: launcher.uid };
  const beginning = { cause, requestedBy, pod, deadline: new Date(deadline).toISOString() };
  const evacuation = newEvacuation(vmi, beginning, { evacuations, now });
  const create: Action = { verb: "CreateEvacuation", evacuation, optional: true };
  return { name: evacuation.name, actions: [create, ...markActions(vmi, cause, settings)] };
}
