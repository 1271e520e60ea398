/** Starts a sandbox for a test file. The tests advance the sandbox's clock. */
import { afterAll, beforeAll, expect } from "vitest";
import { createSteppedClock, type SteppedClock } from "../actors/clock.ts";
import type { Key, KubeObject, Resource } from "../actors/resources.ts";
import { waitFor } from "../actors/wait-for.ts";
import { startSandbox, type SimulatedOptions, type SimulatedSandbox } from "../sandbox.ts";

export function eventually<T>(ask: () => T | Promise<T>) {
  return expect.poll(ask, { timeout: 20_000, interval: 20 });
}

export interface World {
  readonly sandbox: SimulatedSandbox;
  readonly clock: SteppedClock;
  until<T extends KubeObject>(resource: Resource<T>, key: Key, condition: (object: T) => boolean): Promise<T>;
  /** Advances the clock, second by second, until the condition is true. */
  pass(condition: () => Promise<boolean>, limitSeconds?: number): Promise<void>;
}

/**
 * Starts a sandbox before the tests. Call the methods of the returned object only in tests and hooks. A test fails if
 * the sandbox reports an error that does not match `expected`.
 */
export function useSandbox(options: Omit<SimulatedOptions, "clock" | "controlPlane"> = {}, expected = /^$/): World {
  const clock = createSteppedClock();
  const failures: unknown[] = [];
  let sandbox: SimulatedSandbox | undefined;
  beforeAll(async () => {
    sandbox = await startSandbox({ ...options, clock, onError: (error) => failures.push(error) });
  });
  afterAll(async () => {
    await sandbox?.stop();
    expect(failures.filter((error) => !expected.test(String(error)))).toEqual([]);
  });
  const started = () => {
    if (sandbox === undefined) throw new Error("the sandbox is not started yet");
    return sandbox;
  };
  return {
    clock,
    get sandbox() {
      return started();
    },
    until: (resource, key, until) =>
      waitFor(started().client, { resource, key, what: "as expected", until, timeoutMs: 20_000 }),
    async pass(condition, limitSeconds = 3_600) {
      for (let second = 0; second < limitSeconds; second++) {
        if (await condition()) return;
        clock.advance(1_000);
      }
      throw new Error(`the condition is still false after ${limitSeconds} s of the sandbox's clock`);
    },
  };
}
