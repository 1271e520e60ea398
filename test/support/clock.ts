/** A virtual clock. Its time advances only when all work waits for the clock. Waits take no real time. */
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Platform } from "../../functions/env.ts";

/**
 * Computes a digest immediately. WebCrypto's own digest takes several turns of the event loop. The results are equal,
 * so no test restores the original.
 */
async function digest(_: unknown, data: Uint8Array): Promise<ArrayBuffer> {
  return new Uint8Array(createHash("sha256").update(new Uint8Array(data)).digest()).buffer;
}
Object.defineProperty(crypto.subtle, "digest", { value: digest, configurable: true, writable: true });

interface Alarm {
  readonly at: number;
  readonly ring: () => void;
}

/**
 * The number of turns of the event loop before the clock advances. Work that does not wait finishes within fewer turns.
 */
const TURNS = 3;
/**
 * The number of checks without a pending wait before the clock gives up. A busy machine can need many turns for its
 * file system.
 */
const PATIENCE = 3000;

export class VirtualClock {
  #now: number;
  /** The alarms, latest first. */
  readonly #alarms: Alarm[] = [];

  constructor(now: Date) {
    this.#now = now.getTime();
  }

  now(): Date {
    return new Date(this.#now);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#set(ms, resolve));
  }

  /** Returns a signal like `AbortSignal.timeout`, but uses this clock. */
  timeout(ms: number): AbortSignal {
    const controller = new AbortController();
    this.#set(ms, () => controller.abort(new DOMException("the deadline has passed", "TimeoutError")));
    return controller.signal;
  }

  get platform(): Pick<Platform, "now" | "sleep" | "timeout"> {
    return { now: () => this.now(), sleep: (ms) => this.sleep(ms), timeout: (ms) => this.timeout(ms) };
  }

  /** Returns the result of the work. Advances the clock until the work is done. */
  async outcome<T>(work: Promise<T>): Promise<T> {
    if (!(await this.settle([work]))) throw new Error("the work never ends");
    return await work;
  }

  pass(seconds: number): void {
    this.#now += seconds * 1000;
  }

  /** Advances the clock until all work is settled. Returns false if some work waits for an event that never comes. */
  async settle(work: readonly Promise<unknown>[]): Promise<boolean> {
    let settled = false;
    void Promise.allSettled(work).then(() => (settled = true));
    for (let idle = 0; idle < PATIENCE; idle++) {
      for (let turn = 0; turn < TURNS; turn++) await setImmediate();
      if (settled) return true;
      if (this.#ringNext()) idle = 0;
    }
    return false;
  }

  #set(ms: number, ring: () => void): void {
    const at = this.#now + Math.max(0, ms);
    const index = this.#alarms.findLastIndex((alarm) => alarm.at > at);
    this.#alarms.splice(index + 1, 0, { at, ring });
  }

  #ringNext(): boolean {
    const alarm = this.#alarms.pop();
    if (alarm === undefined) return false;
    this.#now = Math.max(this.#now, alarm.at);
    alarm.ring();
    return true;
  }
}
