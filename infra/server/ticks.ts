/** The tick: once a minute, as the Worker's cron trigger. */
import { type Clock, pause } from "../relay/clock.ts";

const MINUTE_MS = 60_000;

export interface TicksOptions {
  readonly clock: Clock;
  readonly isLeader: () => boolean;
  /** Gets when it was due: milliseconds since the epoch. */
  readonly tick: (scheduledTime: number) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

/** Full minutes; one that passes during a tick is left out. */
export async function keepTicking({ clock, isLeader, tick, onFailure }: TicksOptions, signal: AbortSignal) {
  while (!signal.aborted) {
    const now = clock.now().getTime();
    const due = (Math.floor(now / MINUTE_MS) + 1) * MINUTE_MS;
    await pause(clock, due - now, signal);
    if (!signal.aborted && isLeader()) await tick(due).catch(onFailure);
  }
}
