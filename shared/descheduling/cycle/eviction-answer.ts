/**
 * What the answer to an eviction means for a descheduling cycle. Upstream: a 429 that begins with a known prefix says that the eviction
 * goes on in background (KEP-1397).
 */
import { saysBlind } from "../../policy/blind.ts";

/**
 * `Evicted`: the pod is being deleted. `Background`: it is being evacuated. `Gone`: it does not exist any more. `Refused`:
 * none of these. `Unknown`: no answer, or a webhook answered that could not see the pod; the evacuation may have begun.
 */
export const EVICTION_OUTCOMES = ["Background", "Evicted", "Gone", "Refused", "Unknown"] as const;
export type EvictionOutcome = (typeof EVICTION_OUTCOMES)[number];

export interface EvictionAnswer {
  readonly code: number;
  /** The Status's. Never passed on to a caller. */
  readonly message: string;
}

/** The API server's prefix of what an admission webhook says. */
const DENIED_BY_WEBHOOK = /^admission webhook "[^"]*" denied the request: /;
/** The prefix of KubeVirt, and of Lifeboat, where the evacuation is in progress already. */
const IN_PROGRESS = "Evacuation in progress: ";

/** Without prefixes nothing goes on in background: a 429 is a refusal. */
export function interpretAnswer({ code, message }: EvictionAnswer, prefixes: readonly string[]): EvictionOutcome {
  if (code < 300) return "Evicted";
  if (code === 404) return "Gone";
  if (code !== 429) return "Refused";
  const said = message.replace(DENIED_BY_WEBHOOK, "");
  const words = [said, said.startsWith(IN_PROGRESS) ? said.slice(IN_PROGRESS.length) : said];
  if (words.some((text) => prefixes.some((prefix) => text.startsWith(prefix)))) return "Background";
  return saysBlind(said) ? "Unknown" : "Refused";
}

/** Whether a nomination was requested, or skipped. */
export function isRequested({ result }: { readonly result: string }): boolean {
  return EVICTION_OUTCOMES.some((outcome) => outcome === result);
}
