/** Patience: how long until, how long since, by a clock that is passed in. Times are RFC 3339, as Kubernetes writes them. */
import type { Settings } from "./settings.ts";

/** What every decision knows besides its facts. */
export interface Moment {
  readonly settings: Settings;
  readonly now: Date;
}

export function secondsAfter(now: Date, seconds: number): string {
  return new Date(now.getTime() + seconds * 1000).toISOString();
}

/** As Kubernetes writes times, and people read them. */
export function withoutFractions(time: string): string {
  return time.replace(/\.\d+Z$/, "Z");
}

/** Seconds until then; 0 if that is over, absent or no time. */
export function secondsUntil(time: string | undefined, now: Date): number {
  return Math.max(0, -secondsSince(time, now) || 0);
}

/** Seconds since then, negative if it is to come; NaN if it is absent or no time. */
export function secondsSince(time: string | number | undefined, now: Date): number {
  const began = typeof time === "number" ? time : Date.parse(time ?? "");
  return (now.getTime() - began) / 1000;
}
