/**
 * What is true all the time, checked with every change of the cluster; and how evacuations ended.
 * Owns: limits, one migration a VM, no guest ending that may not end. Does not own: watching (observer.ts), what must be
 * true in the end (rest.ts, judgement.ts).
 */
import { NAME_PREFIX, RECORD_ANNOTATION, EVACUATION_MIGRATION_ANNOTATION } from "../../shared/policy/names.ts";
import { mayStop } from "../demo/summary.ts";
import { viewOfVmi } from "../demo/world.ts";
import { keyOf } from "../sandbox/actors/resources.ts";
import {
  isFinal,
  type VirtualMachineInstance,
  type VirtualMachineInstanceMigration,
} from "../sandbox/kubevirt/resources.ts";
import type { Listener } from "./observer.ts";

export type Ending = "Moved" | "Abandoned" | "Cancelled" | "VM deleted" | "Withdrawn";

export interface Ledger extends Listener {
  /** What was not as it must be, in words. */
  readonly breaches: readonly string[];
  /** The most migrations by Lifeboat that were unfinished at once. */
  readonly mostUnfinished: number;
  /** UIDs of VMs of which an evacuation was abandoned. */
  readonly abandoned: ReadonlySet<string>;
  /** By record id. */
  endings(): ReadonlyMap<string, Ending>;
}

export interface Limits {
  readonly cluster: number;
  readonly node: number;
}

interface Unfinished {
  readonly name: string;
  readonly vmi: string;
  readonly node: string;
  readonly phase: string;
}

interface Seen {
  readonly id: string;
  readonly node: string;
  readonly outcome?: string;
}

/** `elapsed`: milliseconds since the run began. */
export function createLedger(limits: Limits, elapsed: () => number): Ledger {
  const breaches = new Set<string>();
  const unfinished = new Map<string, Unfinished>();
  const abandoned = new Set<string>();
  const endings = new Map<string, Ending>();
  let mostUnfinished = 0;
  const report = (what: string) => void breaches.add(`${Math.round(elapsed())} ms: ${what}`);

  const check = (where: string, found: readonly Unfinished[], allowed: number): void => {
    if (found.length <= allowed) return;
    const names = found.map(({ name, phase }) => `${name} (${phase})`).join(", ");
    report(`${found.length} unfinished migrations ${where}, ${allowed} allowed: ${names}`);
  };

  const count = (): void => {
    const all = [...unfinished.values()];
    mostUnfinished = Math.max(mostUnfinished, all.length);
    check("in the cluster", all, limits.cluster);
    for (const [node, from] of Map.groupBy(all, (m) => m.node)) check(`from ${node}`, from, limits.node);
    for (const [vmi, of] of Map.groupBy(all, (m) => m.vmi)) check(`of ${vmi}`, of, 1);
  };

  const endsOf = (before: Seen | undefined, now: Seen | undefined, vmi: VirtualMachineInstance | undefined): void => {
    if (now?.outcome === "Abandoned" || now?.outcome === "Cancelled") endings.set(now.id, now.outcome);
    if (before === undefined || before.id === now?.id || endings.has(before.id)) return;
    if (vmi === undefined) endings.set(before.id, "VM deleted");
    else endings.set(before.id, vmi.status?.nodeName === before.node ? "Withdrawn" : "Moved");
  };

  return {
    get breaches() {
      return [...breaches];
    },
    get mostUnfinished() {
      return mostUnfinished;
    },
    abandoned,
    endings: () => endings,
    vmiChanged(now, before) {
      const record = now && recordOf(now);
      endsOf(before && recordOf(before), record, now);
      if (now === undefined) return;
      if (record?.outcome === "Abandoned") abandoned.add(now.metadata.uid);
      if (!isFinal(now.status) || isFinal(before?.status) || now.metadata.deletionTimestamp !== undefined) return;
      if (mayStop(viewOfVmi(before ?? now), viewOfVmi(now))) return;
      report(`${keyOf(now)} has ended (${now.status?.phase}) on ${now.status?.nodeName}`);
    },
    migrationChanged(now, before) {
      const either = now ?? before;
      if (either === undefined || !either.metadata.name.startsWith(NAME_PREFIX)) return;
      if (now === undefined || isFinal(now.status)) unfinished.delete(either.metadata.uid);
      else unfinished.set(now.metadata.uid, unfinishedOf(now));
      count();
    },
  };
}

function unfinishedOf({ metadata, spec, status }: VirtualMachineInstanceMigration): Unfinished {
  const { name, namespace, annotations } = metadata;
  const node = annotations?.[EVACUATION_MIGRATION_ANNOTATION] ?? "no node";
  const deleting = metadata.deletionTimestamp === undefined ? "" : ", deleting";
  return { name, vmi: `${namespace}/${spec.vmiName}`, node, phase: `${status?.phase ?? "new"}${deleting}` };
}

/** The record, as far as its end is told by it; one that nobody could read is none. */
export function recordOf({ metadata }: VirtualMachineInstance): Seen | undefined {
  const text = metadata.annotations?.[RECORD_ANNOTATION];
  if (text === undefined) return undefined;
  const record: unknown = JSON.parse(text);
  if (typeof record !== "object" || record === null || !("id" in record) || !("node" in record)) return undefined;
  const { id, node } = record;
  const outcome = "outcome" in record ? { outcome: String(record.outcome) } : {};
  return { id: String(id), node: String(node), ...outcome };
}
