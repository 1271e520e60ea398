/**
 * What pages have read lately, kept for the other watchers of this isolate. A promise is never shared: workerd lets no request wait for
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

/** How long another request's reading is waited for, and how often it is looked after. Milliseconds. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 100;
const MOST_KEPT = 64;

export interface Reading<F> {
  readonly key: string;
  readonly maxAgeMs: number;
  read(): Promise<F>;
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
      if (slot.readingSince === undefined || now - slot.readingSince > PATIENCE_MS) break;
      await clock.sleep(LOOK_MS);
    }
    const begun = clock.now();
    slot.readingSince = begun.getTime();
    try {
      const recent = { facts: await reading.read(), readAt: begun };
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
