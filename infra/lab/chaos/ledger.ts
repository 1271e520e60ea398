/** What must be true all the time, checked with every change of the cluster. */
import { mayStop } from "../demo/summary.ts";
import { viewOfVmi } from "../stage/world.ts";
import { keyOf } from "../../sandbox/actors/resources.ts";
import {
  isFinal,
  type VirtualMachineInstance,
  type VirtualMachineInstanceMigration,
} from "../../sandbox/kubevirt/resources.ts";
import type { Listener } from "./observer.ts";
import { WIRE } from "./wire.ts";

export interface Ledger extends Pick<Listener, "vmiChanged" | "migrationChanged"> {
  /** What was not as it must be, in words. */
  readonly breaches: readonly string[];
  /** The most migrations that ran at once. */
  readonly mostRunning: number;
  /** Limits that would have let no further one begin. */
  readonly reached: ReadonlySet<keyof Limits>;
  /** How many VMs the shield has covered. */
  readonly shielded: number;
  readonly report: (what: string) => void;
}

export interface Limits {
  readonly cluster: number;
  readonly node: number;
}

interface Unfinished {
  readonly name: string;
  readonly vmi: string;
  readonly phase: string;
  /** It waits in KubeVirt's queue. */
  readonly isQueued: boolean;
  /** That the VM leaves; known once the migration runs. */
  readonly node: string | undefined;
}

export interface LedgerOptions {
  readonly limits: Limits;
  /** Keys of VMIs that a taint or a kubelet may end: none that the shield has covered in time. */
  readonly letGo: Set<string>;
  /** Milliseconds since the run began; later a kubelet may have sent SIGTERM before the shield was there. */
  readonly coveredBy: number;
  /** Milliseconds since the run began. */
  readonly elapsed: () => number;
}

export function createLedger({ limits, letGo, coveredBy, elapsed }: LedgerOptions): Ledger {
  const breaches: string[] = [];
  const unfinished = new Map<string, Unfinished>();
  const nodes = new Map<string, string | undefined>();
  const shielded = new Set<string>();
  const reached = new Set<keyof Limits>();
  /** What lasts is told once. */
  const told = new Set<string>();
  let mostRunning = 0;
  const report = (what: string) => void breaches.push(`${Math.round(elapsed())} ms: ${what}`);

  const check = (limit: keyof Limits, where: string, found: readonly Unfinished[]): void => {
    const allowed = limits[limit];
    if (found.length >= allowed) reached.add(limit);
    const excess = `${found.length} migrations run ${where}`;
    if (found.length <= allowed || told.has(excess)) return;
    told.add(excess);
    const names = found.map(({ name, phase }) => `${name} (${phase})`).join(", ");
    report(`${excess}, ${allowed} allowed: ${names}`);
  };

  const checkLimits = (): void => {
    const running = [...unfinished.values()].filter(({ isQueued }) => !isQueued);
    mostRunning = Math.max(mostRunning, running.length);
    check("cluster", "in the cluster", running);
    // As virt-controller counts: a VM that is gone leaves no node any more, whatever becomes of its migration.
    const leaving = running.filter(({ vmi }) => nodes.has(vmi));
    for (const [node, from] of Map.groupBy(leaving, (m) => m.node)) check("node", `from ${node}`, from);
  };

  const noteShield = (vmi: VirtualMachineInstance): void => {
    if (shieldOf(vmi) === "" || shielded.has(keyOf(vmi))) return;
    shielded.add(keyOf(vmi));
    if (elapsed() < coveredBy) letGo.delete(keyOf(vmi));
  };

  return {
    get breaches() {
      return breaches;
    },
    get mostRunning() {
      return mostRunning;
    },
    get shielded() {
      return shielded.size;
    },
    reached,
    report,
    vmiChanged(now, before) {
      if (before !== undefined) nodes.delete(keyOf(before));
      if (now === undefined) return;
      nodes.set(keyOf(now), now.status?.nodeName);
      noteShield(now);
      if (!hasEnded(now) || mayEnd(before, now) || letGo.has(keyOf(now))) return;
      report(`${keyOf(now)} has ended (${now.status?.phase}) on ${now.status?.nodeName}${shieldOf(now)}`);
    },
    migrationChanged(now, before) {
      if (before !== undefined && before.metadata.uid !== now?.metadata.uid) unfinished.delete(before.metadata.uid);
      if (now === undefined) return;
      const { uid } = now.metadata;
      if (isFinal(now.status)) return void unfinished.delete(uid);
      const seen = unfinishedOf(now);
      unfinished.set(uid, seen.isQueued ? seen : { ...seen, node: unfinished.get(uid)?.node ?? nodes.get(seen.vmi) });
      checkLimits();
    },
  };
}

function shieldOf({ metadata }: VirtualMachineInstance): string {
  const shield = metadata.labels?.[WIRE.shieldLabel];
  return shield === undefined ? "" : `, shielded (${shield})`;
}

/** Not because its owner has deleted it. */
function hasEnded({ metadata, status }: VirtualMachineInstance): boolean {
  return isFinal(status) && metadata.deletionTimestamp === undefined;
}

/** They take no place: without a target pod, or their other end has not answered. */
const QUEUED: readonly string[] = ["", "Pending", "Synchronizing", "WaitingForSync"];

/** It has been told before, or its strategy lets it stop. */
function mayEnd(before: VirtualMachineInstance | undefined, now: VirtualMachineInstance): boolean {
  if (before !== undefined && hasEnded(before)) return true;
  return mayStop(viewOfVmi(before ?? now), viewOfVmi(now));
}

function unfinishedOf({ metadata, spec, status }: VirtualMachineInstanceMigration): Unfinished {
  const { name, namespace } = metadata;
  const { phase = "" } = status ?? {};
  const deleting = metadata.deletionTimestamp === undefined ? "" : ", deleting";
  return {
    name,
    vmi: `${namespace}/${spec.vmiName}`,
    phase: `${phase || "new"}${deleting}`,
    isQueued: QUEUED.includes(phase),
    node: undefined,
  };
}
