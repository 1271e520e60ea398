/**
 * Dice that fall the same way for the same seed.
 * Owns: the generator, and what is drawn from it. Does not own: what is made of it.
 */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to below 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly [T, ...T[]] | readonly T[]): T {
    const picked = from[this.below(from.length)];
    if (picked === undefined && from.length === 0) throw new Error("nothing to pick from");
    // eslint-disable-next-line typescript/no-unsafe-type-assertion -- undefined may be one of the values
    return picked as T;
  }

  /** `likely` in nine of ten cases. */
  mostly<T>(likely: T, others: readonly T[]): T {
    return this.chance(0.9) ? likely : this.pick(others);
  }
}

/** The dice of one visit: independent of all others, so that a run can begin with any of them. */
export function randomOf(seed: number, visit: number): Random {
  const mixed = new Random(seed ^ Math.imul(visit + 1, 0x9e3779b1));
  mixed.next();
  return new Random(Math.floor(mixed.next() * 2 ** 32));
}
