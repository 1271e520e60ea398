/** An administrator who drains a node until it is drained: when the drain fails, or is broken off, it begins again. */
import { setTimeout as delay } from "node:timers/promises";
import { drainNode } from "../stage/drain-client.ts";
import type { KubeClient } from "../../sandbox/index.ts";

export interface Drain {
  /** Whether it has come to its end. */
  readonly isDone: boolean;
  /** It begins again after so long; false: there was none to break off. */
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
      // One pod's error ends kubectl; the others' requests must end with it.
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
