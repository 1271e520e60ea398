/** How long to wait before trying again. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** A number in [0, 1). */
export type Random = () => number;

/** Doubles with every failure. The upper half is random, so that two replicas do not retry in step. */
export function backoffMs({ firstMs, longestMs }: Backoff, failures: number, random: Random): number {
  const full = Math.min(firstMs * 2 ** Math.max(0, failures - 1), longestMs);
  return full / 2 + (full / 2) * random();
}

/** `Retry-After`: seconds or a date. Undefined: absent, or neither. */
export function retryAfterMs(header: string | null, now: Date): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime());
}
