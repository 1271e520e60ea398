/** Defines the facts on which the rules decide, and the shape of a decision. */
import type { Facts } from "../facts/facts.ts";
import { migrationsOf, podsOf } from "../facts/questions.ts";
import type { Action } from "../kube/action.ts";
import type { MigrationFacts, NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import { byAge, guestPodUID, podUIDOf, sourceNodeOf } from "./identity.ts";
import { MIGRATES, strategyOf } from "../settings/strategy.ts";
import type { EvacuationFacts, EvacuationStatus, Phase } from "../kube/evacuation.ts";
import { type Deciding, secondsSince } from "../settings/time.ts";
import { isFinal, named } from "../kube/objects.ts";

/** The VMIs and Evacuations to decide about. Rules read all other facts when needed. */
export interface EvacuationWorld extends Deciding {
  readonly vmis: readonly VmiFacts[];
  /**
   * All Evacuations of these VMIs, including Evacuations that have ended, and Evacuations whose VMI no longer exists.
   * Lifeboat reads the Evacuations before the VMIs.
   */
  readonly evacuations: readonly EvacuationFacts[];
  /** True if this process watches migrations. If true, Lifeboat annotates migrations that have no cause yet. */
  readonly isWatched?: boolean | undefined;
}

export interface EvacuationCase {
  readonly e: EvacuationFacts;
  readonly vmi: VmiFacts;
  /** All migrations of the VMI, including finished migrations. */
  readonly migrations: readonly MigrationFacts[];
  /** The unfinished migration. If there are two, this is the migration that KubeVirt uses. */
  readonly migration: MigrationFacts | undefined;
  readonly w: EvacuationWorld;
}

export interface Next {
  readonly phase: Phase;
  readonly reason: string;
  readonly message: string;
  readonly more?: Partial<EvacuationStatus>;
  /**
   * True if KubeVirt has not started the migration although KubeVirt's limits allow the start. If undefined, the
   * condition Stalled is not changed.
   */
  readonly stalled?: boolean | undefined;
  /** Whether the cleanup of an ended Evacuation is complete. */
  readonly released?: boolean;
  readonly actions?: readonly Action[];
  readonly after?: readonly Action[];
}

/**
 * Returns the next step, or `Wait` if Lifeboat must do nothing until the next reconcile. Returns undefined if the rule
 * does not apply.
 */
export type Rule = (f: EvacuationCase) => Next | "Wait" | undefined;

/** Returns the facts for an Evacuation. Returns undefined if the VMI is missing. */
export function caseOf(e: EvacuationFacts, w: EvacuationWorld): EvacuationCase | undefined {
  const vmi = w.vmis.find(({ namespace, name }) => namespace === e.namespace && name === e.spec.vmiName);
  return vmi && newCase(e, vmi, w);
}

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

/** The maximum number of attempts in a status. The API server refuses a status with a number that exceeds 32 bits. */
const MOST_ATTEMPTS = 2 ** 30;

/** Returns the number of failed attempts, including attempts of the VM's earlier Evacuation. */
export function inheritedAttempts({ status, spec }: EvacuationFacts): number {
  return Math.min(Math.max(status.attempts, spec.inherited?.attempts ?? 0), MOST_ATTEMPTS);
}

/** For this number of seconds after the deadline, the requester or the scheduler might still delete the pod. */
export const LATEST_SECONDS = 30;

/**
 * Returns whether the preemption's deadline has long passed. If it has, Lifeboat checks whether the scheduler is still
 * deleting the pod.
 */
export function isPreemptionOverdue({ spec }: EvacuationFacts, now: Date): boolean {
  return spec.cause === "Preemption" && secondsSince(spec.deadline, now) >= LATEST_SECONDS;
}

const SLOW_SECONDS = 60;

/**
 * Returns whether the evacuation takes unusually long. If it does, Lifeboat checks whether virt-handler runs on the
 * node.
 */
export function isSlow({ createdAt }: EvacuationFacts, now: Date): boolean {
  return secondsSince(createdAt, now) >= SLOW_SECONDS;
}

export function isOfTaint({ spec: { cause } }: EvacuationFacts): boolean {
  return cause === "DrainTaint" || cause === "NoExecuteTaint";
}

/** Returns whether the next step depends on the pod's conditions. */
export function isPodDecisive(e: EvacuationFacts, now: Date): boolean {
  return e.spec.cause === "NoExecuteTaint" || isPreemptionOverdue(e, now);
}

/**
 * Returns whether an external controller moves the VM. If it does, Lifeboat neither creates nor deletes migrations of
 * the VM, because the controller might try again or shut the VM down.
 */
export function isExternal({ vmi, w }: EvacuationCase): boolean {
  return !MIGRATES[strategyOf(vmi, w.settings)];
}

/** Returns the unfinished migration if Lifeboat would record its failure as a failed attempt. */
export function attemptOf(f: EvacuationCase): MigrationFacts | undefined {
  return isExternal(f) || f.migration?.decentralized !== undefined ? undefined : f.migration;
}

/** Returns whether the migration has finished but the VMI does not show the new node yet. */
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

/** Returns whether the cause can disappear before the VM has moved. */
export function mayBeOver(e: EvacuationFacts): boolean {
  return isOfTaint(e) || e.spec.cause === "Preemption";
}

/**
 * Returns whether the VM has to move for a second cause, too. The Evacuation with the second cause ended as a
 * Duplicate, because this Evacuation is older.
 */
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

/** Returns the pod that the VM has to leave. Returns undefined if the pod no longer exists. */
export function podOf({ e, vmi, w }: EvacuationCase): PodFacts | undefined {
  return podsOf(vmi, w.facts).find(({ uid }) => uid === podUIDOf(e));
}
