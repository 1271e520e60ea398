/**
 * Counts the created objects that are not yet in a controller's cache. As in KubeVirt, each new object in the cache
 * lowers the count, even if another client has created it.
 */
import type { Clock } from "../../actors/clock.ts";

export type Expectations = ReturnType<typeof createExpectations>;

const EXPIRES_MS = 5 * 60_000;

export function createExpectations(clock: Clock) {
  const expected = new Map<string, { readonly left: number; readonly since: number }>();
  const isMet = (key: string) => {
    const { left = 0, since = 0 } = expected.get(key) ?? {};
    return left <= 0 || clock.now().getTime() - since > EXPIRES_MS;
  };
  return {
    expect: (key: string, count: number) => void expected.set(key, { left: count, since: clock.now().getTime() }),
    observe(key: string) {
      const { left, since } = expected.get(key) ?? { left: 0, since: 0 };
      if (left > 1) expected.set(key, { left: left - 1, since });
      else expected.delete(key);
    },
    isMet,
    areAllMet: () => [...expected.keys()].every(isMet),
  };
}
