/** Durations as Go writes them: `1h30m`, `0.5s`. */

const SECONDS: ReadonlyMap<string, number> = new Map([
  ["ns", 1e-9],
  ["us", 1e-6],
  ["µs", 1e-6],
  ["μs", 1e-6],
  ["ms", 1e-3],
  ["s", 1],
  ["m", 60],
  ["h", 3600],
]);

/** Sticky: it does not look for a part further on, so that the time grows with the length of the text only. */
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gy;

/** Go counts nanoseconds in 64 bits. */
const LONGEST_SECONDS = 2 ** 63 / 1e9;

/** Undefined for what is none, and for a negative one. */
export function secondsOf(text: string): number | undefined {
  if (text === "0") return 0;
  const parts = [...text.matchAll(PART)];
  if (text === "" || parts.map(([part]) => part).join("") !== text) return undefined;
  const seconds = parts.reduce((sum, [, count, unit = ""]) => sum + Number(count) * (SECONDS.get(unit) ?? 0), 0);
  return seconds < LONGEST_SECONDS ? seconds : undefined;
}
