/**
 * What pages have read lately, kept for the other visitors of this isolate. A promise is never shared: workerd lets no request wait for
 * another's I/O.
 */
export interface Recent<F> {
  readonly facts: F;
  readonly readAt: Date;
}

interface Slot<F> {
  last?: Recent<F>;
  /** Another request reads it since then. */
  readingSince?: number;
}

/** How long another request's reading is waited for, and how often it is looked after. */
const TIMEOUT_MS = 10_000;
const INTERVAL_MS = 100;
const MOST_KEPT = 64;

export interface Reading<F> {
  readonly key: string;
  readonly maxAgeMs: number;
  /** `last`: what was read before, of which it may keep what changes slowly. */
  read(last: Recent<F> | undefined): Promise<F>;
}

interface Clock {
  readonly now: () => Date;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Of one kind of page. */
export class RecentReads<F> {
  readonly #slots = new Map<string, Slot<F>>();
  readonly #mostKept: number;

  constructor(mostKept = MOST_KEPT) {
    this.#mostKept = mostKept;
  }

  /** What was read last, however old. */
  last(key: string): Recent<F> | undefined {
    return this.#slots.get(key)?.last;
  }

  /** Not older than `maxAgeMs`. Where many ask at the same time, one of them reads. */
  async get(reading: Reading<F>, clock: Clock): Promise<Recent<F>> {
    const slot = this.#slotOf(reading.key);
    for (;;) {
      const now = clock.now().getTime();
      const last = slot.last;
      if (last !== undefined && now - last.readAt.getTime() <= reading.maxAgeMs) return last;
      if (slot.readingSince === undefined || now - slot.readingSince > TIMEOUT_MS) break;
      await clock.sleep(INTERVAL_MS);
    }
    const readAt = clock.now();
    slot.readingSince = readAt.getTime();
    try {
      const recent = { facts: await reading.read(slot.last), readAt };
      slot.last = recent;
      return recent;
    } finally {
      delete slot.readingSince;
    }
  }

  /** The slot that was asked for longest ago makes room, but for one that is being read: others wait for it. */
  #slotOf(key: string): Slot<F> {
    const slot = this.#slots.get(key) ?? {};
    this.#slots.delete(key);
    this.#slots.set(key, slot);
    for (const [oldest, { readingSince }] of this.#slots) {
      if (this.#slots.size <= this.#mostKept) break;
      if (oldest !== key && readingSince === undefined) this.#slots.delete(oldest);
    }
    return slot;
  }
}
