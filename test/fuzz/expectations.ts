/**
 * What is expected of every decision: that it is made of the facts alone, and acts on nothing but the objects among them.
 * Owns: saying so. Does not own: the decisions (policy-properties.ts, request-properties.ts).
 */
import { deepStrictEqual } from "node:assert/strict";
import { type Action, STORY_REASONS } from "../../shared/policy/action.ts";
import type { Plan } from "../../shared/policy/plan.ts";
import { frozen } from "./property.ts";

export function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** Every object within the facts, however deep. */
function objectsIn(value: unknown, found = new Set<unknown>()): ReadonlySet<unknown> {
  if (typeof value !== "object" || value === null || found.has(value)) return found;
  found.add(value);
  const inner = value instanceof Map || value instanceof Set ? [...value.values()] : Object.values(value);
  for (const one of inner) objectsIn(one, found);
  return found;
}

export function expectTime(text: string | undefined): void {
  expect(text === undefined || !Number.isNaN(Date.parse(text)), `not a time: ${text}`);
}

/** On objects among the facts only, of a closed list, with times that are times. */
export function expectActions(actions: readonly Action[], given: unknown): void {
  const known = objectsIn(given);
  for (const action of actions) {
    for (const key of ["vmi", "migration", "budget", "pod"] as const) {
      if (key in action)
        expect(known.has(Reflect.get(action, key)), `${action.verb} on a ${key} that is not among the facts`);
    }
    if (action.verb === "Event") expect(STORY_REASONS.includes(action.reason), `unknown reason ${action.reason}`);
    if ("record" in action && action.record !== undefined) {
      expectTime(action.record.since);
      expectTime(action.record.notBefore);
    }
  }
}

/** Made twice, of facts that cannot be changed. */
export function decidedTwice<F, D>(given: F, decide: (facts: F) => D): D {
  frozen(given);
  const decision = decide(given);
  deepStrictEqual(decide(given), decision);
  return decision;
}

/** What it does: the verbs. */
export function expectPlan(plan: Plan, given: unknown): readonly Action["verb"][] {
  for (const chain of plan.chains) {
    expect(chain.length > 0, "an empty chain");
    expectActions(chain, given);
  }
  const { requeueAfterSeconds: wait = 0 } = plan;
  expect(wait >= 0 && Number.isFinite(wait), `to be looked at again in ${wait} s`);
  return plan.chains.flat().map(({ verb }) => verb);
}
