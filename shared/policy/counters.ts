/**
 * The counters: how evacuations ended, by cause, counted exactly once whoever counts and whoever dies meanwhile.
 * Owns: what is still to be counted, and the register after counting it. Does not own: the compare-and-set that makes it
 * true (shared/cluster), nor which evacuations have ended (record.ts).
 *
 * What has ended stays on its VMI until it is seen to be counted, and sums and ids are written together. So whoever
 * finds an ending that the register does not name counts it, and whoever has stalled fails to write. For that the register
 * is read before the VMIs: what was counted and has left its VMI since is then never taken for uncounted, however
 * few ids are remembered.
 */
import type { Action } from "./action.ts";
import type { VmiFacts } from "./facts.ts";
import { endingsOf, type Ending, type EvacuationCount } from "./record.ts";

export interface CountersRegister {
  /** Absent if the ConfigMap does not exist yet. */
  readonly resourceVersion?: string;
  readonly evacuations: readonly EvacuationCount[];
  /** The evacuations counted last, oldest first: see `countKey`. */
  readonly counted: readonly string[];
}

/**
 * `Off`: the register may not be read, or is none: nothing is counted and nothing waits for that. `Unseen`: it could not
 * be read just now: what has ended waits.
 */
export type Counters = CountersRegister | "Off" | "Unseen";

/** Ids kept besides those that VMIs still tell of, for people to look up: about 45 bytes each. */
const REMEMBERED = 1000;

export function countKey(vmi: { readonly uid: string }, { id }: { readonly id: string }): string {
  return `${vmi.uid}/${id}`;
}

/** Evacuations of the VMI that have ended and are still to be counted. */
export function uncountedOf(vmi: VmiFacts, counters: Counters): readonly Ending[] {
  if (counters === "Off") return [];
  const endings = endingsOf(vmi);
  if (counters === "Unseen") return endings;
  return endings.filter((ending) => !counters.counted.includes(countKey(vmi, ending)));
}

/** One write for everything that has ended. `remembered`: how many ids are kept that no VMI tells of any more. */
export function countEndings(
  vmis: readonly VmiFacts[],
  counters: Counters,
  remembered = REMEMBERED,
): readonly Extract<Action, { verb: "WriteCounters" }>[] {
  if (counters === "Off" || counters === "Unseen") return [];
  const fresh = new Map(
    vmis.flatMap((vmi) => uncountedOf(vmi, counters).map((ending) => [countKey(vmi, ending), ending])),
  );
  if (fresh.size === 0) return [];
  const { resourceVersion } = counters;
  const told = new Set(vmis.flatMap(keysOf));
  const all = [...counters.counted, ...fresh.keys()];
  const counted = all.filter((key, i) => i >= all.length - remembered || told.has(key));
  const evacuations = added(counters.evacuations, [...fresh.values()]);
  return [
    { verb: "WriteCounters", evacuations, counted, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
  ];
}

/** Every evacuation that the VMI tells of, ended or not: an id is remembered at least until it is gone from there. */
function keysOf(vmi: VmiFacts): readonly string[] {
  const { record } = vmi;
  return record === undefined ? [] : [record, ...(record.uncounted ?? [])].map((one) => countKey(vmi, one));
}

function added(counts: readonly EvacuationCount[], endings: readonly Ending[]): readonly EvacuationCount[] {
  const sums = new Map(counts.map((one) => [`${one.cause} ${one.outcome}`, one]));
  for (const { cause, outcome } of endings) {
    const key = `${cause} ${outcome}`;
    sums.set(key, { cause, outcome, count: (sums.get(key)?.count ?? 0) + 1 });
  }
  return [...sums.values()];
}
