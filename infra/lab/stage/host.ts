/** The host for a test that runs `lifeboat`, without a terminal. */
import { setTimeout as delay } from "node:timers/promises";
import type { Host } from "../../cli/host.ts";

/** Returns a host without a terminal. `write`: called with all output. Waits end after a moment. */
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
