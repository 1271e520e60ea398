/** The facts on which evacuations are decided, and writing what was decided. */
import { isPreemptionOverdue } from "./preemption-over.ts";
import type { Action } from "../action.ts";
import type { MigrationQueue } from "./attempt.ts";
import type { BudgetFacts, EvacuationFacts, MigrationFacts, NodeFacts, PodFacts, VmiFacts } from "../facts.ts";
import type { EndPhase } from "./phase.ts";
import { type Change, isChanged, statusAfter } from "./status.ts";
import type { Moment } from "../time.ts";

export interface EvacuationWorld extends Moment {
  readonly vmis: readonly VmiFacts[];
  /** Every one that names one of these VMIs, ended ones included; and those whose VMI is missing. */
  readonly evacuations: readonly EvacuationFacts[];
  /** Of the VMIs under evacuation. */
  readonly migrations: readonly MigrationFacts[];
  /** Of these VMIs. */
  readonly budgets: readonly BudgetFacts[];
  /** Launcher pods of the VMIs, where a rule needs them: see `needsPods`. */
  readonly pods: readonly PodFacts[];
  /** The VMIs' nodes, where a rule needs them: see `needsNode`. */
  readonly nodes: readonly NodeFacts[];
  /** By node. Absent: not read. */
  readonly queues?: ReadonlyMap<string, MigrationQueue>;
  /** Whether the VMIs were read after the Evacuations: only then does a missing mark mean that it was removed. */
  readonly vmisAreNewer: boolean;
}

export function ofVmi(
  evacuations: readonly EvacuationFacts[],
  { namespace, name }: VmiFacts,
): readonly EvacuationFacts[] {
  return evacuations.filter((e) => e.namespace === namespace && e.spec.vmiName === name);
}

/** One Evacuation with its VMI, as far as that exists, and what is known around them. */
export interface Pair {
  readonly e: EvacuationFacts;
  readonly vmi?: VmiFacts;
  /** Of this VMI. */
  readonly migrations: readonly MigrationFacts[];
  readonly w: EvacuationWorld;
}

export type LivePair = Pair & { readonly vmi: VmiFacts };

/** As far as counting can go on: the API server takes no number beyond 32 bits, and refuses the whole status with it. */
const MOST_ATTEMPTS = 2 ** 30;

export function inheritedAttempts({ status, spec }: EvacuationFacts): number {
  return Math.min(Math.max(status.attempts, spec.inherited?.attempts ?? 0), MOST_ATTEMPTS);
}

/** The write, if there is anything new to say. An inherited number of attempts is where counting begins. */
export function write(pair: Pair, change: Change): readonly Action[] {
  const { e, vmi, w } = pair;
  const more = { attempts: inheritedAttempts(e), ...change.more };
  const status = statusAfter(e, vmi, { ...change, more }, w.now);
  return isChanged(e.status, status) ? [{ verb: "WriteStatus", evacuation: e, status }] : [];
}

export type End = Change & { readonly phase: EndPhase };

export function gone(message: string): End {
  return { phase: "Gone", reason: "VirtualMachineInstanceGone", message };
}

export function pending(message: string): Change {
  return { phase: "Pending", reason: "Pending", message };
}

/** Whether the node of its VMI tells if it goes on. */
export function needsNode({ spec }: EvacuationFacts): boolean {
  return spec.cause === "DrainTaint" || spec.cause === "NoExecuteTaint";
}

/** Whether the pods of its VMI do: the tolerations of the one that has to leave, whether it ends, the fate of the one it may move to. */
export function needsPods(e: EvacuationFacts, migrations: readonly MigrationFacts[], now: Date): boolean {
  if (e.spec.cause === "NoExecuteTaint" || isPreemptionOverdue(e, now)) return true;
  return migrations.some((m) => m.phase === "Scheduling");
}
