/**
 * What somebody else began and Lifeboat carries on: marks and drain taints become evacuations, KubeVirt's migrations
 * attempts.
 * Owns: the records and annotations that make them so. Does not own: noticing them (stage.ts), what follows
 * (evacuation.ts).
 */
import type { Action } from "./action.ts";
import { tell } from "./action.ts";
import { URGENCY } from "./cause.ts";
import { type Counters, uncountedOf } from "./counters.ts";
import type { VmiFacts } from "./facts.ts";
import { beginRecord, restingRecord } from "./record.ts";
import type { Settings } from "./settings.ts";
import type { Stage } from "./stage.ts";

interface Circumstances {
  readonly settings: Settings;
  readonly counters: Counters;
  readonly now: Date;
}

/** Writes the record of an evacuation that somebody else began. The back-off of an earlier one from this node is kept. */
export function takeOver(vmi: VmiFacts, { settings, counters, now }: Circumstances): readonly Action[] {
  const node = vmi.nodeName ?? "";
  const byTaint = vmi.evacuationNodeName === undefined;
  const cause = byTaint ? "DrainTaint" : vmi.evictionSource === "descheduler" ? "Descheduler" : "ApiEviction";
  const requestedBy = byTaint ? `taint ${settings.drainTaintKey}` : "KubeVirt";
  const notBefore = restingRecord(vmi, settings, now)?.notBefore;
  const uncounted = uncountedOf(vmi, counters);
  const begin = { cause, requestedBy, node, uncounted, ...(notBefore === undefined ? {} : { notBefore }) } as const;
  const record = beginRecord(vmi, begin, now);
  const told = byTaint
    ? `node ${node} carries the drain taint ${settings.drainTaintKey}: evacuating the VM`
    : `found marked for evacuation from node ${node} (cause ${cause})`;
  return [{ verb: "Record", vmi, record, urgency: URGENCY[cause] }, tell(vmi, "EvacuationAdopted", told, record.id)];
}

/** KubeVirt's own migration for the mark becomes this evacuation's next attempt; any other one is only waited for. */
export function adopt(
  vmi: VmiFacts,
  { record, migration }: Extract<Stage, { stage: "Migrating" }>,
  settings: Settings,
): readonly Action[] {
  const theirs = migration.evacuationId !== record.id && migration.evacuates === record.node && !migration.deleting;
  if (settings.reconcilers.evacuation !== "Auto" || !theirs) return [];
  const attempt = record.attempts + 1;
  const told = `migration ${migration.name} by KubeVirt moves the VM off node ${record.node} (attempt ${attempt})`;
  return [
    { verb: "AdoptMigration", migration, cause: record.cause, id: record.id, attempt },
    tell(vmi, "MigrationAdopted", told, migration.name),
  ];
}
