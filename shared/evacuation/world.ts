/** What is known when an Evacuation is decided on, and the shape of what is decided. */
import type { Refusal } from "../budget/refusal.ts";
import type { Action } from "../kube/action.ts";
import type { BudgetFacts, MigrationFacts } from "../kube/facts.ts";
import type { NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import type { NodeEvacuationFacts, VirtualMachineFacts } from "../kube/node-evacuation.ts";
import type { SeenEvent } from "../kube/seen-event.ts";
import { byAge, guestPodUID, podUIDOf, sourceNodeOf } from "./identity.ts";
import { MIGRATES, strategyOf } from "../settings/strategy.ts";
import type { EvacuationFacts, EvacuationStatus, Phase } from "../kube/evacuation.ts";
import { type Moment, secondsSince } from "../settings/time.ts";
import { isFinal } from "../kube/objects.ts";

export interface EvacuationWorld extends Moment {
  readonly vmis: readonly VmiFacts[];
  /** Every one that names one of these VMIs, ended ones included; and those whose VMI is missing. */
  readonly evacuations: readonly EvacuationFacts[];
  readonly migrations: readonly MigrationFacts[];
  readonly budgets: readonly BudgetFacts[];
  /** Launcher pods of the VMIs, where a rule needs them: see `needsPods`. */
  readonly pods: readonly PodFacts[];
  /** The VMIs' nodes, where a rule needs them: see `needsNode`. */
  readonly nodes: readonly NodeFacts[];
  readonly queues?: ReadonlyMap<string, MigrationQueue>;
  /** By UIDs of Evacuations that restart or stop a VM, where a row of asked.ts depends on it. Absent: not read. */
  readonly asking?: ReadonlyMap<string, Asking>;
  /** Events of VMIs and target pods that have not started. Absent: not read. */
  readonly events?: readonly SeenEvent[];
  /** Whether the VMIs were read after the Evacuations: only then does a missing mark mean that it was removed. */
  readonly vmisAreNewer: boolean;
  /** Whether watches show each change: then a migration is seen when it appears, and annotating it replaces a status write. */
  readonly isWatched?: boolean | undefined;
}

/** Facts for a request to KubeVirt to restart, stop or start a VM. Undefined: the object does not exist. */
export interface Asking {
  readonly vm: VirtualMachineFacts | undefined;
  readonly ne: NodeEvacuationFacts | undefined;
  readonly node: NodeFacts | undefined;
  /** Why an eviction of its pod would be refused. */
  readonly refusal?: Refusal | undefined;
}

/** Counts running migrations as KubeVirt does: migrations with a target pod. */
export interface MigrationQueue {
  readonly running: number;
  readonly leaving: number;
}

export interface EvacuationCase {
  readonly e: EvacuationFacts;
  readonly vmi: VmiFacts;
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
  /** Of an end: False if something of it is still to be taken back. */
  readonly released?: boolean;
  readonly actions?: readonly Action[];
  readonly after?: readonly Action[];
}

/** `StaleRead`: the VMI was read too early to tell, and nothing is done until the next reconcile. */
export type Rule = (f: EvacuationCase) => Next | "StaleRead" | undefined;

export function factsOf(e: EvacuationFacts, w: EvacuationWorld): EvacuationCase | undefined {
  const isOfVmi = (name: string, { namespace }: { readonly namespace: string }) =>
    namespace === e.namespace && name === e.spec.vmiName;
  const vmi = w.vmis.find((one) => isOfVmi(one.name, one));
  const migrations = w.migrations.filter((m) => isOfVmi(m.vmiName, m));
  const open = migrations.filter((m) => !isFinal(m));
  return vmi && { e, vmi, migrations, migration: open.find((m) => !isQueued(m)) ?? open[0], w };
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

/** A VM that has not left for so long may be one that cannot: its node tells whether virt-handler runs there. */
const SLOW_SECONDS = 60;

export function needsNode({ spec, createdAt }: EvacuationFacts, now: Date): boolean {
  const isOfTaint = spec.cause === "DrainTaint" || spec.cause === "NoExecuteTaint";
  return isOfTaint || secondsSince(createdAt, now) >= SLOW_SECONDS;
}

export function needsPods(e: EvacuationFacts, now: Date): boolean {
  return e.spec.cause === "NoExecuteTaint" || isPreemptionOverdue(e, now);
}

/** A target pod may say why it does not start, or a second launcher pod may keep KubeVirt from creating one. */
export function needsTarget({ activePods }: VmiFacts, migrations: readonly MigrationFacts[]): boolean {
  const hasSeveral = Object.keys(activePods).length > 1;
  return migrations.some((m) => m.phase === "Scheduling" || (hasSeveral && isQueued(m)));
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
export function mayBeOver({ spec: { cause } }: EvacuationFacts): boolean {
  return cause === "DrainTaint" || cause === "NoExecuteTaint" || cause === "Preemption";
}

/** By another cause, whose Evacuation has ended as this one's Duplicate. */
export function isWantedBesides({ e, w }: EvacuationCase): boolean {
  return w.evacuations.some((other) => {
    const isDuplicate = other.status.phase === "Duplicate" && podUIDOf(other) === podUIDOf(e) && byAge(e, other) < 0;
    return isDuplicate && other.namespace === e.namespace && other.spec.cause !== e.spec.cause;
  });
}

export function nodeOf({ vmi, w }: EvacuationCase) {
  return w.nodes.find(({ name }) => name === vmi.nodeName);
}

export function podOf({ e, vmi, w }: EvacuationCase) {
  return w.pods.find(({ namespace, uid }) => namespace === vmi.namespace && uid === podUIDOf(e));
}
