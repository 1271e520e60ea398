/** Durations in words, for the command and the pages. */

const UNITS = [
  [86_400, "d"],
  [3600, "h"],
  [60, "m"],
] as const;

/** As kubectl's ages: two units where the first is small. */
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
