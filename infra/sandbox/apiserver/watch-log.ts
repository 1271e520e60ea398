/**
 * Records the recent changes of a collection, for watches and for lists at a past revision. A change wakes the watches,
 * which then read the log at their own pace.
 */
import type { StoredObject } from "./store.ts";

export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly revision: number;
  readonly object: StoredObject;
  readonly previous: StoredObject | undefined;
}

/** The number of changes that are kept. The real server removes changes after five minutes instead. */
const KEPT = 10_000;

export class WatchLog {
  /** Called for each change, before the request that made the change is answered. */
  react: (change: Change) => void = () => undefined;
  #changes: Change[] = [];
  /** The log has dropped the changes up to this revision. */
  compacted = 0;
  #lastForgotten = 0;
  readonly #bells = new Set<Bell>();

  append(change: Change): void {
    this.#changes.push(change);
    if (this.#changes.length > 2 * KEPT) this.compact(this.#changes[KEPT - 1]?.revision ?? 0);
    for (const bell of this.#bells) bell.ring();
    this.react(change);
  }

  /** Returns the changes after a revision. Returns undefined if the log no longer has all of them. */
  since(revision: number): readonly Change[] | undefined {
    if (revision < this.compacted) return undefined;
    return this.#changes.slice(this.#firstAfter(revision));
  }

  /**
   * Returns the next change for a watch that has already sent all changes up to this revision. Returns "Forgotten" if
   * the log no longer has that change.
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

  /** Rings the bell at every change. The returned function ends the subscription. */
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

/** Wakes one sleeper. If the bell rings before the sleep starts, the sleep ends at once. */
export class Bell {
  #next = Promise.withResolvers<void>();

  readonly ring = (): void => this.#next.resolve();

  async heard(): Promise<void> {
    await this.#next.promise;
    this.#next = Promise.withResolvers();
  }
}
