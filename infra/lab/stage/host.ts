/** Creates a `Host` for tests that run the command `lifeboat` without a terminal. */
import { setTimeout as delay } from "node:timers/promises";
import type { Host } from "../../cli/host.ts";

/** Returns a host without a terminal. `write` gets all output. Every wait takes only 20 ms. */
export function quietHost(write: (text: string) => unknown = () => true): Host {
  return {
    stdout: { write },
    stderr: { write },
    env: {},
    now: () => new Date(),
    wait: () => delay(20),
    interrupted: new AbortController().signal,
    ask: () => Promise.resolve(undefined),
  };
}
