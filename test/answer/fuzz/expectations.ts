/** What is expected of every decision: that it is made of the facts alone, and acts on nothing but the objects among them. */
import { deepStrictEqual } from "node:assert/strict";
import { type Action, type Plan, EVENT_TYPES } from "../../../shared/kube/action.ts";
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

function expectName(name: string): void {
  expect(name !== "" && name.length <= 63, `a name too long: ${name}`);
}

/** As the CustomResourceDefinition allows, but for what stood there already. */
function expectStatus({ evacuation, status }: Extract<Action, { verb: "WriteStatus" }>): void {
  const before = evacuation.status;
  const { reason = "", message = "", attempts } = status;
  expect(/^([A-Za-z][A-Za-z0-9]{0,255})?$/.test(reason), `no reason: ${reason}`);
  expect(message === before.message || message.length <= 2048, "a message too long");
  expect(Number.isSafeInteger(attempts), `attempts: ${attempts}`);
  for (const key of ["startTime", "completionTime", "nextAttemptTime"] as const) {
    const kept = [before[key], evacuation.spec.inherited?.notBefore];
    if (!kept.includes(status[key])) expectTime(status[key]);
  }
  const isKept = (type: string) => before.conditions.some((one) => one.type === type);
  for (const { type, reason: why, lastTransitionTime } of status.conditions) {
    if (isKept(type)) continue;
    expect(/^[A-Za-z][A-Za-z0-9]*$/.test(why), `no reason of a condition: ${why}`);
    expectTime(lastTransitionTime);
  }
}

/** On objects among the facts only, of a closed list, with times that are times. */
export function expectActions(actions: readonly Action[], given: unknown): void {
  const known = objectsIn(given);
  for (const action of actions) {
    for (const key of ["vmi", "migration", "budget", "pod", "evacuation"] as const) {
      if (key === "evacuation" && action.verb === "CreateEvacuation") continue;
      if (key in action)
        expect(known.has(Reflect.get(action, key)), `${action.verb} on a ${key} that is not among the facts`);
    }
    if (action.verb === "Event") expect(Object.hasOwn(EVENT_TYPES, action.reason), `unknown reason ${action.reason}`);
    if (action.verb === "WriteStatus") expectStatus(action);
    if (action.verb === "CreateEvacuation") expectName(action.evacuation.name);
  }
}

/** Made twice, of facts that cannot be changed. */
export function decidedTwice<F, D>(given: F, decide: (facts: F) => D): D {
  frozen(given);
  const decision = decide(given);
  deepStrictEqual(decide(given), decision);
  return decision;
}

/** The verb; of a status, the phase. */
function outcomeOf(action: Action): string {
  return action.verb === "WriteStatus" ? (action.status.phase ?? "no phase") : action.verb;
}

/** What it does. */
export function expectPlan(plan: Plan, given: unknown): readonly string[] {
  for (const chain of plan.chains) {
    expect(chain.length > 0, "an empty chain");
    expectActions(chain, given);
  }
  return plan.chains.flat().map(outcomeOf);
}
