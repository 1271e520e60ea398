/**
 * The loop of every controller. It determines the keys that a change affects, reconciles them, and retries failed keys.
 */
import type { Clock } from "./clock.ts";
import type { Informer } from "./informer.ts";
import type { KubeObject } from "./resources.ts";
import { isConflict, isNotFound } from "./status-error.ts";

/** The milliseconds until the next reconcile, if the object does not change earlier. */
export type Result = { readonly requeueAfterMs: number } | void;

export interface ControllerOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly reconcile: (key: string) => Promise<Result>;
  /**
   * The maximum number of keys that are reconciled at the same time. Two reconciles of the same key never overlap.
   */
  readonly workers?: number;
  /** The maximum back-off in milliseconds. The back-off starts at 5 ms and doubles with each failure. */
  readonly lastRetryMs?: number;
  /** Called with each failure, except for conflicts and missing objects. */
  readonly onError?: (error: unknown, key: string) => void;
}

export interface Controller {
  enqueue(key: string, afterMs?: number): void;
  /** Reconciles the keys of every object in the informer's cache, and later the keys of each changed object. */
  watch<T extends KubeObject>(informer: Informer<T>, keysOf: (object: T) => readonly string[]): void;
  stop(): Promise<void>;
}

const FIRST_RETRY_MS = 5;
const LAST_RETRY_MS = 10_000;

export function startController(options: ControllerOptions): Controller {
  const { clock, reconcile, workers = 4, lastRetryMs = LAST_RETRY_MS } = options;
  const waiting = new Set<string>();
  const active = new Map<string, Promise<void>>();
  const timers = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  const failures = new Map<string, number>();
  let stopped = false;

  const enqueue = (key: string, afterMs = 0) => {
    if (stopped) return;
    if (afterMs > 0) return schedule(key, afterMs);
    waiting.add(key);
    next();
  };

  /** Reconciles the key later. If the key already has a timer, keeps only the timer that fires first. */
  const schedule = (key: string, afterMs: number) => {
    const at = clock.now().getTime() + afterMs;
    const pending = timers.get(key);
    if (pending !== undefined && pending.at <= at) return;
    pending?.cancel();
    const cancel = clock.setTimer(afterMs, () => {
      timers.delete(key);
      enqueue(key);
    });
    timers.set(key, { at, cancel });
  };

  const next = () => {
    for (const key of waiting) {
      if (active.size >= workers) return;
      if (active.has(key)) continue;
      waiting.delete(key);
      active.set(key, work(key));
    }
  };

  const work = async (key: string) => {
    // Waits for simultaneous changes, so that one reconcile handles all of them.
    await Promise.resolve();
    try {
      const result = await reconcile(key);
      failures.delete(key);
      if (result !== undefined) enqueue(key, Math.max(1, result.requeueAfterMs));
    } catch (error) {
      const count = failures.get(key) ?? 0;
      failures.set(key, count + 1);
      if (!stopped && !isConflict(error) && !isNotFound(error)) options.onError?.(error, `${options.name} ${key}`);
      enqueue(key, Math.min(FIRST_RETRY_MS * 2 ** count, lastRetryMs));
    } finally {
      active.delete(key);
      next();
    }
  };

  return {
    enqueue,
    watch(informer, keysOf) {
      informer.onChange((object, previous) => {
        for (const state of [previous, object]) if (state !== undefined) for (const key of keysOf(state)) enqueue(key);
      });
      for (const object of informer.list()) for (const key of keysOf(object)) enqueue(key);
    },
    async stop() {
      stopped = true;
      waiting.clear();
      for (const { cancel } of timers.values()) cancel();
      await Promise.all(active.values());
    },
  };
}
