/** A client's rate limit, as in client-go. It limits the requests per second, and the size of a burst. */
import type { Clock } from "./clock.ts";

export interface RateLimiter {
  take(): Promise<void>;
}

export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

export function createRateLimiter(clock: Clock, { perSecond, burst }: RateLimit): RateLimiter {
  const intervalMs = 1000 / perSecond;
  /** The time in milliseconds at which the next request would be due if no bursts were allowed. */
  let evenly = 0;
  return {
    async take() {
      const now = clock.now().getTime();
      evenly = Math.max(evenly, now);
      const waitMs = evenly - (burst - 1) * intervalMs - now;
      evenly += intervalMs;
      if (waitMs > 0) await new Promise<void>((resolve) => void clock.setTimer(waitMs, resolve));
    },
  };
}
