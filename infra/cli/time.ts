/** Parses and prints times: `22:00` in this machine's time zone, a duration from now, or RFC 3339. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { durationText } from "../../shared/settings/time.ts";
import { secondsOf } from "./command.ts";
import { UsageError } from "./failed.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";

export const TIMES =
  "22:00 (the next 22:00 in your time zone), 2026-12-01T22:00:00+01:00, or a time from now such as 90m or 2h";

export type At = (now: Date, after?: Date) => Date;

export function timeOf(text: string): At {
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hours !== undefined) return (now, after = now) => nextOf(Number(hours), Number(minutes), after);
  const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : undefined;
  if (at !== undefined && !Number.isNaN(at)) return () => new Date(at);
  if (!/^\d{1,6}[smh]$/.test(text)) throw new InvalidArgumentError(MESSAGES.expectedTime(TIMES));
  const seconds = secondsOf(text);
  return (now) => new Date(now.getTime() + seconds * 1000);
}

/**
 * Returns the next occurrence of a time of day. Works with calendar days, because a day with a change of daylight
 * saving time has 23 or 25 hours.
 */
function nextOf(hours: number, minutes: number, after: Date): Date {
  const on = (days: number) => new Date(after.getFullYear(), after.getMonth(), after.getDate() + days, hours, minutes);
  const today = on(0);
  return today > after ? today : on(1);
}

export interface Times {
  readonly notBefore: Date | undefined;
  readonly notAfter: Date | undefined;
}

/** Returns the times for `--at` and `--until`. `--until 04:00` is the next 04:00 after the start. */
export function timesOfOptions(
  { at, until }: { readonly at?: At | undefined; readonly until?: At | undefined },
  now: Date,
): Times {
  const notBefore = at?.(now);
  const notAfter = until?.(now, notBefore);
  const begins = notBefore ?? now;
  if (notAfter === undefined || notAfter > begins) return { notBefore, notAfter };
  throw new UsageError(MESSAGES.endsTooEarly(fullTime(begins, now), fullTime(notAfter, now)));
}

/** Renders the start and the end, so that a person can check them before the drain starts. */
export function timeLines({ notBefore, notAfter }: Times, now: Date, nodes = 1): readonly string[] {
  const end = nodes === 1 ? MESSAGES.isGivenUp : MESSAGES.noneStarts;
  return [
    ...(notBefore === undefined ? [] : [MESSAGES.starts(fullTime(notBefore, now))]),
    ...(notAfter === undefined ? [] : [end(fullTime(notAfter, now))]),
  ];
}

/** Renders a time in full: `Saturday 2026-12-05 22:00 +01:00 (Europe/Berlin), in 2h`. */
export function fullTime(time: Date, now: Date): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const weekday = time.toLocaleDateString("en", { weekday: "long" });
  const offset = -time.getTimezoneOffset();
  const zone = `${offset < 0 ? "-" : "+"}${clock(Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60)}`;
  const day = [time.getFullYear(), time.getMonth() + 1, time.getDate()].map(twoDigits).join("-");
  const hour = clock(time.getHours(), time.getMinutes());
  const seconds = Math.round((time.getTime() - now.getTime()) / 1000);
  const away = seconds > 0 ? `, in ${durationText(seconds)}` : "";
  return `${weekday} ${day} ${hour} ${zone} (${timeZone})${away}`;
}

function clock(hours: number, minutes: number): string {
  return `${twoDigits(hours)}:${twoDigits(minutes)}`;
}

function twoDigits(figure: number): string {
  return String(figure).padStart(2, "0");
}
