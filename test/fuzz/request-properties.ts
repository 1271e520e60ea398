/**
 * What every answer to a request keeps to, whatever the facts: it is one of its closed union, the same facts give the same
 * one, and it acts on nothing but the objects among them.
 * Owns: that, of evictions and deletions, and that each answer is given. Does not own: whether it is right
 * (test/policy).
 */
import type { Action } from "../../shared/policy/action.ts";
import { blindHoldSeconds, decideDeletion, RELEASE_REASONS } from "../../shared/policy/guard/deletion.ts";
import {
  type AllowReason,
  decideEviction,
  type DenyReason,
  type EvictionDecision,
} from "../../shared/policy/eviction/eviction.ts";
import { decidedTwice, expect, expectActions } from "./expectations.ts";
import { deletionFacts, evictionFacts } from "./policy-requests.ts";
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
  NotScheduled: true,
  HotplugOfLiveVmi: true,
  BackingOff: true,
  Migrations: true,
} satisfies Record<AllowReason | DenyReason | Question, true>);

/** Only the door is blind. */
const DELETION_ANSWERS = RELEASE_REASONS.filter((reason) => reason !== "Blind");

type Question = Extract<EvictionDecision, { verdict: "Ask" }>["question"];

/** What is done before the answer; the last of it says what kind of answer it is. */
function lastVerb(actions: readonly Action[]): string {
  return actions.at(-1)?.verb ?? "nothing";
}

export const REQUEST_PROPERTIES: readonly Property[] = [
  property(
    "an eviction is decided",
    evictionFacts,
    (given) => {
      const decision = decidedTwice(given, decideEviction);
      if (decision.verdict === "Ask") return decision.question;
      expectActions([...decision.actions, ...decision.story], given);
      if (decision.verdict === "Deny") expect(decision.message.length > 0, "a denial without a word");
      return [decision.reason, `${decision.reason}: ${lastVerb(decision.actions)}`];
    },
    [...EVICTION_ANSWERS, "EvacuationTriggered: Mark", "ShutdownByStrategy: Unmark"],
  ),
  property(
    "a question is asked once",
    evictionFacts,
    (given) => {
      const asked = decideEviction(given);
      const answered = { migrations: [], ...given };
      expect(decideEviction(answered).verdict !== "Ask", "asked although answered");
      return asked.verdict === "Ask" ? asked.question : asked.verdict;
    },
    ["Migrations"],
  ),
  property(
    "a deletion is decided, and held no longer than anybody waits",
    deletionFacts,
    (given) => {
      const decision = decidedTwice(given, decideDeletion);
      expectActions(decision.story, given);
      if (decision.verdict === "Release") return decision.reason;
      expectActions(decision.actions, given);
      const { holdSeconds, actions } = decision;
      expect(holdSeconds >= 0 && holdSeconds <= given.patienceSeconds, `held for ${holdSeconds} s`);
      return [holdSeconds > 0 ? "held" : "denied", `held back, with ${lastVerb(actions)} done`];
    },
    [
      ...DELETION_ANSWERS,
      "held",
      "denied",
      "held back, with Mark done",
      "held back, with CreateEvacuation done",
      "held back, with nothing done",
    ],
  ),
  property(
    "a deletion in the dark is held for a time, or not",
    deletionFacts,
    (given) => {
      const seconds = decidedTwice(given, (f) => blindHoldSeconds(f, f.settings, f.now));
      expect(seconds === undefined || (seconds >= 0 && Number.isFinite(seconds)), `held for ${seconds} s`);
      return seconds === undefined ? "let go" : seconds > 0 ? "held" : "denied";
    },
    ["let go", "held", "denied"],
  ),
];
