/** What a Worker's isolate may use. */
export const ISOLATE_MIB = 128;
/** Of one invocation, by default; waiting is not counted. */
export const CPU_LIMIT_MS = 30_000;
