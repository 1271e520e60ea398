/** Requests to evict the VMI's launcher pod, minimal plus one tweak, and what is decided on them. */
import { decideEviction, type EvictionDecision, type EvictionFacts } from "../../../shared/eviction/decide.ts";
import { NOW, pod, settings, vmi } from "../../support/fixtures.ts";

export const NAMED = 'VMI "apps/web"';

/** A person drains node01: the launcher pod of the VMI is to be evicted. */
export function eviction(tweak: Partial<EvictionFacts> = {}): EvictionFacts {
  return {
    pod: pod(),
    vmi: vmi(),
    evacuations: [],
    migrations: [],
    request: { username: "admin", cause: "ApiEviction" },
    settings: settings(),
    now: NOW,
    ...tweak,
  };
}

export function decided(tweak: Partial<EvictionFacts> = {}): EvictionDecision {
  return decideEviction(eviction(tweak));
}

/** Verdict and reason, and in order what is done: `Deny NotMigratable: CreateBudget, tell`. */
export function inShort(facts: EvictionFacts): string {
  const decision = decideEviction(facts);
  const actions = decision.actions.map(({ verb }) => verb);
  const done = [...actions, ...decision.events.map(() => "tell")].join(", ");
  return `${decision.verdict} ${decision.reason}${done === "" ? "" : `: ${done}`}`;
}

export function answerTo(tweak: Partial<EvictionFacts> = {}): string {
  return inShort(eviction(tweak));
}
