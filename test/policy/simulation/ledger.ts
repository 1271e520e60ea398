/**
 * What truly became of every evacuation, as an onlooker sees it who misses nothing.
 * Owns: when an evacuation begins and how it ends, told from the VMI alone. Does not own: what Lifeboat has counted.
 */
import type { VmiFacts } from "../../../shared/policy/facts.ts";
import type { Ending, EvacuationRecord } from "../../../shared/policy/record.ts";

type Ended = Pick<Ending, "cause"> & { readonly outcome: Ending["outcome"] | "Lost" };

export class Ledger {
  readonly #ended = new Map<string, Ended>();

  /** A VMI has changed. */
  observe(before: VmiFacts, after: VmiFacts): void {
    for (const record of [before.record, after.record]) {
      if (record !== undefined) this.#end(`${after.uid}/${record.id}`, endOf(record, after));
    }
  }

  #end(key: string, ended: Ended | undefined): void {
    if (ended !== undefined && !this.#ended.has(key)) this.#ended.set(key, ended);
  }

  /** Cause and outcome to the number of evacuations that ended so, of those VMIs. */
  sums(isOf: (vmiUID: string) => boolean = () => true): Readonly<Record<string, number>> {
    const sums: Record<string, number> = {};
    for (const [key, { cause, outcome }] of this.#ended) {
      if (!isOf(key.split("/")[0] ?? "")) continue;
      sums[`${cause} ${outcome}`] = (sums[`${cause} ${outcome}`] ?? 0) + 1;
    }
    return sums;
  }
}

/** An evacuation whose record goes without a word has moved the VMI: anything else would be lost. */
function endOf({ id, cause, node, outcome }: EvacuationRecord, after: VmiFacts): Ended | undefined {
  if (outcome !== undefined) return { cause, outcome };
  if (after.nodeName !== node) return { cause, outcome: "Moved" };
  return after.record?.id === id ? undefined : { cause, outcome: "Lost" };
}
