/**
 * Evacuation policy: what to do next about every VMI that is to leave its node.
 * Owns: the actions for each stage, limits through the slots register, giving up. Does not own: recognising stages
 * (stage.ts), budgets (budget.ts), counting (counters.ts), requests.
 */
import { type Action, tell } from "./action.ts";
import { adopt, takeOver } from "./adoption.ts";
import { endedOf, readyOf, waitingOf } from "./candidates.ts";
import { URGENCY } from "./cause.ts";
import { type BudgetFacts, isFinal, keyOf, type LauncherFacts, type MigrationFacts, type VmiFacts } from "./facts.ts";
import { isGrown, isReadyForMigration } from "./budget.ts";
import { isSaidInProgress } from "./descheduler-annotations.ts";
import { deletions, type FailedAttempt, failedAttempt, whyFailed, withdrawn } from "./giving-up.ts";
import { countEndings, type Counters, uncountedOf } from "./counters.ts";
import type { Plan } from "./plan.ts";
import { beginRecord, type EvacuationRecord, justEndedRecord, restSeconds } from "./record.ts";
import type { Settings } from "./settings.ts";
import { type Candidate, grantedSlots, keptSlots, type Slot, slotFor, type SlotsRegister } from "./slots.ts";
import { isToMigrate, readySeconds, type Stage, stageOf } from "./stage.ts";

export interface EvacuationWorld {
  /** The VMIs to look at: at least all that carry a record or a mark. */
  readonly vmis: readonly VmiFacts[];
  /** Every unfinished migration of the cluster, and the finished ones of these VMIs. */
  readonly migrations: readonly MigrationFacts[];
  readonly budgets: readonly BudgetFacts[];
  readonly tainted: ReadonlySet<string>;
  readonly untainted: ReadonlySet<string>;
  readonly register: SlotsRegister;
  readonly counters: Counters;
  /** VMI UID to the number of its pods that have not ended, of the candidates (see `candidatesOf`). */
  readonly activePods: ReadonlyMap<string, number>;
  /** Of these VMIs, where they are annotated. */
  readonly launchers: readonly LauncherFacts[];
  readonly settings: Settings;
  readonly now: Date;
}

interface Staged {
  readonly vmi: VmiFacts;
  readonly stage: Stage;
  readonly migrations: readonly MigrationFacts[];
}

/** How soon a stage is looked at again, in seconds; never: until somebody else acts. A waiting one says so itself. */
const POLL_SECONDS = {
  Idle: Infinity,
  External: Infinity,
  Pinned: Infinity,
  Waiting: Infinity,
  Leftover: 0.5,
  Unrecorded: 0,
  Withdrawn: 0,
  AttemptFailed: 0,
  Migrating: 2,
  Settling: 1,
  Ready: 0.5,
} as const satisfies Record<Stage["stage"], number>;

export function stagesOf(
  w: Omit<EvacuationWorld, "activePods" | "budgets" | "launchers" | "register" | "counters">,
): readonly Staged[] {
  const byVmi = Map.groupBy(w.migrations, (m) => keyOf({ namespace: m.namespace, name: m.vmiName }));
  return w.vmis.map((vmi) => {
    const migrations = byVmi.get(keyOf(vmi)) ?? [];
    return { vmi, migrations, stage: stageOf(vmi, { ...w, migrations }) };
  });
}

/** VMIs whose slot is reserved and whose migration is not there yet: whose pods must be counted before planning. */
export function candidatesOf(w: Omit<EvacuationWorld, "activePods" | "launchers">): readonly VmiFacts[] {
  const reserved = new Set(uncreated(w).map(keyOf));
  const ready = readyOf(stagesOf(w));
  return ready.filter((c) => reserved.has(keyOf(slotFor(c)))).map((c) => c.vmi);
}

export function planEvacuations(w: EvacuationWorld): Plan {
  if (w.settings.reconcilers.evacuation === false) return { chains: [] };
  const staged = stagesOf(w);
  const ready = readyOf(staged);
  const kept = keptSlots(w.register.slots, w.migrations, [
    ...ready,
    ...waitingOf(staged),
    ...endedOf(staged, w.settings, w.now),
  ]);
  const granted = grantedSlots(kept, w.migrations, ready, w.settings.limits);
  const counting = countEndings(w.vmis, w.counters);
  const chains = [
    counting,
    ...staged.map((s) => actionsFor(s, w)),
    rewrite(w.register, kept, granted),
    ...creations(w, ready),
  ].filter((chain) => chain.length > 0);
  const waits = staged.map((s) => secondsToLook(s, w));
  // What is reserved now is created, and what is counted now tidied up, by whoever looks next, which may as well be us.
  const soonest = waits.reduce((a, b) => Math.min(a, b), granted.length + counting.length > 0 ? 0 : Infinity);
  return { chains, ...(soonest === Infinity ? {} : { requeueAfterSeconds: soonest }) };
}

function secondsToLook({ vmi, stage, migrations }: Staged, w: EvacuationWorld): number {
  if (stage.stage === "Waiting") return stage.seconds;
  const isOver = stage.stage === "Leftover" && !isToBeSettled(vmi, w) && migrations.every(isFinal);
  const rests = isOver && justEndedRecord(vmi, w.settings, w.now) !== undefined;
  return rests ? restSeconds(vmi.record, w.settings, w.now) : POLL_SECONDS[stage.stage];
}

function rewrite(register: SlotsRegister, kept: readonly Slot[], granted: readonly Slot[]): readonly Action[] {
  if (granted.length === 0 && kept.length === register.slots.length) return [];
  const { resourceVersion } = register;
  return [
    { verb: "WriteSlots", slots: [...kept, ...granted], ...(resourceVersion === undefined ? {} : { resourceVersion }) },
  ];
}

function uncreated({ register, migrations }: Pick<EvacuationWorld, "register" | "migrations">): readonly Slot[] {
  const existing = new Set(migrations.map(keyOf));
  return register.slots.filter((slot) => !existing.has(keyOf(slot)));
}

/**
 * Seconds that a VMI with a slot may be kept from migrating until that is a failed attempt: others wait for the slot. Far more
 * than budgets and pods take, and than clocks are apart.
 */
const BLOCKED_SECONDS = 180;

/** Reserved migrations are created as soon as nothing is in their way. */
function creations(w: EvacuationWorld, ready: readonly Candidate[]): readonly (readonly Action[])[] {
  const wanted = new Map(ready.map((c) => [keyOf(slotFor(c)), c]));
  return uncreated(w).map((slot) => {
    const candidate = wanted.get(keyOf(slot));
    if (candidate === undefined || !w.activePods.has(candidate.vmi.uid)) return [];
    const { vmi, record } = candidate;
    const obstacle = obstacleTo(vmi, w);
    if (obstacle !== undefined) {
      const isLong = readySeconds(record, w.settings, w.now) >= BLOCKED_SECONDS;
      return isLong ? failedSlot(slot, { why: obstacle, reason: "MigrationFailed" }, w) : [];
    }
    const { maxAttempts } = w.settings.evacuation;
    const told = `migration ${slot.name} moves the VM off node ${slot.node} (attempt ${slot.attempt} of ${maxAttempts})`;
    return [{ verb: "CreateMigration", slot }, tell(vmi, "MigrationCreated", told, slot.name)];
  });
}

/**
 * What keeps a VMI from migrating: a second active pod is the tail of an earlier migration, or the head of one not seen yet;
 * with a budget of 1 a ready target makes the source evictable.
 */
function obstacleTo(vmi: VmiFacts, w: EvacuationWorld): string | undefined {
  const pods = w.activePods.get(vmi.uid);
  if (pods !== 1) return pods === 0 ? "its pod has ended" : "it has another pod, which does not end";
  return isReadyForMigration(vmi, w.budgets, w.settings)
    ? undefined
    : "its disruption budget does not come to stand at 2";
}

/** The migration is refused for good, by KubeVirt's admission or another: that will not be tried forever. */
export function refusedMigration(slot: Slot, w: EvacuationWorld): readonly Action[] {
  return failedSlot(slot, { why: "the migration is refused", reason: "MigrationRefused" }, w);
}

function failedSlot(slot: Slot, how: Pick<FailedAttempt, "why" | "reason">, w: EvacuationWorld): readonly Action[] {
  const staged = stagesOf(w).find((s) => s.vmi.uid === slot.vmiUID);
  if (staged?.stage.stage !== "Ready") return [];
  return failedAttempt({ ...staged, ...how, record: staged.stage.record }, w);
}

/** The counters cannot be written, now or later: what waits for that comes to its end uncounted. */
export function uncountable(w: EvacuationWorld): readonly Action[] {
  const waiting = stagesOf(w).filter((s) => s.stage.stage === "Leftover" && uncountedOf(s.vmi, w.counters).length > 0);
  return waiting.flatMap((s) => actionsFor(s, { ...w, counters: "Off" }));
}

function actionsFor({ vmi, stage, migrations }: Staged, w: EvacuationWorld): readonly Action[] {
  switch (stage.stage) {
    case "Idle":
    case "External":
    case "Waiting":
    case "Ready":
      return [];
    case "Settling":
      return [{ verb: "Record", vmi, ...startedAgain(vmi, stage.record, w) }];
    case "Leftover":
      return leftover(vmi, migrations, w);
    case "Unrecorded":
      return takeOver(vmi, w);
    case "Withdrawn":
      return withdrawn(vmi, stage.record, w);
    case "Pinned": {
      const why = vmi.liveMigratable.reason ?? "no LiveMigratable condition";
      return [tell(vmi, "NotMigratable", `cannot leave node ${stage.record.node}: ${why}`, stage.record.id)];
    }
    case "AttemptFailed": {
      const why = whyFailed(stage.migration, vmi);
      return failedAttempt({ ...stage, vmi, migrations, why, reason: "MigrationFailed" }, w);
    }
    case "Migrating":
      return adopt(vmi, stage, w.settings);
  }
}

/**
 * The label goes last, when nothing is left to be done: until then whoever lists evacuations sees what is left. What is
 * pending of an evacuation that was given up is deleted again here, for whoever gave it up may have died halfway, or a
 * stalled function have created it.
 */
function leftover(vmi: VmiFacts, migrations: readonly MigrationFacts[], w: EvacuationWorld): readonly Action[] {
  const { record } = vmi;
  const pending = record?.outcome === undefined ? [] : deletions({ record, migrations });
  if (pending.length > 0) return pending;
  if (isUntidy(vmi, w)) return [];
  if (record === undefined) return [{ verb: "Forget", vmi }];
  const moved = record.node !== vmi.nodeName;
  const told = `moved from node ${record.node} to node ${vmi.nodeName} (cause ${record.cause})`;
  const story = moved && record.outcome === undefined ? [tell(vmi, "Evacuated", told, record.id)] : [];
  return [{ verb: "Forget", vmi }, ...story];
}

/** Whether its end is still to be counted, or its pod still says that it is on its way. */
function isToBeSettled(vmi: VmiFacts, w: EvacuationWorld): boolean {
  return uncountedOf(vmi, w.counters).length > 0 || isSaidInProgress(vmi, w);
}

/**
 * Or it has ended just now, and may migrate still: who does not see the label keeps no slot for it. Or its budget is not back
 * at its size; that does not go back if the VMI has come to another node that it is to leave.
 */
function isUntidy(vmi: VmiFacts, w: EvacuationWorld): boolean {
  const grown = isGrown(vmi, w.budgets, w.settings) && !isToMigrate(vmi, w.tainted, w.settings);
  return grown || justEndedRecord(vmi, w.settings, w.now) !== undefined || isToBeSettled(vmi, w);
}

/**
 * If the VMI was only read too early, this fails its tests, and it is looked at again. Else it has come back to the node,
 * which nobody has noticed, and is to leave that again.
 */
function startedAgain(
  vmi: VmiFacts,
  { id, cause, requestedBy, node, podUID }: EvacuationRecord,
  { counters, now }: EvacuationWorld,
) {
  const uncounted = [...uncountedOf(vmi, counters), { id, cause, outcome: "Moved" } as const];
  const begin = { cause, requestedBy, node, uncounted, ...(podUID === undefined ? {} : { podUID }) };
  return { record: beginRecord(vmi, begin, now), urgency: URGENCY[cause] };
}
