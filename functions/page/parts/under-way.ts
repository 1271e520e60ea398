/** Evacuations, sorted for a person who looks at a whole cluster. */
import type { Cause } from "../../../shared/policy/cause.ts";
import { isActive, type Phase } from "../../../shared/policy/evacuation/phase.ts";
import { type EvacuationFacts, keyOf } from "../../../shared/policy/facts.ts";

/** Those at the top cannot go on without a person; the last one tries again by itself, and may fail again. */
const NEEDY: readonly Phase[] = ["Blocked", "Abandoned", "WaitingForOwner", "BackingOff"];

/** Of these causes a node loses all of its VMs, or many; of the others a single VM moves. */
const EMPTYING: ReadonlySet<Cause> = new Set([
  "ApiEviction",
  "DrainTaint",
  "NoExecuteTaint",
  "NodePressure",
  "NodeTermination",
]);

export interface Sorted {
  readonly needy: readonly EvacuationFacts[];
  readonly goingOn: readonly EvacuationFacts[];
  /** Newest end first. */
  readonly ended: readonly EvacuationFacts[];
}

export function sortEvacuations(evacuations: readonly EvacuationFacts[]): Sorted {
  const latest = latestOfEach(evacuations);
  const isNeedy = (e: EvacuationFacts) =>
    NEEDY.includes(e.status.phase ?? "Pending") && (isActive(e) || latest.get(keyOfVm(e)) === e);
  const needy = evacuations.filter(isNeedy);
  const rest = evacuations.filter((e) => !isNeedy(e));
  return {
    needy: needy.toSorted((a, b) => rankOf(a) - rankOf(b) || a.createdAt - b.createdAt || byName(a, b)),
    goingOn: rest.filter(isActive).toSorted((a, b) => a.createdAt - b.createdAt || byName(a, b)),
    ended: rest.filter((e) => !isActive(e)).toSorted((a, b) => endOf(b) - endOf(a) || byName(a, b)),
  };
}

/** What was given up needs a person no more once the VM is evacuated anew. */
function latestOfEach(evacuations: readonly EvacuationFacts[]): ReadonlyMap<string, EvacuationFacts> {
  const latest = new Map<string, EvacuationFacts>();
  for (const one of evacuations) {
    const known = latest.get(keyOfVm(one));
    if (known === undefined || newer(one, known)) latest.set(keyOfVm(one), one);
  }
  return latest;
}

function newer(a: EvacuationFacts, b: EvacuationFacts): boolean {
  return a.createdAt > b.createdAt || (a.createdAt === b.createdAt && isActive(a) && !isActive(b));
}

export function keyOfVm({ namespace, spec }: EvacuationFacts): string {
  return keyOf({ namespace, name: spec.vmiName });
}

function rankOf({ status: { phase } }: EvacuationFacts): number {
  return NEEDY.indexOf(phase ?? "Pending");
}

export function endOf({ status: { completionTime } }: EvacuationFacts): number {
  return Date.parse(completionTime ?? "") || 0;
}

function byName(a: EvacuationFacts, b: EvacuationFacts): number {
  return keyOf(a) < keyOf(b) ? -1 : 1;
}

/** A node that VMs leave. */
export interface LeftNode {
  readonly name: string;
  readonly causes: readonly Cause[];
  readonly requestedBy: readonly string[];
  /** Milliseconds since the epoch; undefined: no Evacuation tells of it. */
  readonly since: number | undefined;
  /** Under way, those that wait or are blocked included. */
  readonly leaving: number;
  /** Of these, so many cannot go on without a person. */
  readonly blocked: number;
  /** VMs that have left within the time that Evacuations are kept: their keys. One of them may be back. */
  readonly gone: readonly string[];
}

/**
 * Most of what cannot go on first. `isClosed`: cordoned or tainted; a node that is not loses a single VM now and then, and of one that
 * is, what has left counts, too. Absent: that is not known, and each node that a VM leaves is named.
 */
export function leftNodes(
  evacuations: readonly EvacuationFacts[],
  isClosed?: (node: string) => boolean,
): readonly LeftNode[] {
  const concerned = evacuations.filter(({ spec }) => EMPTYING.has(spec.cause));
  const nodes = [...Map.groupBy(concerned, ({ status }) => status.sourceNode ?? "")].flatMap(([name, own]) => {
    const active = own.filter(isActive).length;
    const isLeft = isClosed === undefined ? active > 0 : active > 1 || isClosed(name);
    return name !== "" && isLeft ? [leftNode(name, own)] : [];
  });
  return nodes.toSorted(
    (a, b) =>
      b.blocked - a.blocked || b.leaving - a.leaving || (a.since ?? 0) - (b.since ?? 0) || (a.name < b.name ? -1 : 1),
  );
}

function leftNode(name: string, own: readonly EvacuationFacts[]): LeftNode {
  const active = own.filter(isActive);
  const left = own.filter(({ status: { phase } }) => phase === "Moved" || phase === "Gone");
  return {
    name,
    causes: [...new Set(own.map(({ spec }) => spec.cause))],
    requestedBy: [...new Set(own.flatMap(({ spec }) => (spec.requestedBy === "" ? [] : [spec.requestedBy])))],
    since: Math.min(...own.map(({ createdAt }) => createdAt)),
    leaving: active.length,
    blocked: active.filter(({ status: { phase } }) => phase === "Blocked" || phase === "WaitingForOwner").length,
    gone: [...new Set(left.map(keyOfVm))],
  };
}

export type PhaseCounts = ReadonlyMap<Phase, number>;

/** Of those that have not ended; one that no function has looked at counts as Pending. */
export function countPhases(evacuations: readonly EvacuationFacts[]): PhaseCounts {
  const counts = new Map<Phase, number>();
  for (const { status } of evacuations.filter(isActive)) {
    const phase = status.phase ?? "Pending";
    counts.set(phase, (counts.get(phase) ?? 0) + 1);
  }
  return counts;
}
