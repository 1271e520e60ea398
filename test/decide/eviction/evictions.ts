/** Builds requests to evict the VMI's launcher pod, and decides on these requests. */
import { decideEviction, type EvictionDecision, type EvictionFacts } from "../../../shared/eviction/decide.ts";
import { NOW, pod, settings, vmi } from "../../support/fixtures.ts";

export const NAMED = 'VMI "apps/web"';

/** Returns the facts of a request to evict the VMI's launcher pod. By default, a person drains node01. */
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

/** Returns the verdict, the reason, and the actions in order, for example `Deny NotMigratable: CreateBudget, Event`. */
export function inShort(facts: EvictionFacts): string {
  const decision = decideEviction(facts);
  const actions = decision.actions.map(({ verb }) => verb);
  const done = [...actions, ...decision.events.map(() => "Event")].join(", ");
  return `${decision.verdict} ${decision.reason}${done === "" ? "" : `: ${done}`}`;
}

export function answerTo(tweak: Partial<EvictionFacts> = {}): string {
  return inShort(eviction(tweak));
}
