/**
 * What must be true all the time, checked with every change of the cluster.
 * Owns: limits, one migration a VM, no guest ending that may not end. Does not own: watching (observer.ts), budgets
 * (protection.ts), what must be true in the end (rest.ts, judgement.ts).
 */
import { EVACUATION_MIGRATION_ANNOTATION, NAME_PREFIX } from "../../shared/policy/names.ts";
import { mayStop } from "../demo/summary.ts";
import { viewOfVmi } from "../demo/world.ts";
import { keyOf } from "../sandbox/actors/resources.ts";
import {
  isFinal,
  type VirtualMachineInstance,
  type VirtualMachineInstanceMigration,
} from "../sandbox/kubevirt/resources.ts";
import type { Listener } from "./observer.ts";

export interface Ledger extends Pick<Listener, "vmiChanged" | "migrationChanged"> {
  /** What was not as it must be, in words. */
  readonly breaches: readonly string[];
  /** The most migrations by Lifeboat that were unfinished at once. */
  readonly mostUnfinished: number;
  /** Limits that would have let no further one begin. */
  readonly reached: ReadonlySet<keyof Limits>;
  readonly report: (what: string) => void;
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

export interface LedgerOptions {
  readonly limits: Limits;
  /** Keys of VMIs that a taint may end. */
  readonly letGo: ReadonlySet<string>;
  /** Milliseconds since the run began. */
  readonly elapsed: () => number;
}

export function createLedger({ limits, letGo, elapsed }: LedgerOptions): Ledger {
  const breaches: string[] = [];
  const unfinished = new Map<string, Unfinished>();
  const reached = new Set<keyof Limits>();
  let mostUnfinished = 0;
  const report = (what: string) => void breaches.push(`${Math.round(elapsed())} ms: ${what}`);

  const check = (where: string, found: readonly Unfinished[], allowed: number): void => {
    if (found.length <= allowed) return;
    const names = found.map(({ name, phase }) => `${name} (${phase})`).join(", ");
    report(`${found.length} unfinished migrations ${where}, ${allowed} allowed: ${names}`);
  };

  const checkLimit = (limit: keyof Limits, where: string, found: readonly Unfinished[]): void => {
    if (found.length >= limits[limit]) reached.add(limit);
    check(where, found, limits[limit]);
  };

  const checkLimits = (): void => {
    const all = [...unfinished.values()];
    mostUnfinished = Math.max(mostUnfinished, all.length);
    checkLimit("cluster", "in the cluster", all);
    for (const [node, from] of Map.groupBy(all, (m) => m.node)) checkLimit("node", `from ${node}`, from);
    for (const [vmi, of] of Map.groupBy(all, (m) => m.vmi)) check(`of ${vmi}`, of, 1);
  };

  return {
    get breaches() {
      return breaches;
    },
    get mostUnfinished() {
      return mostUnfinished;
    },
    reached,
    report,
    vmiChanged(now, before) {
      if (now === undefined || !hasEnded(now) || (before !== undefined && hasEnded(before))) return;
      if (mayStop(viewOfVmi(before ?? now), viewOfVmi(now)) || letGo.has(keyOf(now))) return;
      report(`${keyOf(now)} has ended (${now.status?.phase}) on ${now.status?.nodeName}`);
    },
    migrationChanged(now, before) {
      if (before !== undefined && before.metadata.uid !== now?.metadata.uid) unfinished.delete(before.metadata.uid);
      if (now === undefined || !now.metadata.name.startsWith(NAME_PREFIX)) return;
      if (isFinal(now.status)) return void unfinished.delete(now.metadata.uid);
      unfinished.set(now.metadata.uid, unfinishedOf(now));
      checkLimits();
    },
  };
}

/** Not because somebody has deleted it. */
function hasEnded({ metadata, status }: VirtualMachineInstance): boolean {
  return isFinal(status) && metadata.deletionTimestamp === undefined;
}

function unfinishedOf({ metadata, spec, status }: VirtualMachineInstanceMigration): Unfinished {
  const { name, namespace, annotations } = metadata;
  const node = annotations?.[EVACUATION_MIGRATION_ANNOTATION] ?? "no node";
  const deleting = metadata.deletionTimestamp === undefined ? "" : ", deleting";
  return { name, vmi: `${namespace}/${spec.vmiName}`, node, phase: `${status?.phase ?? "new"}${deleting}` };
}
