/**
 * Where the evacuation of one VMI stands.
 * Owns: the closed list of stages and which facts mean which. Does not own: what is done about them (evacuation.ts).
 * Upstream: the filters of KubeVirt's evacuation controller (`vmisToMigrate`, `filterRunningNonMigratingVMIs`).
 */
import type { MigrationFacts, VmiFacts } from "./facts.ts";
import { isFinal } from "./facts.ts";
import { type EvacuationRecord, isActive, restingRecord, restSeconds, secondsUntil } from "./record.ts";
import type { Settings } from "./settings.ts";
import { MIGRATES, type EvictionStrategy, resolveStrategy } from "./strategy.ts";

export type Stage =
  /** Nothing is under way, or the VMI is going. */
  | { readonly stage: "Idle" }
  /** Mark, record or label of an evacuation that is over: moved, or ended without a move. */
  | { readonly stage: "Leftover" }
  /** Wanted, but nobody has written a record yet: somebody else's mark, or the drain taint. */
  | { readonly stage: "Unrecorded" }
  /** Recorded, but somebody has removed the mark, or the taint that it was for. */
  | { readonly stage: "Withdrawn"; readonly record: EvacuationRecord }
  /** Strategy External: marked, for somebody else to act on. */
  | { readonly stage: "External" }
  /** Should move and cannot. */
  | { readonly stage: "Pinned"; readonly record: EvacuationRecord }
  /** A migration has failed and is not yet counted. */
  | { readonly stage: "AttemptFailed"; readonly record: EvacuationRecord; readonly migration: MigrationFacts }
  | { readonly stage: "Migrating"; readonly record: EvacuationRecord; readonly migration: MigrationFacts }
  /** The migration has succeeded: the VMI does not show it yet, or has come back since. */
  | { readonly stage: "Settling"; readonly record: EvacuationRecord }
  /** Back-off, or time left to KubeVirt's own evacuation controller. Without a record: nothing has begun yet. */
  | { readonly stage: "Waiting"; readonly seconds: number; readonly record?: EvacuationRecord }
  | { readonly stage: "Ready"; readonly record: EvacuationRecord };

export interface StageFacts {
  /** Of this VMI: see `ofVmi`. */
  readonly migrations: readonly MigrationFacts[];
  /** Nodes carrying the drain taint. */
  readonly tainted: ReadonlySet<string>;
  /** UIDs of VMIs under evacuation for a NoExecute taint that is gone. */
  readonly untainted: ReadonlySet<string>;
  readonly settings: Settings;
  readonly now: Date;
}

/** The strategy in force, or None for one that nobody knows: only the eviction door has somebody to tell. */
export function strategyOf(vmi: VmiFacts, settings: Settings): EvictionStrategy {
  const resolved = resolveStrategy(vmi.evictionStrategy, settings.clusterStrategy);
  return resolved.known ? resolved.strategy : "None";
}

/** For the node it is on: a mark for one that it has left means nothing. */
export function isMarked(vmi: VmiFacts): boolean {
  return vmi.evacuationNodeName !== undefined && vmi.evacuationNodeName === vmi.nodeName;
}

/** Live, on a node, and to leave it by a migration: marked for that node, or able to move and on a tainted one. */
export function isToMigrate(vmi: VmiFacts, tainted: ReadonlySet<string>, settings: Settings): boolean {
  if (!isLive(vmi)) return false;
  if (!MIGRATES[strategyOf(vmi, settings)] || !vmi.liveMigratable.migratable) return false;
  return isMarked(vmi) || tainted.has(vmi.nodeName);
}

/** To leave by a migration of ours, or, with strategy External, by one that its owner may create at any moment. */
export function isToLeave(vmi: VmiFacts, tainted: ReadonlySet<string>, settings: Settings): boolean {
  if (isToMigrate(vmi, tainted, settings)) return true;
  const byOwner = strategyOf(vmi, settings) === "External" && vmi.liveMigratable.migratable;
  return byOwner && isLive(vmi) && isMarked(vmi);
}

function isLive(vmi: VmiFacts): vmi is VmiFacts & { readonly nodeName: string } {
  return !vmi.deleting && !isFinal(vmi) && vmi.nodeName !== undefined;
}

/** Whether mark or record speak of another node than the one it is on. A mark for that one makes it a new evacuation. */
function hasLeft(vmi: VmiFacts): boolean {
  if (isMarked(vmi)) return false;
  return [vmi.evacuationNodeName, vmi.record?.node].some((node) => node !== undefined && node !== vmi.nodeName);
}

export function stageOf(vmi: VmiFacts, facts: StageFacts): Stage {
  if (!isLive(vmi)) return { stage: "Idle" };
  if (hasLeft(vmi)) return { stage: "Leftover" };
  const record = isActive(vmi.record, vmi.nodeName) ? vmi.record : undefined;
  if (!isWanted(vmi, record, facts)) return unwanted(vmi, record, facts);
  if (strategyOf(vmi, facts.settings) === "None") return { stage: "Idle" };
  return record === undefined ? unrecorded(vmi, facts) : underWay(vmi, record, facts);
}

function isWanted(vmi: VmiFacts, record: EvacuationRecord | undefined, facts: StageFacts): boolean {
  if (record?.cause === "NoExecuteTaint" && facts.untainted.has(vmi.uid)) return false;
  return isMarked(vmi) || isToMigrate(vmi, facts.tainted, facts.settings);
}

function unwanted(vmi: VmiFacts, record: EvacuationRecord | undefined, { settings, now }: StageFacts): Stage {
  if (record === undefined) return { stage: vmi.evacuationLabel === undefined ? "Idle" : "Leftover" };
  const seconds = isMarked(vmi) ? 0 : markingSeconds(record, settings, now);
  return seconds > 0 ? { stage: "Waiting", seconds, record } : { stage: "Withdrawn", record };
}

/** As long as KubeVirt's webhook is waited for, and an answer may take. */
const MARKING_SECONDS = 5;

/** Time left for the mark to follow its record: where KubeVirt sets it, both come one after the other. */
function markingSeconds({ cause, since }: EvacuationRecord, { marking }: Settings, now: Date): number {
  if (marking === "Impersonate" || cause === "DrainTaint") return 0;
  return secondsUntil(Date.parse(since) + MARKING_SECONDS * 1000, MARKING_SECONDS, now);
}

/** A mark is taken over at once, so that it is seen; for the taint alone, the back-off of an ended evacuation holds. */
function unrecorded(vmi: VmiFacts, { settings, now }: StageFacts): Stage {
  const seconds = isMarked(vmi) ? 0 : restSeconds(restingRecord(vmi, settings, now), settings, now);
  return seconds > 0 ? { stage: "Waiting", seconds } : { stage: "Unrecorded" };
}

function underWay(vmi: VmiFacts, record: EvacuationRecord, { migrations, settings, now }: StageFacts): Stage {
  const uncounted = migrations.find(
    (m) => m.evacuationId === record.id && (m.attempt ?? 0) > record.attempts && isFinal(m),
  );
  if (uncounted?.phase === "Failed") return { stage: "AttemptFailed", record, migration: uncounted };
  const migration = migrations.find((m) => !isFinal(m));
  if (migration !== undefined) return { stage: "Migrating", record, migration };
  if (uncounted !== undefined) return { stage: "Settling", record };
  if (!MIGRATES[strategyOf(vmi, settings)]) return { stage: "External" };
  if (!vmi.liveMigratable.migratable) return { stage: "Pinned", record };
  const seconds = Math.max(restSeconds(record, settings, now), adoptionSeconds(record, settings, now));
  return seconds > 0 ? { stage: "Waiting", seconds, record } : { stage: "Ready", record };
}

/** For how long nothing but limits, budget and pods has kept a VMI waiting. */
export function readySeconds(record: EvacuationRecord, { reconcilers, evacuation }: Settings, now: Date): number {
  const adopted = reconcilers.evacuation === "Auto" && record.attempts === 0 ? evacuation.adoptSeconds * 1000 : 0;
  const from = Math.max(Date.parse(record.since) + adopted, Date.parse(record.notBefore ?? record.since));
  return (now.getTime() - from) / 1000;
}

/** Time left for KubeVirt's evacuation controller to act on the mark. */
function adoptionSeconds(record: EvacuationRecord, settings: Settings, now: Date): number {
  if (settings.reconcilers.evacuation !== "Auto" || record.attempts > 0) return 0;
  const { adoptSeconds } = settings.evacuation;
  return secondsUntil(Date.parse(record.since) + adoptSeconds * 1000, adoptSeconds, now);
}
