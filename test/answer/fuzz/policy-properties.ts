/**
 * What every decision keeps to, whatever the cluster: it is made, the same facts give the same one, and it acts on nothing but the objects
 * among them.
 */
import type { Action } from "../../../shared/kube/action.ts";
import { planAnnotations } from "../../../shared/annotations/descheduler-annotations.ts";
import { planBudgets } from "../../../shared/budget/budget.ts";
import { planBeginnings, planEvacuations } from "../../../shared/evacuation/plan.ts";
import { planHistory } from "../../../shared/evacuation/plan.ts";
import { newEvacuation } from "../../../shared/evacuation/identity.ts";
import { ACTIVE_PHASES, END_PHASES } from "../../../shared/kube/evacuation.ts";
import { type AllowReason, decideEviction, type DenyReason } from "../../../shared/eviction/decide.ts";
import { decideDeletion, decideUndecided, ALLOW_REASONS } from "../../../shared/guard/decide.ts";
import { planDisruptions } from "../../../shared/guard/disruption.ts";
import type { Refusal } from "../../../shared/guard/refuse.ts";
import { matches } from "../../../shared/kube/selector.ts";
import type { Plan } from "../../../shared/kube/action.ts";
import { planPressure } from "../../../shared/pressure/pressure.ts";
import { deletionFacts, evictionFacts, pressureWorld, type World, world } from "../../support/generators/worlds.ts";
import { decidedTwice, expect, expectActions, expectPlan } from "./expectations.ts";
import { type Property, property } from "./property.ts";

/** Every answer to an eviction; a missing one does not compile. */
const EVICTION_ANSWERS = Object.keys({
  PodGone: true,
  PodCompleted: true,
  NotAVirtualMachine: true,
  VmiGone: true,
  VmiDeleting: true,
  VmiFinal: true,
  StrategyNone: true,
  ShutdownByStrategy: true,
  EvacuationTriggered: true,
  EvacuationInProgress: true,
  NotMigratable: true,
  UnknownStrategy: true,
  MigrationTarget: true,
  Migrating: true,
  NotScheduled: true,
  HotplugOfLiveVmi: true,
  BackingOff: true,
} satisfies Record<AllowReason | DenyReason, true>);

/** Only the door is blind. */
const DELETION_ANSWERS = ALLOW_REASONS.filter((reason) => reason !== "Undecided");

/** What is done before the answer; the last of it says what kind of answer it is. */
function lastVerb(actions: readonly Action[]): string {
  return actions.at(-1)?.verb ?? "nothing";
}

/** A pause that a client can keep, if there is one at all. */
function expectPause({ retryAfterSeconds = 1 }: Refusal): void {
  const isPause = Number.isInteger(retryAfterSeconds) && retryAfterSeconds >= 1 && retryAfterSeconds <= 15;
  expect(isPause, `to be asked for again after ${retryAfterSeconds} s`);
}

/** Each with what it comes to now and then. */
const PLANS: readonly (readonly [name: string, plan: (w: World) => Plan, reaches: readonly string[]])[] = [
  ["disruptions", planDisruptions, ["CreateEvacuation", "Mark", "DeletePod"]],
  ["budgets", planBudgets, ["CreateBudget", "DeleteBudget"]],
  ["annotations", planAnnotations, ["AnnotatePod"]],
  ["beginnings", planBeginnings, ["CreateEvacuation"]],
  ["history", planHistory, ["DeleteEvacuation"]],
  [
    "evacuations",
    planEvacuations,
    [
      "CreateEvacuation",
      "CreateBudget",
      "Mark",
      "Unmark",
      "CreateMigration",
      "AdoptMigration",
      "DeleteMigration",
    ].concat(["Event"], ACTIVE_PHASES, END_PHASES),
  ],
];

/** Of the VMI that an action is about. */
function uidOf(action: Action): string | undefined {
  if (action.verb === "Event") return action.about.uid;
  return "vmi" in action ? action.vmi.uid : undefined;
}

export const POLICY_PROPERTIES: readonly Property[] = [
  property(
    "an eviction is decided",
    evictionFacts,
    (given) => {
      const decision = decidedTwice(given, decideEviction);
      expectActions([...decision.actions, ...decision.events], given);
      if (decision.verdict === "Deny") expect(decision.message.length > 0, "a denial without a word");
      return [decision.reason, `${decision.reason}: ${lastVerb(decision.actions)}`];
    },
    [...EVICTION_ANSWERS, "EvacuationTriggered: CreateEvacuation", "ShutdownByStrategy: Unmark"],
  ),
  property(
    "a deletion is decided, and asked for again soon; in the dark likewise",
    deletionFacts,
    (given) => {
      const undecided = decidedTwice(given, (f) => decideUndecided(f, "why", f));
      const blind = `undecided: ${undecided.verdict}`;
      if (undecided.verdict === "Refuse") expectPause(undecided);
      const decision = decidedTwice(given, decideDeletion);
      expectActions(decision.events, given);
      if (decision.verdict === "Allow") return [blind, decision.reason];
      expectActions(decision.actions, given);
      expectPause(decision);
      const again = decision.retryAfterSeconds === undefined ? "is to stop" : "asks again";
      return [blind, again, `refused, with ${lastVerb(decision.actions)} done`];
    },
    [
      ...DELETION_ANSWERS,
      "asks again",
      "is to stop",
      "undecided: Allow",
      "undecided: Refuse",
      ...["Mark", "CreateEvacuation", "nothing"].map((verb) => `refused, with ${verb} done`),
    ],
  ),
  property(
    "everything is planned for",
    world,
    (given) =>
      PLANS.flatMap(([name, plan]) => {
        return expectPlan(decidedTwice(given, plan), given).map((outcome) => `${name}: ${outcome}`);
      }),
    PLANS.flatMap(([name, , reaches]) => reaches.map((outcome) => `${name}: ${outcome}`)),
  ),
  property("pressure is planned for", pressureWorld, (given) => expectPlan(decidedTwice(given, planPressure), given), [
    "CreateEvacuation",
    "Mark",
  ]),
  property(
    "of a VM: what a refused migration leads to, and its next Evacuation's name; of a budget: whom it selects",
    world,
    (given) => {
      const planned = planEvacuations(given).chains.flat();
      const done = given.vmis.flatMap((vmi) => {
        const { name } = decidedTwice(given, (w) => newEvacuation(vmi, { cause: "Operator", requestedBy: "" }, w));
        expect(name.length <= 63, "a name too long");
        expect(!given.evacuations.some((one) => one.name === name), "a name that is taken");
        const actions = planned.flatMap((a) =>
          a.verb === "CreateMigration" && a.vmi === vmi ? (a.ifRefused ?? []) : [],
        );
        expectActions(actions, given);
        for (const action of actions) expect((uidOf(action) ?? vmi.uid) === vmi.uid, `${action.verb} on another`);
        return actions.map(({ verb }) => verb);
      });
      const selected = given.budgets.flatMap(({ selector }) => {
        return given.pods.map(({ labels }) => String(matches(selector, labels)));
      });
      return [...done, ...selected];
    },
    ["WriteStatus", "Event", "true", "false"],
  ),
];
