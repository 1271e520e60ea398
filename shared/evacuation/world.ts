/** The case that the rules decide on: an Evacuation, its VM and the facts about both; and the form of a decision. */
import type { Facts } from "../facts/facts.ts";
import { migrationsOf, podsOf } from "../facts/questions.ts";
import type { Action } from "../kube/action.ts";
import type { MigrationFacts, NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import { byAge, guestPodUID, podUIDOf, sourceNodeOf } from "./identity.ts";
import { MIGRATES, strategyOf } from "../settings/strategy.ts";
import type { EvacuationFacts, EvacuationStatus, Phase } from "../kube/evacuation.ts";
import { type Deciding, secondsSince } from "../settings/time.ts";
import { isFinal, named } from "../kube/objects.ts";

/** The VMIs and Evacuations to decide about. The rules read all other facts on demand. */
export interface EvacuationWorld extends Deciding {
  readonly vmis: readonly VmiFacts[];
  /**
   * Every Evacuation that names one of these VMIs, including ended Evacuations and Evacuations whose VMI is missing.
   * Lifeboat reads them before the VMIs.
   */
  readonly evacuations: readonly EvacuationFacts[];
  /**
   * Whether watches show each change. Lifeboat then sees a migration at its creation, and annotates the migration
   * instead of writing a status.
   */
  readonly isWatched?: boolean | undefined;
}

export interface EvacuationCase {
  readonly e: EvacuationFacts;
  readonly vmi: VmiFacts;
  /** Migrations of the VMI, including finished ones. */
  readonly migrations: readonly MigrationFacts[];
  /**
   * The unfinished migration. If KubeVirt and Lifeboat have each created a migration, the migration that KubeVirt uses.
   */
  readonly migration: MigrationFacts | undefined;
  readonly w: EvacuationWorld;
}

export interface Next {
  readonly phase: Phase;
  readonly reason: string;
  readonly message: string;
  readonly more?: Partial<EvacuationStatus>;
  /** Whether KubeVirt ignores the migration. Undefined: the condition Stalled stays unchanged. */
  readonly stalled?: boolean | undefined;
  /** False: the cleanup of an ended Evacuation is not complete. */
  readonly released?: boolean;
  readonly actions?: readonly Action[];
  readonly after?: readonly Action[];
}

/** `Wait`: Lifeboat does nothing until the next reconcile. */
export type Rule = (f: EvacuationCase) => Next | "Wait" | undefined;

/** Returns the case of an Evacuation. Returns undefined if its VMI is missing. */
export function caseOf(e: EvacuationFacts, w: EvacuationWorld): EvacuationCase | undefined {
  const vmi = w.vmis.find(({ namespace, name }) => namespace === e.namespace && name === e.spec.vmiName);
  return vmi && newCase(e, vmi, w);
}

/** Makes a case that reads the migrations when a rule first needs them. */
function newCase(e: EvacuationFacts, vmi: VmiFacts, w: EvacuationWorld): EvacuationCase {
  return {
    e,
    vmi,
    w,
    get migrations() {
      return migrationsOf(vmi, w.facts);
    },
    get migration() {
      const open = this.migrations.filter((m) => !isFinal(m));
      return open.find((m) => !isQueued(m)) ?? open[0];
    },
  };
}

export function isQueued({ phase }: MigrationFacts): boolean {
  return phase === "" || phase === "Pending";
}

/** The maximum number of attempts in a status. The API server refuses a whole status if one number exceeds 32 bits. */
const MOST_ATTEMPTS = 2 ** 30;

/** Returns the inherited number of attempts, from which counting starts. */
export function inheritedAttempts({ status, spec }: EvacuationFacts): number {
  return Math.min(Math.max(status.attempts, spec.inherited?.attempts ?? 0), MOST_ATTEMPTS);
}

/**
 * The time after a disruption's deadline, in seconds, in which the disruption may still delete the pod. A requester
 * retries only after the delay in the refusal. The scheduler retries only in its next round.
 */
export const LATEST_SECONDS = 30;

/**
 * Returns whether the preemption's deadline is long over. Lifeboat then reads the pod, to see whether the scheduler is
 * still deleting the pod.
 */
export function isPreemptionOverdue({ spec }: EvacuationFacts, now: Date): boolean {
  return spec.cause === "Preemption" && secondsSince(spec.deadline, now) >= LATEST_SECONDS;
}

const SLOW_SECONDS = 60;

/**
 * Returns whether the VM should have left long ago. Lifeboat then reads the node, to see whether virt-handler runs on
 * the node.
 */
export function isSlow({ createdAt }: EvacuationFacts, now: Date): boolean {
  return secondsSince(createdAt, now) >= SLOW_SECONDS;
}

export function isOfTaint({ spec: { cause } }: EvacuationFacts): boolean {
  return cause === "DrainTaint" || cause === "NoExecuteTaint";
}

/**
 * Returns whether the next step depends on the pod's conditions, which show whether the taint manager or the scheduler
 * is still deleting the pod.
 */
export function isPodDecisive(e: EvacuationFacts, now: Date): boolean {
  return e.spec.cause === "NoExecuteTaint" || isPreemptionOverdue(e, now);
}

/**
 * Returns whether an external controller moves the VM. The controller may try again or shut the VM down, so Lifeboat
 * leaves the controller's migrations alone and creates no migration.
 */
export function isExternal({ vmi, w }: EvacuationCase): boolean {
  return !MIGRATES[strategyOf(vmi, w.settings)];
}

/**
 * Returns the unfinished migration if its failure would be a failed attempt. Migrations of external controllers, and
 * migrations to another namespace or cluster, are no attempts.
 */
export function attemptOf(f: EvacuationCase): MigrationFacts | undefined {
  return isExternal(f) || f.migration?.decentralized !== undefined ? undefined : f.migration;
}

/**
 * Returns whether the VMI does not show the finished migration yet. The guest's pod is then still the pod that has to
 * leave.
 */
export function isShownLater({ e, vmi }: EvacuationCase, { targetNode }: MigrationFacts): boolean {
  const guest = guestPodUID(vmi);
  return guest !== undefined && guest === podUIDOf(e) && vmi.nodeName !== targetNode;
}

export function isElsewhere({ e, vmi }: EvacuationCase): boolean {
  const [pod, guest] = [podUIDOf(e), guestPodUID(vmi)];
  if (pod !== undefined && guest !== undefined) return pod !== guest;
  const from = e.status.sourceNode ?? sourceNodeOf(e, vmi);
  return vmi.nodeName !== undefined && from !== vmi.nodeName;
}

/**
 * Returns whether the cause may end before the VM leaves. Evacuations that ended as Duplicates of this Evacuation may
 * have another cause, which remains.
 */
export function mayBeOver(e: EvacuationFacts): boolean {
  return isOfTaint(e) || e.spec.cause === "Preemption";
}

/** Returns whether another Evacuation, which ended as a Duplicate of this Evacuation, still wants the VM to leave. */
export function isWantedBesides({ e, w }: EvacuationCase): boolean {
  return w.evacuations.some((other) => {
    const isDuplicate = other.status.phase === "Duplicate" && podUIDOf(other) === podUIDOf(e) && byAge(e, other) < 0;
    return isDuplicate && other.namespace === e.namespace && other.spec.cause !== e.spec.cause;
  });
}

/** Returns the VM's node. Returns undefined if the VM has no node or the node no longer exists. */
export function nodeOf({ nodeName }: Pick<VmiFacts, "nodeName">, facts: Facts): NodeFacts | undefined {
  return nodeName === undefined ? undefined : facts.get("nodes", named(nodeName));
}

/** Returns the pod that has to leave, if KubeVirt still lists it. */
export function podOf({ e, vmi, w }: EvacuationCase): PodFacts | undefined {
  return podsOf(vmi, w.facts).find(({ uid }) => uid === podUIDOf(e));
}
