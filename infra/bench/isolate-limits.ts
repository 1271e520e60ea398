/**
 * What a Worker's isolate may use.
 * Owns: the platform's limits. Does not own: measuring against them.
 * https://developers.cloudflare.com/workers/platform/limits/
 */
export const ISOLATE_MIB = 128;
/** Of one invocation, by default; waiting is not counted. */
export const CPU_LIMIT_MS = 30_000;
