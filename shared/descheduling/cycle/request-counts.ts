/**
 * What came of the requests of descheduling, counted: for the metrics.
 * Owns: the key of each counter. Does not own: the ConfigMap (shared/cluster), when they are counted (deschedule.ts).
 */
import type { Answered } from "./cycle.ts";
import { EVICTION_OUTCOMES, type EvictionOutcome } from "./eviction-answer.ts";

export interface RequestCount {
  readonly profile: string;
  readonly plugin: string;
  readonly result: EvictionOutcome;
  readonly count: number;
}

const PREFIX = "descheduling";
/** Of 253 characters that a key may have. */
const LONGEST_PROFILE = 100;

/** A key of a ConfigMap takes few characters; a policy names its profiles as it likes. */
function keyOf({ profile, plugin, result }: Pick<Answered, "profile" | "plugin" | "result">): string {
  return `${PREFIX}.${profile.replaceAll(/[^\w-]/g, "_").slice(0, LONGEST_PROFILE)}.${plugin}.${result}`;
}

export function isRequested({ result }: Pick<Answered, "result">): boolean {
  return EVICTION_OUTCOMES.some((outcome) => outcome === result);
}

/** How much each counter grows by. */
export function growthBy(nominations: readonly Answered[]): ReadonlyMap<string, number> {
  const byKey = Map.groupBy(nominations.filter(isRequested), keyOf);
  return new Map([...byKey].map(([key, { length }]) => [key, length]));
}

/** Those that there are: a policy may name any profile. */
export function requestCountsOf(data: Readonly<Record<string, string>>): readonly RequestCount[] {
  return Object.entries(data).flatMap(([key, text]) => {
    const [prefix, profile = "", plugin = "", word, ...more] = key.split(".");
    const result = EVICTION_OUTCOMES.find((outcome) => outcome === word);
    const count = Number(text);
    const isCount = prefix === PREFIX && more.length === 0 && Number.isSafeInteger(count) && count >= 0;
    return isCount && result !== undefined ? [{ profile, plugin, result, count }] : [];
  });
}
