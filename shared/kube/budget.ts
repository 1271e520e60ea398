/**
 * How much may be in memory of what a tenant can make large and ask for hundreds of times: bodies of reviews, and the answers to their
 * reads.
 */

/** An answer takes four times its length for a moment; an isolate has 128 MB. An eviction of an ordinary VM takes 60 KB. */
export const MOST_BYTES = 24 * 1024 * 1024;

/** As many as a node has pods at most: a drain asks for all of them at once. Each takes 100 KB beside what it reads. */
export const MOST_REVIEWS = 250;

/** Longer than any review. A Worker's invocation may be stopped without a word: what it held would be held for ever. */
const LONGEST_MS = 60_000;

export interface Held {
  /** Whether there is room for so many bytes more, which then count until the end. */
  take(bytes: number): boolean;
  end(): void;
}

const REFUSED: Held = { take: () => false, end: () => undefined };

interface Lease {
  readonly until: number;
  readonly reviews: number;
  bytes: number;
}

export class Budget {
  readonly #leases = new Set<Lease>();
  #reviews = 0;
  #bytes = 0;

  openReview(now: Date): Held {
    return this.#reviews < MOST_REVIEWS ? this.#open(now, MOST_BYTES, 1) : REFUSED;
  }

  /** For what follows an answer: as many as there were reviews. */
  open(now: Date): Held {
    return this.#open(now, MOST_BYTES);
  }

  /** For everything else. It leaves less for reviews, but no tenant decides how much of it there is at a time: never refused. */
  count(now: Date): Held {
    return this.#open(now, Infinity);
  }

  #open(now: Date, most: number, reviews = 0): Held {
    for (const lease of this.#leases) {
      if (lease.until > now.getTime()) break;
      this.#end(lease);
    }
    const lease: Lease = { until: now.getTime() + LONGEST_MS, reviews, bytes: 0 };
    this.#leases.add(lease);
    this.#reviews += reviews;
    return {
      take: (bytes) => {
        if (!this.#leases.has(lease)) return most === Infinity;
        if (this.#bytes + bytes > most && !this.#isOldestReview(lease)) return false;
        this.#bytes += bytes;
        lease.bytes += bytes;
        return true;
      },
      end: () => this.#end(lease),
    };
  }

  /** It may always continue: if each of many reviews held its pod, and had no room for its VM, none would ever be answered. */
  #isOldestReview(lease: Lease): boolean {
    for (const one of this.#leases) if (one.reviews > 0) return one === lease;
    return false;
  }

  #end(lease: Lease): void {
    if (!this.#leases.delete(lease)) return;
    this.#reviews -= lease.reviews;
    this.#bytes -= lease.bytes;
  }
}
