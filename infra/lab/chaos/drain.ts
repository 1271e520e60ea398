/** Simulates an administrator who drains a node, and repeats a failed or interrupted drain. */
import { setTimeout as delay } from "node:timers/promises";
import { drainNode } from "../stage/drain-client.ts";
import type { KubeClient } from "../../sandbox/index.ts";

export interface Drain {
  readonly isDone: boolean;
  /** Interrupts the drain, and starts it again after `ms` milliseconds. Returns false if no drain was running. */
  breakOff(ms: number): boolean;
  stop(): Promise<void>;
}

export interface DrainOptions {
  readonly client: KubeClient;
  readonly node: string;
  readonly retryMs: number;
}

const AGAIN_MS = 200;

export function startDrain({ client, node, retryMs }: DrainOptions): Drain {
  const stopped = new AbortController();
  let attempt = new AbortController();
  let pauseMs = AGAIN_MS;
  let done = false;

  const drain = async (): Promise<boolean> => {
    attempt = new AbortController();
    const signal = AbortSignal.any([attempt.signal, stopped.signal]);
    try {
      return await drainNode({ client, node, onLine: () => undefined, signal, retryMs, pollMs: 50 });
    } catch {
      return false;
    } finally {
      // In kubectl, an error about one pod also cancels the requests for the other pods.
      attempt.abort();
    }
  };

  const run = async (): Promise<void> => {
    while (!done && !stopped.signal.aborted) {
      done = await drain();
      if (done) return;
      const ms = pauseMs;
      pauseMs = AGAIN_MS;
      await delay(ms, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  };
  const running = run();

  return {
    get isDone() {
      return done;
    },
    breakOff(ms) {
      if (attempt.signal.aborted) return false;
      pauseMs = ms;
      attempt.abort();
      return true;
    },
    async stop() {
      stopped.abort();
      await running;
    },
  };
}
