/** Records the recent changes of a collection, for watches and for lists at a past revision. */
import type { StoredObject } from "./store.ts";

export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly revision: number;
  readonly object: StoredObject;
  readonly previous: StoredObject | undefined;
}

/** The maximum number of recorded changes. The real server drops changes after five minutes instead. */
const KEPT = 10_000;

export class WatchLog {
  /** Called for each change, before the client gets the answer. */
  react: (change: Change) => void = () => undefined;
  #changes: Change[] = [];
  /** Changes up to this revision are no longer in the log. */
  compacted = 0;
  #lastForgotten = 0;
  readonly #bells = new Set<Bell>();

  append(change: Change): void {
    this.#changes.push(change);
    if (this.#changes.length > 2 * KEPT) this.compact(this.#changes[KEPT - 1]?.revision ?? 0);
    for (const bell of this.#bells) bell.ring();
    this.react(change);
  }

  /** Returns the changes after a revision. Returns undefined if the log has dropped some of these changes. */
  since(revision: number): readonly Change[] | undefined {
    if (revision < this.compacted) return undefined;
    return this.#changes.slice(this.#firstAfter(revision));
  }

  /** Returns the first change after a revision. Returns "Forgotten" if the log has dropped this change. */
  after(revision: number): Change | "Forgotten" | undefined {
    return revision < this.#lastForgotten ? "Forgotten" : this.#changes[this.#firstAfter(revision)];
  }

  compact(revision: number): void {
    const kept = this.#firstAfter(revision);
    this.#lastForgotten = this.#changes[kept - 1]?.revision ?? this.#lastForgotten;
    this.#changes = this.#changes.slice(kept);
    this.compacted = Math.max(this.compacted, revision);
  }

  /** Rings the bell at every change. The returned function unsubscribes. */
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

/** Wakes one waiting caller. If no caller waits when the bell rings, the next wait ends at once. */
export class Bell {
  #next = Promise.withResolvers<void>();

  readonly ring = (): void => this.#next.resolve();

  async heard(): Promise<void> {
    await this.#next.promise;
    this.#next = Promise.withResolvers();
  }
}
