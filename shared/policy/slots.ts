/**
 * The slots register: names of migrations that are about to be created, so that limits hold while many functions run.
 * Owns: who keeps, loses and gets a slot. Does not own: the compare-and-set that makes it true (shared/cluster), nor why
 * a VMI wants to migrate (stage.ts).
 *
 * No expiry: an entry stays until its migration is final or its VMI no longer wants it, which for an evacuation that has ended
 * is when that has rested; whoever finds one without its migration creates that. A stalled holder can only repeat what
 * somebody else has done meanwhile, or create what was given up a moment ago, which is deleted again while it is pending
 * (evacuation.ts).
 */
import type { Cause } from "./cause.ts";
import type { MigrationFacts, NamespacedName, VmiFacts } from "./facts.ts";
import { isFinal, keyOf } from "./facts.ts";
import { hash8 } from "./hash.ts";
import { NAME_PREFIX } from "./names.ts";
import type { EvacuationRecord } from "./record.ts";
import type { Settings } from "./settings.ts";

/** One migration to be created; `name` and `namespace` are its own. */
export interface Slot extends NamespacedName {
  readonly vmi: string;
  readonly vmiUID: string;
  readonly node: string;
  readonly id: string;
  readonly attempt: number;
  readonly cause: Cause;
}

export interface SlotsRegister {
  /** Absent if the ConfigMap does not exist yet. */
  readonly resourceVersion?: string;
  readonly slots: readonly Slot[];
}

/** A VMI whose evacuation could start a migration now, or soon. */
export interface Candidate {
  readonly vmi: VmiFacts;
  readonly record: EvacuationRecord;
}

/** Of an evacuation's next migration. */
export interface Claim {
  readonly vmi: VmiFacts;
  readonly record: Pick<EvacuationRecord, "id" | "attempts">;
}

const LONGEST_NAME = 63;

/** `lifeboat-<vmi, cut>-<suffix>`, a valid object name of at most 63 characters. */
export function derivedName(vmiName: string, suffix: string): string {
  const room = LONGEST_NAME - `${NAME_PREFIX}-${suffix}`.length;
  return `${NAME_PREFIX}${vmiName.slice(0, room).replace(/[-.]+$/, "")}-${suffix}`;
}

function migrationKey({ vmi, record }: Claim): NamespacedName {
  const suffix = `${hash8(`${vmi.uid}/${record.id}`)}-${record.attempts + 1}`;
  return { namespace: vmi.namespace, name: derivedName(vmi.name, suffix) };
}

export function slotFor({ vmi, record }: Candidate): Slot {
  return {
    ...migrationKey({ vmi, record }),
    vmi: vmi.name,
    vmiUID: vmi.uid,
    node: record.node,
    id: record.id,
    attempt: record.attempts + 1,
    cause: record.cause,
  };
}

/** The entries that stay: their migration is under way, or is or may still be to be created. */
export function keptSlots(
  slots: readonly Slot[],
  migrations: readonly MigrationFacts[],
  claims: readonly Claim[],
): readonly Slot[] {
  const byKey = new Map(migrations.map((m) => [keyOf(m), m]));
  const wanted = new Set(claims.map((claim) => keyOf(migrationKey(claim))));
  return slots.filter((slot) => {
    const migration = byKey.get(keyOf(slot));
    return migration === undefined ? wanted.has(keyOf(slot)) : !isFinal(migration);
  });
}

/** New entries within the limits, in the order of the candidates. Every unfinished migration counts, whoever made it. */
export function grantedSlots(
  kept: readonly Slot[],
  migrations: readonly MigrationFacts[],
  candidates: readonly Candidate[],
  limits: Settings["limits"],
): readonly Slot[] {
  const nodes = new Map(kept.map((slot) => [keyOf(slot), slot.node]));
  for (const m of migrations) if (!isFinal(m)) nodes.set(keyOf(m), m.sourceNode ?? m.evacuates ?? "");
  const taken = [...nodes.values()];
  const granted: Slot[] = [];
  for (const slot of candidates.map(slotFor)) {
    const onNode = taken.filter((node) => node === slot.node).length;
    const full =
      taken.length >= limits.parallelMigrationsPerCluster || onNode >= limits.parallelOutboundMigrationsPerNode;
    if (full || nodes.has(keyOf(slot))) continue;
    granted.push(slot);
    taken.push(slot.node);
  }
  return granted;
}
