/**
 * Durations as Go writes them: `1h30m`, `0.5s`.
 * Owns: parsing them (time.ParseDuration). Does not own: which ones make sense where.
 */

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

const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;
const DURATION = /^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;

/** Go counts nanoseconds in 64 bits. */
const LONGEST_SECONDS = 2 ** 63 / 1e9;

/** Undefined for what is none, and for a negative one. */
export function secondsOf(text: string): number | undefined {
  if (text === "0") return 0;
  if (!DURATION.test(text)) return undefined;
  const parts = [...text.matchAll(PART)].map(([, count, unit = ""]) => Number(count) * (SECONDS.get(unit) ?? 0));
  const seconds = parts.reduce((sum, part) => sum + part, 0);
  return seconds < LONGEST_SECONDS ? seconds : undefined;
}
