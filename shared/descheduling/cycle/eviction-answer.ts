/**
 * What the answer to an eviction means for a descheduling cycle.
 * Owns: code and message → outcome. Does not own: sending evictions (shared/cluster).
 * Upstream: a 429 that begins with a known prefix says that the eviction goes on in background (KEP-1397).
 */
import { saysBlind } from "../../policy/blind.ts";

/**
 * `Evicted`: the pod is being deleted. `Background`: it is being evacuated. `Gone`: it is no more. `Refused`: neither.
 * `Unknown`: no answer, or by a server that could not see what became of it; it may have begun.
 */
export type EvictionOutcome = "Evicted" | "Background" | "Gone" | "Refused" | "Unknown";

export interface EvictionAnswer {
  readonly code: number;
  /** Of the Status. Never to be passed on. */
  readonly message: string;
}

/** What kube-apiserver puts before the words of an admission webhook. */
const DENIED_BY_WEBHOOK = /^admission webhook "[^"]*" denied the request: /;
/** What KubeVirt, and Lifeboat with it, puts before its words when the evacuation is under way already. */
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
