/** Times in RFC 3339, by a clock that the caller passes in, and durations in words for the command and the pages. */
import type { Facts } from "../facts/facts.ts";
import type { Settings } from "./settings.ts";

/** The inputs of every decision. */
export interface Moment {
  readonly settings: Settings;
  readonly now: Date;
}

/** The inputs of a decision that also reads facts from the cluster. */
export interface Deciding extends Moment {
  readonly facts: Facts;
}

export function secondsAfter(now: Date, seconds: number): string {
  return new Date(now.getTime() + seconds * 1000).toISOString();
}

/**
 * Renders a time in whole seconds, as Kubernetes writes it. Do not use this function for a time that a rule compares:
 * without its fraction, the time would be too early.
 */
export function wholeSeconds(time: Date): string {
  return withoutFractions(time.toISOString());
}

/** Renders a time without fractions, as Kubernetes writes it. */
export function withoutFractions(time: string): string {
  return time.replace(/\.\d+Z$/, "Z");
}

/** Returns the seconds until a time. Returns 0 if the time has passed, is absent or is malformed. */
export function secondsUntil(time: string | undefined, now: Date): number {
  return Math.max(0, -secondsSince(time, now) || 0);
}

/**
 * Returns the seconds since a time, negative if the time is in the future. Returns NaN if the time is absent or
 * malformed.
 */
export function secondsSince(time: string | number | undefined, now: Date): number {
  const began = typeof time === "number" ? time : Date.parse(time ?? "");
  return (now.getTime() - began) / 1000;
}

const UNITS = [
  [86_400, "d"],
  [3600, "h"],
  [60, "m"],
] as const;

/** Renders a duration as kubectl renders ages: with a second unit if the first number is below 10. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 120) return `${whole}s`;
  for (const [size, unit] of UNITS) {
    const count = Math.floor(whole / size);
    if (count === 0 || (count === 1 && unit !== "m")) continue;
    const [smaller, name] = unit === "d" ? [3600, "h"] : unit === "h" ? [60, "m"] : [1, "s"];
    const rest = Math.floor((whole % size) / smaller);
    return count < 10 && rest > 0 ? `${count}${unit}${rest}${name}` : `${count}${unit}`;
  }
  return `${whole}s`;
}
