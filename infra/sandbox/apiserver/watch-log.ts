/**
 * The recent changes of one collection, for watches that start in the past and for lists of a past revision.
 * Owns: how far back they reach, who hears of new ones. Does not own: what a client sees of them (watch.ts).
 */
import type { StoredObject } from "./store.ts";

export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly revision: number;
  readonly object: StoredObject;
  readonly previous: StoredObject | undefined;
}

/** The real server compacts after five minutes; we after so many changes. */
const KEPT = 10_000;

export class WatchLog {
  #changes: Change[] = [];
  #compacted = 0;
  readonly #listeners = new Set<(change: Change) => void>();

  /** Changes up to this revision are forgotten. */
  get compacted(): number {
    return this.#compacted;
  }

  append(change: Change): void {
    this.#changes.push(change);
    if (this.#changes.length > 2 * KEPT) this.compact(this.#changes[KEPT - 1]?.revision ?? 0);
    for (const listener of this.#listeners) listener(change);
  }

  /** undefined: the log no longer reaches back so far. */
  since(revision: number): readonly Change[] | undefined {
    if (revision < this.#compacted) return undefined;
    return this.#changes.slice(this.#firstAfter(revision));
  }

  compact(revision: number): void {
    this.#changes = this.#changes.slice(this.#firstAfter(revision));
    this.#compacted = Math.max(this.#compacted, revision);
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #firstAfter(revision: number): number {
    let [low, high] = [0, this.#changes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#changes[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
