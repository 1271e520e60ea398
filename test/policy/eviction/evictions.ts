/** Requests to evict the VMI's launcher pod, minimal plus one tweak, and what is decided on them. */
import { decideEviction, type EvictionDecision, type EvictionFacts } from "../../../shared/policy/eviction/eviction.ts";
import { NOW, pod, settings, vmi } from "../fixtures.ts";

export const NAMED = 'VMI "apps/web"';

/** A person drains node01: the launcher pod of the VMI is to be evicted. */
export function eviction(tweak: Partial<EvictionFacts> = {}): EvictionFacts {
  return {
    pod: pod(),
    vmi: vmi(),
    evacuations: [],
    request: { username: "admin", cause: "ApiEviction" },
    settings: settings(),
    now: NOW,
    ...tweak,
  };
}

export type Answered = Exclude<EvictionDecision, { verdict: "Ask" }>;

/** Where nothing is left to be asked. */
export function decided(tweak: Partial<EvictionFacts> = {}): Answered {
  const decision = decideEviction(eviction(tweak));
  if (decision.verdict === "Ask") throw new Error(`asks for ${decision.question}`);
  return decision;
}

/** Verdict and reason, and in order what is done: `Deny NotMigratable: EnsureBudget 1, tell`. */
export function inShort(facts: EvictionFacts): string {
  const decision = decideEviction(facts);
  if (decision.verdict === "Ask") return `Ask ${decision.question}`;
  const actions = decision.actions.map((a) => (a.verb === "EnsureBudget" ? `EnsureBudget ${a.minAvailable}` : a.verb));
  const done = [...actions, ...decision.events.map(() => "tell")].join(", ");
  return `${decision.verdict} ${decision.reason}${done === "" ? "" : `: ${done}`}`;
}

export function answerTo(tweak: Partial<EvictionFacts> = {}): string {
  return inShort(eviction(tweak));
}
