/** A case: an Evacuation that is decided on, its VM, and what the rules ask about both; and the shape of what is decided. */
import type { Facts } from "../facts/facts.ts";
import { migrationsOf, podsOf } from "../facts/questions.ts";
import type { Action } from "../kube/action.ts";
import type { MigrationFacts, NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import { byAge, guestPodUID, podUIDOf, sourceNodeOf } from "./identity.ts";
import { MIGRATES, strategyOf } from "../settings/strategy.ts";
import type { EvacuationFacts, EvacuationStatus, Phase } from "../kube/evacuation.ts";
import { type Deciding, secondsSince } from "../settings/time.ts";
import { isFinal, named } from "../kube/objects.ts";

/** The subject of a decision. The rules ask for all other facts. */
export interface EvacuationWorld extends Deciding {
  readonly vmis: readonly VmiFacts[];
  /** Every one that names one of these VMIs, ended ones included; and those whose VMI is missing. They were read before the VMIs. */
  readonly evacuations: readonly EvacuationFacts[];
  /** Whether watches show each change: then a migration is seen when it appears, and annotating it replaces a status write. */
  readonly isWatched?: boolean | undefined;
}

export interface EvacuationCase {
  readonly e: EvacuationFacts;
  readonly vmi: VmiFacts;
  /** Migrations of the VMI, finished ones included. */
  readonly migrations: readonly MigrationFacts[];
  /** The one of these that has not ended: of two, of KubeVirt and of Lifeboat, the one that KubeVirt lets move the VM. */
  readonly migration: MigrationFacts | undefined;
  readonly w: EvacuationWorld;
}

export interface Next {
  readonly phase: Phase;
  readonly reason: string;
  readonly message: string;
  readonly more?: Partial<EvacuationStatus>;
  /** Whether KubeVirt leaves its migration alone; undefined: as it was. */
  readonly stalled?: boolean | undefined;
  /** For an ended Evacuation: false if its cleanup is not complete. */
  readonly released?: boolean;
  readonly actions?: readonly Action[];
  readonly after?: readonly Action[];
}

/** `Wait`: nothing is done until the next reconcile. */
export type Rule = (f: EvacuationCase) => Next | "Wait" | undefined;

/** Undefined: there is no VMI of this name. */
export function caseOf(e: EvacuationFacts, w: EvacuationWorld): EvacuationCase | undefined {
  const vmi = w.vmis.find(({ namespace, name }) => namespace === e.namespace && name === e.spec.vmiName);
  return vmi && newCase(e, vmi, w);
}

/** Asks for the migrations when a rule looks at them. */
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

/** As far as counting can continue: the API server takes no number beyond 32 bits, and refuses the whole status with it. */
const MOST_ATTEMPTS = 2 ** 30;

/** An inherited number of attempts is where counting starts. */
export function inheritedAttempts({ status, spec }: EvacuationFacts): number {
  return Math.min(Math.max(status.attempts, spec.inherited?.attempts ?? 0), MOST_ATTEMPTS);
}

/** Past its deadline a deletion that comes is allowed. It comes after the longest pause that a refusal names, or at the start of a round. */
export const LATEST_SECONDS = 30;

/** Whether the scheduler has given the preemption up, unless it is deleting the pod by now. */
export function isPreemptionOverdue({ spec }: EvacuationFacts, now: Date): boolean {
  return spec.cause === "Preemption" && secondsSince(spec.deadline, now) >= LATEST_SECONDS;
}

const SLOW_SECONDS = 60;

/** A VM that has not left for so long may be one that cannot: its node tells whether virt-handler runs there. */
export function isSlow({ createdAt }: EvacuationFacts, now: Date): boolean {
  return secondsSince(createdAt, now) >= SLOW_SECONDS;
}

export function isOfTaint({ spec: { cause } }: EvacuationFacts): boolean {
  return cause === "DrainTaint" || cause === "NoExecuteTaint";
}

/** The taint manager or the scheduler may delete the pod, or may have given that up: the pod tells. */
export function isPodDecisive(e: EvacuationFacts, now: Date): boolean {
  return e.spec.cause === "NoExecuteTaint" || isPreemptionOverdue(e, now);
}

/** Its external controller may try again, or shut the VM down in order: so its migrations are never counted, deleted or doubled. */
export function isExternal({ vmi, w }: EvacuationCase): boolean {
  return !MIGRATES[strategyOf(vmi, w.settings)];
}

/** One that counts if it fails: not the external controller's, nor one to another namespace or cluster. */
export function attemptOf(f: EvacuationCase): MigrationFacts | undefined {
  return isExternal(f) || f.migration?.decentralized !== undefined ? undefined : f.migration;
}

/** The VMI will show the new pod in a moment, or end: what was asked for meanwhile may be about the new pod. */
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

/** Whether its cause may be over before the VM has left: then its Duplicates say what the VM still has to leave for. */
export function mayBeOver(e: EvacuationFacts): boolean {
  return isOfTaint(e) || e.spec.cause === "Preemption";
}

/** By another cause, whose Evacuation has ended as this one's Duplicate. */
export function isWantedBesides({ e, w }: EvacuationCase): boolean {
  return w.evacuations.some((other) => {
    const isDuplicate = other.status.phase === "Duplicate" && podUIDOf(other) === podUIDOf(e) && byAge(e, other) < 0;
    return isDuplicate && other.namespace === e.namespace && other.spec.cause !== e.spec.cause;
  });
}

/** Undefined: it is on none, or its node is gone. */
export function nodeOf({ nodeName }: Pick<VmiFacts, "nodeName">, facts: Facts): NodeFacts | undefined {
  return nodeName === undefined ? undefined : facts.get("nodes", named(nodeName));
}

/** The pod that has to leave, while KubeVirt lists it among the VM's. */
export function podOf({ e, vmi, w }: EvacuationCase): PodFacts | undefined {
  return podsOf(vmi, w.facts).find(({ uid }) => uid === podUIDOf(e));
}
