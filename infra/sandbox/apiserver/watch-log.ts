/**
 * Records the recent changes of one collection, for watches and for lists of a past revision. A write only wakes the
 * watches. Each watch then reads the log from its own position.
 */
import type { StoredObject } from "./store.ts";

export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly revision: number;
  readonly object: StoredObject;
  readonly previous: StoredObject | undefined;
}

/** How many changes are kept. The real server forgets changes after five minutes instead. */
const KEPT = 10_000;

export class WatchLog {
  /** Called for each change, within the request that makes the change. */
  react: (change: Change) => void = () => undefined;
  #changes: Change[] = [];
  /** Changes up to this revision are forgotten. */
  compacted = 0;
  #lastForgotten = 0;
  readonly #bells = new Set<Bell>();

  append(change: Change): void {
    this.#changes.push(change);
    if (this.#changes.length > 2 * KEPT) this.compact(this.#changes[KEPT - 1]?.revision ?? 0);
    for (const bell of this.#bells) bell.ring();
    this.react(change);
  }

  /** Returns the changes since a revision. Returns undefined if the log no longer has that revision. */
  since(revision: number): readonly Change[] | undefined {
    if (revision < this.compacted) return undefined;
    return this.#changes.slice(this.#firstAfter(revision));
  }

  /**
   * Returns the next change for a watch that has seen all changes up to this revision. "Forgotten": the log no longer
   * has the change.
   */
  after(revision: number): Change | "Forgotten" | undefined {
    return revision < this.#lastForgotten ? "Forgotten" : this.#changes[this.#firstAfter(revision)];
  }

  compact(revision: number): void {
    const kept = this.#firstAfter(revision);
    this.#lastForgotten = this.#changes[kept - 1]?.revision ?? this.#lastForgotten;
    this.#changes = this.#changes.slice(kept);
    this.compacted = Math.max(this.compacted, revision);
  }

  /** Rings the bell at every change, until the returned function is called. */
  subscribe(bell: Bell): () => void {
    this.#bells.add(bell);
    return () => this.#bells.delete(bell);
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

/** Wakes one sleeper. If it rings before the sleep starts, the sleep ends at once. Ringing cannot fail. */
export class Bell {
  #next = Promise.withResolvers<void>();

  readonly ring = (): void => this.#next.resolve();

  async heard(): Promise<void> {
    await this.#next.promise;
    this.#next = Promise.withResolvers();
  }
}
