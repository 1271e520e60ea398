/**
 * What every plan keeps to, whatever the cluster: it is made, the same facts give the same one, and it acts on nothing but
 * the objects among them.
 * Owns: that, of each decision about evacuations, budgets, annotations, disruptions and pressure. Does not own: whether a
 * decision is right (test/policy), decisions about requests (request-properties.ts).
 */
import * as fc from "fast-check";
import type { Action } from "../../shared/policy/action.ts";
import { planBudgets } from "../../shared/policy/budget/budget.ts";
import { planAnnotations } from "../../shared/policy/annotations/descheduler-annotations.ts";
import { planDisruptions } from "../../shared/policy/guard/disruption.ts";
import { planBeginnings, planEvacuations } from "../../shared/policy/evacuation/evacuation.ts";
import { refusedMigration } from "../../shared/policy/evacuation/ends.ts";
import { planHistory } from "../../shared/policy/evacuation/history.ts";
import { newEvacuation } from "../../shared/policy/evacuation/identity.ts";
import { ACTIVE_PHASES, END_PHASES } from "../../shared/policy/evacuation/phase.ts";
import { planPressure } from "../../shared/policy/pressure/pressure.ts";
import { matches } from "../../shared/policy/kube/selector.ts";
import { decidedTwice, expect, expectActions, expectPlan } from "./expectations.ts";
import { selector } from "./policy-budgets.ts";
import * as any from "./policy-facts.ts";
import { disruptedWorld, pressureWorld, world } from "./policy-worlds.ts";
import { type Property, property } from "./property.ts";

/** Of the VMI that an action is about. */
function uidOf(action: Action): string | undefined {
  if (action.verb === "Event") return action.about.uid;
  return "vmi" in action ? action.vmi.uid : undefined;
}

const EVACUATING: readonly Action["verb"][] = [
  "CreateEvacuation",
  "GrowBudget",
  "Mark",
  "Unmark",
  "CreateMigration",
  "AdoptMigration",
  "DeleteMigration",
  "Count",
  "Event",
];

export const POLICY_PROPERTIES: readonly Property[] = [
  property(
    "disruptions are planned",
    disruptedWorld,
    (given) => expectPlan(decidedTwice(given, planDisruptions), given),
    ["CreateEvacuation", "Mark", "DeletePod"],
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
    ...EVACUATING,
    ...ACTIVE_PHASES,
    ...END_PHASES,
  ]),
  property("beginnings are planned", world, (given) => expectPlan(decidedTwice(given, planBeginnings), given), [
    "CreateEvacuation",
  ]),
  property("history is planned", world, (given) => expectPlan(decidedTwice(given, planHistory), given), [
    "DeleteEvacuation",
  ]),
  property("pressure is planned for", pressureWorld, (given) => expectPlan(decidedTwice(given, planPressure), given), [
    "CreateEvacuation",
    "Mark",
  ]),
  property(
    "a refused migration has consequences for its VM only",
    fc.tuple(world, any.vmi),
    ([given, anyVmi]) => {
      const [refused = anyVmi] = given.vmis;
      const [{ name } = { name: "none" }] = given.evacuations;
      const actions = decidedTwice({ name, vmi: refused, w: given }, (f) => refusedMigration(f, f.vmi, f.w));
      expectActions(actions, given);
      for (const action of actions) expect((uidOf(action) ?? refused.uid) === refused.uid, `${action.verb} on another`);
      return actions.map(({ verb }) => verb);
    },
    ["WriteStatus", "Event"],
  ),
  property(
    "an Evacuation has a name that no other one about its pod has",
    fc.tuple(world, any.vmi),
    ([given, anyVmi]) => {
      const [vmi = anyVmi] = given.vmis;
      const beginning = { cause: "Operator", requestedBy: "" } as const;
      const { name } = decidedTwice(given, (w) => newEvacuation(vmi, beginning, w));
      expect(name.length <= 63, "a name too long");
      expect(!given.evacuations.some((one) => one.name === name), "a name that is taken");
    },
  ),
  property(
    "a selector matches or does not",
    fc.tuple(selector, any.pod),
    ([selector, pod]) => String(decidedTwice({ selector, pod }, (f) => matches(f.selector, f.pod.labels))),
    ["true", "false"],
  ),
];
