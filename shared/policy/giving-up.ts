/**
 * How an evacuation ends without a move: its migrations fail, an operator cancels it, its mark or its taint goes away.
 * Owns: counting attempts, back-off, the end without a move. Does not own: noticing the failure (stage.ts).
 */
import type { Action, StoryReason } from "./action.ts";
import { tell } from "./action.ts";
import { URGENCY } from "./cause.ts";
import { isFinal, type MigrationFacts, type VmiFacts } from "./facts.ts";
import {
  backoffSeconds,
  beginRecord,
  endRecord,
  type EvacuationRecord,
  failRecord,
  isActive,
  type Outcome,
} from "./record.ts";
import type { Settings } from "./settings.ts";

export interface FailedAttempt {
  readonly vmi: VmiFacts;
  readonly record: EvacuationRecord;
  /** Of this VMI. */
  readonly migrations: readonly MigrationFacts[];
  readonly why: string;
  /** It ran and failed, or KubeVirt's admission did not let it begin. */
  readonly reason: Extract<StoryReason, "MigrationFailed" | "MigrationRefused">;
}

interface Circumstances {
  readonly settings: Settings;
  readonly now: Date;
}

/** One attempt more has failed: back off, or abandon the evacuation after the last one. */
export function failedAttempt(f: FailedAttempt, { settings, now }: Circumstances): readonly Action[] {
  const { vmi } = f;
  const record = failRecord(f.record, settings, now);
  const { maxAttempts } = settings.evacuation;
  const occasion = `${record.id}-${record.attempts}`;
  const failed = `attempt ${record.attempts} of ${maxAttempts} to move the VM off node ${record.node} failed: ${f.why}`;
  const wait = `${backoffSeconds(record.attempts, settings)} s`;
  if (record.attempts < maxAttempts) {
    return [
      { verb: "Record", vmi, record, urgency: URGENCY[record.cause] },
      tell(vmi, f.reason, `${failed}; the next one in ${wait}`, occasion),
    ];
  }
  const abandoned = `evacuation from node ${record.node} is abandoned after ${record.attempts} failed attempts`;
  return [
    { verb: "Unmark", vmi, record: endRecord(record, "Abandoned", settings, now) },
    ...deletions(f),
    tell(vmi, f.reason, failed, occasion),
    tell(vmi, "EvacuationAbandoned", `${abandoned}; a new one can be requested in ${wait}`, record.id),
  ];
}

/** KubeVirt writes the reason on the VMI, and copies it to the migration some moments after that has failed. */
export function whyFailed({ uid, failureReason }: MigrationFacts, { failure }: VmiFacts): string {
  const told = failure?.migrationUID === uid ? failure.reason : undefined;
  return failureReason ?? told ?? "no reason given";
}

/**
 * Migrations of this evacuation that have not begun to move the guest. One that has is left to finish: it does no harm,
 * and to abort it could.
 */
export function deletions({ record, migrations }: Pick<FailedAttempt, "record" | "migrations">): readonly Action[] {
  return migrations
    .filter((m) => !isFinal(m) && !m.deleting && m.phase !== "Running")
    .filter((m) => m.evacuationId === record.id || m.evacuates === record.node)
    .map((migration) => ({ verb: "DeleteMigration", migration }) as const);
}

/** Written down before it is counted: if the taint comes back now, that is a new evacuation. */
export function withdrawn(
  vmi: VmiFacts,
  found: EvacuationRecord,
  { untainted, settings, now }: Circumstances & { readonly untainted: ReadonlySet<string> },
): readonly Action[] {
  const end = (outcome: Outcome) =>
    ({ verb: "Unmark", vmi, record: endRecord(found, outcome, settings, now) }) as const;
  const story = (told: string) => tell(vmi, "EvacuationCancelled", told, found.id);
  if (found.cause === "DrainTaint") return [end("Withdrawn")];
  if (untainted.has(vmi.uid)) return [end("Withdrawn"), story(`the NoExecute taint of node ${found.node} is gone`)];
  return [end("Cancelled"), story(`the mark for evacuation from node ${found.node} was removed`)];
}

export type CancelDecision =
  | { readonly verdict: "NotEvacuating" }
  /** The drain taint would start the evacuation again at once. */
  | { readonly verdict: "DrainTaint"; readonly node: string }
  | { readonly verdict: "Cancel"; readonly actions: readonly Action[] };

/** What an operator's cancel does. Done halfway, it can be asked for again. */
export function decideCancel(
  { vmi, migrations, tainted }: Pick<FailedAttempt, "vmi" | "migrations"> & { readonly tainted: boolean },
  { settings, now }: Circumstances,
): CancelDecision {
  const found = evacuationOf(vmi, now);
  if (found === undefined) return { verdict: "NotEvacuating" };
  const rest = deletions({ record: found, migrations });
  if (found.outcome !== undefined) {
    return rest.length === 0 ? { verdict: "NotEvacuating" } : { verdict: "Cancel", actions: rest };
  }
  if (tainted) return { verdict: "DrainTaint", node: found.node };
  const record = endRecord(found, "Cancelled", settings, now);
  const told = `evacuation from node ${found.node} was cancelled by an operator`;
  const story = tell(vmi, "EvacuationCancelled", told, `${record.id}${record.notBefore}`);
  return { verdict: "Cancel", actions: [{ verb: "Unmark", vmi, record }, story, ...rest] };
}

/** The evacuation that a cancel means: the one under way, one that only the mark tells of, or one cancelled just now. */
function evacuationOf(vmi: VmiFacts, now: Date): EvacuationRecord | undefined {
  const { nodeName: node, evacuationNodeName: mark, record } = vmi;
  if (node === undefined) return undefined;
  if (isActive(record, node)) return record;
  if (mark === node) return beginRecord(vmi, { cause: "ApiEviction", requestedBy: "KubeVirt", node }, now);
  return record?.outcome === "Cancelled" ? record : undefined;
}
