/**
 * What every plan keeps to, whatever the cluster: it is made, the same facts give the same one, and it acts on nothing but
 * the objects among them.
 * Owns: that, of each decision about evacuations, budgets, annotations, disruptions and pressure. Does not own: whether a
 * decision is right (test/policy), decisions about requests (request-properties.ts).
 */
import { deepStrictEqual } from "node:assert/strict";
import * as fc from "fast-check";
import type { Action } from "../../shared/policy/action.ts";
import { planBudgets } from "../../shared/policy/budget.ts";
import { protects } from "../../shared/policy/budget-protection.ts";
import { countEndings } from "../../shared/policy/counters.ts";
import { planAnnotations } from "../../shared/policy/descheduler-annotations.ts";
import { drivenOf, planDisruptions } from "../../shared/policy/disruption.ts";
import { candidatesOf, planEvacuations, refusedMigration, stagesOf } from "../../shared/policy/evacuation.ts";
import { planPressure } from "../../shared/policy/pressure.ts";
import { backoffSeconds, endRecord, failRecord, restSeconds } from "../../shared/policy/record.ts";
import { matches } from "../../shared/policy/selector.ts";
import { STAGE_MEANING } from "../../shared/policy/stage-meaning.ts";
import { slotFor } from "../../shared/policy/slots.ts";
import { mostly } from "../mostly.ts";
import { decidedTwice, expect, expectActions, expectPlan, expectTime } from "./expectations.ts";
import { budget, selector } from "./policy-budgets.ts";
import * as any from "./policy-facts.ts";
import * as fitting from "./policy-fitting.ts";
import { counters, record, slot } from "./policy-records.ts";
import { settings } from "./policy-settings.ts";
import { now } from "./policy-words.ts";
import { disruptedWorld, pressureWorld, world } from "./policy-worlds.ts";
import { type Property, property } from "./property.ts";

const list = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { maxLength: 4 });

const budgeted = fitting.resident.chain((own) =>
  fc.array(mostly(fitting.budgetOf(own.vmi), budget), { maxLength: 2 }).map((budgets) => ({ ...own, budgets })),
);

/** Of the VMI that an action is about. */
function uidOf(action: Action): string | undefined {
  if (action.verb === "Event") return action.about.uid;
  return "vmi" in action ? action.vmi.uid : undefined;
}

export const POLICY_PROPERTIES: readonly Property[] = [
  property(
    "disruptions are planned",
    disruptedWorld,
    (given) => {
      const driven = decidedTwice(given, drivenOf);
      expect(
        driven.every((vmi) => given.vmis.includes(vmi)),
        "driven, but not there",
      );
      return [...expectPlan(decidedTwice(given, planDisruptions), given), ...driven.map(() => "driven")];
    },
    ["Mark", "DeletePod", "driven"],
  ),
  property("budgets are planned", world, (given) => expectPlan(decidedTwice(given, planBudgets), given), [
    "CreateBudget",
    "ResizeBudget",
    "DeleteBudget",
  ]),
  property("annotations are planned", world, (given) => expectPlan(decidedTwice(given, planAnnotations), given), [
    "AnnotatePod",
  ]),
  property("evacuations are planned", world, (given) => expectPlan(decidedTwice(given, planEvacuations), given), [
    ...new Set(Object.values(STAGE_MEANING).flatMap(({ actions }) => actions)),
  ]),
  property("pressure is planned for", pressureWorld, (given) => expectPlan(decidedTwice(given, planPressure), given), [
    "Mark",
  ]),
  property(
    "every VM is in a stage",
    world,
    (given) => {
      const staged = decidedTwice(given, stagesOf);
      deepStrictEqual(
        staged.map(({ vmi }) => vmi),
        given.vmis,
      );
      for (const { stage } of staged) expect(Object.hasOwn(STAGE_MEANING, stage.stage), stage.stage);
      const candidates = candidatesOf(given);
      expect(
        candidates.every((vmi) => given.vmis.includes(vmi)),
        "a candidate that is not there",
      );
      return [...staged.map(({ stage }) => stage.stage), ...candidates.map(() => "candidate")];
    },
    [...Object.keys(STAGE_MEANING), "candidate"],
  ),
  property(
    "a refused migration has consequences for its VM only",
    fc.tuple(world, slot),
    ([given, anySlot]) => {
      const [refused = anySlot] = given.register.slots;
      const actions = decidedTwice(given, (w) => refusedMigration(refused, w));
      expectActions(actions, given);
      for (const action of actions) expect(uidOf(action) === refused.vmiUID, `${action.verb} on another VM`);
      return actions.map(({ verb }) => verb);
    },
    ["Record", "Unmark"],
  ),
  property("a record fails, rests and ends at a time", fc.tuple(record, settings, now), ([given, inForce, at]) => {
    expectTime(failRecord(given, inForce, at).notBefore);
    expectTime(endRecord(given, "Abandoned", inForce, at).notBefore);
    const seconds = [backoffSeconds(given.attempts, inForce), restSeconds(given, inForce, at)];
    for (const one of seconds) expect(one >= 0 && Number.isFinite(one), `a rest of ${one} s`);
  }),
  property(
    "what has ended is counted once",
    fc.tuple(list(mostly(fitting.vmi, any.vmi)), counters),
    ([vmis, found]) => {
      const writes = decidedTwice({ vmis, found }, (f) => countEndings(f.vmis, f.found));
      for (const { counted, evacuations } of writes) {
        const again = countEndings(vmis, { counted, evacuations });
        expect(again.length === 0, "counted again");
      }
      return writes.map(({ verb }) => verb);
    },
    ["WriteCounters"],
  ),
  property("a slot has a name that an object can have", fc.tuple(any.vmi, record), ([vmi, record]) => {
    expect(slotFor({ vmi, record }).name.length <= 63, "a name too long");
  }),
  property(
    "a budget protects or does not",
    budgeted,
    (given) => String(decidedTwice(given, (f) => protects(f.budgets, f.pod, f.vmi))),
    ["true", "false"],
  ),
  property(
    "a selector matches or does not",
    fc.tuple(selector, any.pod),
    ([selector, pod]) => String(decidedTwice({ selector, pod }, (f) => matches(f.selector, f.pod.labels))),
    ["true", "false"],
  ),
];
