/**
 * The evacuation record: the only memory Lifeboat has, one annotation on the VMI.
 * Owns: its shape, its life cycle and the back-off computed from it. Does not own: how it is written (shared/cluster).
 */
import type { Cause } from "./cause.ts";
import { hash8 } from "./hash.ts";
import type { Settings } from "./settings.ts";

/** How evacuations end: `Withdrawn` by the drain taint, that went away before the VM had moved. */
export const OUTCOMES = ["Moved", "Abandoned", "Cancelled", "Withdrawn"] as const;

export type EndedBy = (typeof OUTCOMES)[number];

/** How many evacuations have ended so. */
export interface EvacuationCount {
  readonly cause: Cause;
  readonly outcome: EndedBy;
  readonly count: number;
}

/** How an evacuation ended without a move. One that moved the VMI leaves no record. */
export type Outcome = Exclude<EndedBy, "Moved">;

/** An evacuation that is over. */
export interface Ending {
  readonly id: string;
  readonly cause: Cause;
  readonly outcome: EndedBy;
}

/** So many earlier evacuations of a VMI can wait on it to be counted: one ends in minutes, and is counted in seconds. */
export const MOST_UNCOUNTED = 8;

/** So many that rest at the same time are remembered. */
export const MOST_RESTING = 8;

/** An evacuation that ended without a move just now: its next migration may be created still, by whoever decided on it before. */
export interface Resting {
  readonly id: string;
  readonly attempts: number;
  /** RFC 3339. */
  readonly notBefore: string;
}

export interface EvacuationRecord {
  readonly id: string;
  readonly cause: Cause;
  /** The user who asked, as the API server authenticated them. */
  readonly requestedBy: string;
  readonly node: string;
  readonly podUID?: string;
  /** RFC 3339. */
  readonly since: string;
  /** Migrations that have failed so far. */
  readonly attempts: number;
  /** RFC 3339: no migration, and after an outcome no new evacuation, before this time. */
  readonly notBefore?: string;
  readonly outcome?: Outcome;
  /** Evacuations of the VMI that had ended when this one began, and were not seen to be counted (counters.ts). */
  readonly uncounted?: readonly Ending[];
  /** Evacuations of the VMI from the same node that rested when this one began: their slots are nobody else's (candidates.ts). */
  readonly resting?: readonly Resting[];
}

/** What tells of a VMI's evacuation: part of its facts. */
interface Evacuated {
  readonly uid: string;
  readonly nodeName?: string;
  readonly evacuationLabel?: string;
  readonly record?: EvacuationRecord;
}

/** An evacuation that begins now. The id depends on its circumstances only, so that it can be computed anywhere. */
export function beginRecord(
  vmi: Evacuated,
  begin: Pick<EvacuationRecord, "cause" | "requestedBy" | "node" | "podUID" | "notBefore" | "uncounted">,
  now: Date,
): EvacuationRecord {
  const since = now.toISOString();
  const { notBefore, podUID, uncounted = endingsOf(vmi), ...rest } = begin;
  const resting = restingOf(vmi, now);
  return {
    id: hash8(`${vmi.uid}/${begin.node}/${podUID ?? ""}/${since}`),
    ...rest,
    ...(podUID === undefined ? {} : { podUID }),
    since,
    attempts: 0,
    ...(notBefore === undefined ? {} : { notBefore }),
    ...(uncounted.length === 0 ? {} : { uncounted: uncounted.slice(-MOST_UNCOUNTED) }),
    ...(resting.length === 0 ? {} : { resting: resting.slice(-MOST_RESTING) }),
  };
}

/** What a record that takes the place of this one must not forget. */
function restingOf({ nodeName, record }: Omit<Evacuated, "uid">, now: Date): readonly Resting[] {
  if (record === undefined || record.node !== nodeName) return [];
  const { id, attempts, notBefore, outcome, resting = [] } = record;
  const own = outcome === undefined || notBefore === undefined ? [] : [{ id, attempts, notBefore }];
  return [...resting, ...own].filter((one) => Date.parse(one.notBefore) > now.getTime());
}

/**
 * Evacuations of the VMI that are over, and not yet counted as far as the VMI tells: the label of one that ended without
 * a move goes when it has been counted, the record of one that moved the VMI as well.
 */
export function endingsOf({ nodeName, evacuationLabel, record }: Omit<Evacuated, "uid">): readonly Ending[] {
  if (record === undefined) return [];
  const { id, cause, uncounted = [] } = record;
  const moved = nodeName !== undefined && nodeName !== record.node;
  const outcome = record.outcome ?? (moved ? "Moved" : undefined);
  const settled = record.outcome !== undefined && evacuationLabel === undefined;
  return outcome === undefined || settled ? uncounted : [...uncounted, { id, cause, outcome }];
}

/**
 * The record of a disruption that began at `since` (milliseconds since the epoch): an evacuation under way keeps its id,
 * its attempts and its back-off, and learns why it has become urgent. The deadline is to count from the same moment
 * whatever becomes of the condition, so that moment is written down.
 */
export function disruptionRecord(
  vmi: Evacuated,
  begin: Pick<EvacuationRecord, "cause" | "requestedBy" | "node" | "podUID">,
  { since, now }: { readonly since: number; readonly now: Date },
): EvacuationRecord {
  const { record } = vmi;
  const kept = record !== undefined && isActive(record, vmi.nodeName) ? record : beginRecord(vmi, begin, now);
  return { ...kept, ...begin, since: new Date(since).toISOString() };
}

/** When it began, in milliseconds since the epoch. A time that is yet to come is not one of ours and does not count. */
export function beganAt(record: EvacuationRecord, now: Date): number | undefined {
  const since = Date.parse(record.since);
  return since <= now.getTime() + CLOCK_SKEW_SECONDS * 1000 ? since : undefined;
}

/** Whether the record speaks of an evacuation under way from this node. */
export function isActive(record: EvacuationRecord | undefined, node: string | undefined): boolean {
  return record !== undefined && record.outcome === undefined && record.node === node;
}

/** Far beyond any maximum. A record may claim any number of attempts, and 0 s times infinity is no time at all. */
const MOST_DOUBLINGS = 32;

/** Seconds of back-off after so many failures: 20, 40, 80 … up to the maximum; never less than the first step. */
export function backoffSeconds(attempts: number, settings: Settings): number {
  const { backoffSeconds: base, maxBackoffSeconds: most } = settings.evacuation;
  return Math.min(base * 2 ** Math.min(Math.max(attempts - 1, 0), MOST_DOUBLINGS), most);
}

export function secondsAfter(now: Date, seconds: number): string {
  return new Date(now.getTime() + seconds * 1000).toISOString();
}

/** How far the clocks of two functions may be apart: one may read now what another writes a moment later. */
const CLOCK_SKEW_SECONDS = 30;

/**
 * Seconds until a time that lies `most` seconds ahead at the longest, 0 if it has passed. Whoever may edit a VMI may edit
 * its record, so a time further away is not one of ours and does not count.
 */
export function secondsUntil(milliseconds: number, most: number, now: Date): number {
  const left = (milliseconds - now.getTime()) / 1000;
  return left > 0 && left <= most + CLOCK_SKEW_SECONDS ? left : 0;
}

/** Seconds until `notBefore`, 0 if it has passed. */
export function restSeconds(
  record: Pick<EvacuationRecord, "notBefore"> | undefined,
  settings: Settings,
  now: Date,
): number {
  if (record?.notBefore === undefined) return 0;
  return secondsUntil(Date.parse(record.notBefore), settings.evacuation.maxBackoffSeconds, now);
}

type EndedRecord = EvacuationRecord & { readonly outcome: Outcome };

/** The record of an evacuation from this node that ended without a move a moment ago: what it set going may still happen. */
export function justEndedRecord(
  vmi: { readonly nodeName?: string; readonly record?: EvacuationRecord },
  settings: Settings,
  now: Date,
): EndedRecord | undefined {
  const { record, nodeName } = vmi;
  if (record?.outcome === undefined || record.node !== nodeName) return undefined;
  return restSeconds(record, settings, now) > 0 ? { ...record, outcome: record.outcome } : undefined;
}

/** The same, if it keeps a new one waiting: a drain taint that comes back is not made to wait. */
export function restingRecord(...of: Parameters<typeof justEndedRecord>): EndedRecord | undefined {
  const record = justEndedRecord(...of);
  return record?.outcome === "Withdrawn" ? undefined : record;
}

/** The record of an evacuation that ended without a move, kept on the VMI for its back-off. */
export function endRecord(record: EvacuationRecord, outcome: Outcome, settings: Settings, now: Date): EvacuationRecord {
  return { ...record, outcome, notBefore: secondsAfter(now, backoffSeconds(record.attempts, settings)) };
}

/** The record of an evacuation that ended without a move, and holds up no other one. */
export function closeRecord(record: EvacuationRecord, outcome: Outcome): EvacuationRecord {
  const { notBefore: _, ...rest } = record;
  return { ...rest, outcome };
}

/** The record after one more failed migration. */
export function failRecord(record: EvacuationRecord, settings: Settings, now: Date): EvacuationRecord {
  const attempts = record.attempts + 1;
  return { ...record, attempts, notBefore: secondsAfter(now, backoffSeconds(attempts, settings)) };
}
