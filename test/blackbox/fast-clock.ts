/**
 * A clock that runs faster than the world's: KubeVirt's own back-off of 20 s then passes in a moment.
 * Owns: that. Since only the cluster runs by it, it also shows that Lifeboat never compares its clock with a cluster's.
 */
import type { Clock } from "../../infra/sandbox/actors/clock.ts";

export function createFastClock(times: number): Clock {
  const start = Date.now();
  return {
    now: () => new Date(start + (Date.now() - start) * times),
    setTimer(ms, fn) {
      const timer = setTimeout(fn, ms / times);
      return () => clearTimeout(timer);
    },
  };
}
