/**
 * What every decision keeps to, whatever the facts: it is made, it is one of its closed union, the same facts give the same
 * one, and it acts on nothing but the objects among them.
 * Owns: that, of each decision about evictions, deletions, evacuations, budgets and pressure. Does not own: whether a
 * decision is right (test/policy).
 */
import { deepStrictEqual } from "node:assert/strict";
import * as fc from "fast-check";
import { type Action, STORY_REASONS } from "../../shared/policy/action.ts";
import { planBudgets } from "../../shared/policy/budget.ts";
import { protects } from "../../shared/policy/budget-protection.ts";
import { countEndings } from "../../shared/policy/counters.ts";
import { blindHoldSeconds, decideDeletion, RELEASE_REASONS } from "../../shared/policy/deletion.ts";
import { planAnnotations } from "../../shared/policy/descheduler-annotations.ts";
import { overdueOf, planDisruptions } from "../../shared/policy/disruption.ts";
import { candidatesOf, planEvacuations, refusedMigration, stagesOf } from "../../shared/policy/evacuation.ts";
import { decideEviction } from "../../shared/policy/eviction.ts";
import { decideCancel } from "../../shared/policy/giving-up.ts";
import type { Plan } from "../../shared/policy/plan.ts";
import { planPressure } from "../../shared/policy/pressure.ts";
import { backoffSeconds, endRecord, failRecord, restSeconds } from "../../shared/policy/record.ts";
import { matches } from "../../shared/policy/selector.ts";
import { STAGE_MEANING } from "../../shared/policy/stage-meaning.ts";
import { slotFor } from "../../shared/policy/slots.ts";
import * as any from "./policy-facts.ts";
import { budget, selector } from "./policy-budgets.ts";
import { counters, record, slot } from "./policy-records.ts";
import { facts, now } from "./policy-words.ts";
import { settings } from "./policy-settings.ts";
import { frozen, type Property, property } from "./property.ts";

const list = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { maxLength: 4 });

const evictionFacts = facts(
  {
    request: fc.record({
      username: fc.string(),
      cause: fc.constantFrom("ApiEviction" as const, "Descheduler" as const),
    }),
    settings,
    now,
  },
  {
    pod: any.pod,
    launcher: any.pod,
    vmi: any.vmi,
    raced: fc.boolean(),
    budgets: list(budget),
    migrations: list(any.migration),
  },
);

const deletionFacts = facts(
  {
    pod: any.pod,
    neighbours: list(any.pod),
    evacuating: list(any.vmi),
    requester: fc.constantFrom("scheduler", "scheduler", "", "somebody"),
    patienceSeconds: fc.double({ min: 0, max: 30, noNaN: true }),
    serverMinor: fc.constantFrom(0, 30, 33, 36, -1, 0.5, 1e21),
    settings,
    now,
  },
  { launcher: any.pod, vmi: any.vmi, node: any.node },
);

const world = fc.record({
  vmis: list(any.vmi),
  migrations: list(any.migration),
  budgets: list(budget),
  pods: list(any.pod),
  launchers: list(any.launcher),
  counters,
  nodes: list(any.node),
  tainted: fc.subarray(["node01", "node02"]).map((names) => new Set(names)),
  register: fc.oneof(fc.record({ slots: list(slot) }), fc.record({ slots: list(slot), resourceVersion: fc.string() })),
  activePods: fc
    .dictionary(fc.constantFrom("uid-1", "uid-2"), fc.nat(3))
    .map((counts) => new Map(Object.entries(counts))),
  settings,
  now,
  complete: fc.boolean(),
});

const pressureWorld = fc.record({
  pressured: list(
    fc.record({
      node: any.node,
      residents: list(fc.record({ vmi: any.vmi, pod: any.pod })),
      departing: fc.nat(3),
    }),
  ),
  takers: list(fc.record({ node: any.node, freeMemory: fc.double({ noNaN: true, noDefaultInfinity: true }) })),
  signals: list(
    fc.record({
      vmi: any.vmi,
      podUID: fc.constantFrom("uid-1", "uid-2"),
      domain: fc.record({
        status: fc.constantFrom("Running", "Paused", "Shutoff", "", "x"),
        gracefulShutdown: fc.boolean(),
      }),
      by: fc.string(),
    }),
  ),
  settings,
  now,
});

/** Every object within the facts, however deep. */
function objectsIn(value: unknown, found = new Set<unknown>()): ReadonlySet<unknown> {
  if (typeof value !== "object" || value === null || found.has(value)) return found;
  found.add(value);
  const inner = value instanceof Map || value instanceof Set ? [...value.values()] : Object.values(value);
  for (const one of inner) objectsIn(one, found);
  return found;
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

function expectTime(text: string | undefined): void {
  expect(text === undefined || !Number.isNaN(Date.parse(text)), `not a time: ${text}`);
}

/** On objects among the facts only, of a closed list, with times that are times. */
function expectActions(actions: readonly Action[], given: unknown): void {
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
function decidedTwice<F, D>(given: F, decide: (facts: F) => D): D {
  frozen(given);
  const decision = decide(given);
  deepStrictEqual(decide(given), decision);
  return decision;
}

function expectPlan(plan: Plan, given: unknown): void {
  for (const chain of plan.chains) {
    expect(chain.length > 0, "an empty chain");
    expectActions(chain, given);
  }
  const { requeueAfterSeconds: wait = 0 } = plan;
  expect(wait >= 0 && Number.isFinite(wait), `to be looked at again in ${wait} s`);
}

export const POLICY_PROPERTIES: readonly Property[] = [
  property("an eviction is decided", evictionFacts, (given) => {
    const decision = decidedTwice(given, decideEviction);
    expect(["Allow", "Deny", "Ask"].includes(decision.verdict), decision.verdict);
    if (decision.verdict === "Ask") return;
    expectActions([...decision.actions, ...decision.story], given);
    if (decision.verdict === "Deny") expect(decision.message.length > 0, "a denial without a word");
  }),
  property("a question is asked once", evictionFacts, (given) => {
    const answered = { budgets: [], migrations: [], ...given };
    expect(decideEviction(answered).verdict !== "Ask", "asked although answered");
  }),
  property("a deletion is decided, and held no longer than anybody waits", deletionFacts, (given) => {
    const decision = decidedTwice(given, decideDeletion);
    expectActions(decision.story, given);
    if (decision.verdict === "Release") return expect(RELEASE_REASONS.includes(decision.reason), decision.reason);
    expectActions(decision.actions, given);
    const { holdSeconds } = decision;
    expect(holdSeconds >= 0 && holdSeconds <= given.patienceSeconds, `held for ${holdSeconds} s`);
  }),
  property("a deletion in the dark is held for a time, or not", deletionFacts, (given) => {
    const seconds = decidedTwice(given, (f) => blindHoldSeconds(f, f.settings, f.now));
    expect(seconds === undefined || (seconds >= 0 && Number.isFinite(seconds)), `held for ${seconds} s`);
  }),
  property("disruptions are planned", world, (given) => {
    expectPlan(decidedTwice(given, planDisruptions), given);
    expect(
      decidedTwice(given, overdueOf).every((vmi) => given.vmis.includes(vmi)),
      "overdue, but not there",
    );
  }),
  property("budgets are planned", world, (given) => expectPlan(decidedTwice(given, planBudgets), given)),
  property("annotations are planned", world, (given) => expectPlan(decidedTwice(given, planAnnotations), given)),
  property("evacuations are planned", world, (given) => expectPlan(decidedTwice(given, planEvacuations), given)),
  property("pressure is planned for", pressureWorld, (given) => expectPlan(decidedTwice(given, planPressure), given)),
  property("every VM is in a stage", world, (given) => {
    const staged = decidedTwice(given, stagesOf);
    deepStrictEqual(
      staged.map(({ vmi }) => vmi),
      given.vmis,
    );
    for (const { stage } of staged) expect(Object.hasOwn(STAGE_MEANING, stage.stage), stage.stage);
    expect(
      candidatesOf(given).every((vmi) => given.vmis.includes(vmi)),
      "a candidate that is not there",
    );
  }),
  property("a refused migration has consequences for its VM only", fc.tuple(world, slot), ([given, slot]) => {
    expectActions(
      decidedTwice(given, (w) => refusedMigration(slot, w)),
      given,
    );
  }),
  property(
    "a cancel is decided",
    fc.record({
      vmi: any.vmi,
      migrations: list(any.migration),
      tainted: fc.boolean(),
      settings,
      now,
    }),
    (given) => {
      const decision = decidedTwice(given, (f) => decideCancel(f, f));
      if (decision.verdict === "Cancel") expectActions(decision.actions, given);
    },
  ),
  property("a record fails, rests and ends at a time", fc.tuple(record, settings, now), ([given, inForce, at]) => {
    expectTime(failRecord(given, inForce, at).notBefore);
    expectTime(endRecord(given, "Abandoned", inForce, at).notBefore);
    const seconds = [backoffSeconds(given.attempts, inForce), restSeconds(given, inForce, at)];
    for (const one of seconds) expect(one >= 0 && Number.isFinite(one), `a rest of ${one} s`);
  }),
  property("what has ended is counted once", fc.tuple(list(any.vmi), counters), ([vmis, found]) => {
    for (const { counted, evacuations } of decidedTwice({ vmis, found }, (f) => countEndings(f.vmis, f.found))) {
      const again = countEndings(vmis, { counted, evacuations });
      expect(again.length === 0, "counted again");
    }
  }),
  property("a slot has a name that an object can have", fc.tuple(any.vmi, record), ([vmi, record]) => {
    expect(slotFor({ vmi, record }).name.length <= 63, "a name too long");
  }),
  property("a budget protects or does not", fc.tuple(list(budget), any.pod, any.vmi), ([budgets, pod, vmi]) => {
    const answer: unknown = decidedTwice({ budgets, pod, vmi }, (f) => protects(f.budgets, f.pod, f.vmi));
    expect(typeof answer === "boolean", "neither");
  }),
  property("a selector matches or does not", fc.tuple(selector, any.pod), ([selector, pod]) => {
    const answer: unknown = decidedTwice({ selector, pod }, (f) => matches(f.selector, f.pod.labels));
    expect(typeof answer === "boolean", "neither");
  }),
];
