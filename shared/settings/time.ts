/** Handles times in RFC 3339 and renders durations as text. The caller passes in the current time. */
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

/** The last time that Kubernetes can write. */
const LAST = Date.UTC(9999, 11, 31, 23, 59, 59);

/**
 * Returns the time this many seconds after `now`, in RFC 3339. Returns the last second of 9999 if the time is later or
 * NaN.
 */
export function secondsAfter(now: Date, seconds: number): string {
  const time = now.getTime() + seconds * 1000;
  return new Date(time < LAST ? time : LAST).toISOString();
}

/**
 * Renders a time in whole seconds, as Kubernetes does. Do not use this function for a time that a rule compares,
 * because the result can be up to one second too early.
 */
export function wholeSeconds(time: Date): string {
  return withoutFractions(time.toISOString());
}

/** Removes the fractions of a second, as Kubernetes does. */
export function withoutFractions(time: string): string {
  return time.replace(/\.\d+Z$/, "Z");
}

/** Returns the seconds until a time. Returns 0 if the time is in the past, absent or invalid. */
export function secondsUntil(time: string | undefined, now: Date): number {
  return Math.max(0, -secondsSince(time, now) || 0);
}

/**
 * Returns the seconds since a time. The result is negative if the time is in the future, and NaN if the time is absent
 * or invalid.
 */
export function secondsSince(time: string | number | undefined, now: Date): number {
  const began = typeof time === "number" ? time : Date.parse(time ?? "");
  return (now.getTime() - began) / 1000;
}

const RFC_3339 = /^\d{4}-\d\d-\d\d([Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d))?$/;

/** Returns whether the text is a time in RFC 3339, or a date. `Date.parse` also accepts texts such as `week 1`. */
export function isTimeText(text: string): boolean {
  return RFC_3339.test(text) && !Number.isNaN(Date.parse(text));
}

/** Returns whether a time has come. Returns false for a text that is not a time. */
export function hasCome(time: string, now: Date): boolean {
  return isTimeText(time) && secondsSince(time, now) >= 0;
}

const UNITS = [
  [86_400, "d"],
  [3600, "h"],
  [60, "m"],
] as const;

/** Renders a duration, such as 90s, 9m30s, 90m or 2d4h. A second unit is added if the first number is below 10. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 120) return `${whole}s`;
  for (const [size, unit] of UNITS) {
    const count = Math.floor(whole / size);
    if (count < 2) continue;
    const [smaller, name] = unit === "d" ? [3600, "h"] : unit === "h" ? [60, "m"] : [1, "s"];
    const rest = Math.floor((whole % size) / smaller);
    return count < 10 && rest > 0 ? `${count}${unit}${rest}${name}` : `${count}${unit}`;
  }
  return `${whole}s`;
}
