/**
 * Reads the facts about one VMI from an admission review, from watches or from the API server. The facts of reviews and
 * watches can be outdated. Lifeboat uses them only for actions that are safe even with outdated facts.
 */
import { decide, decideSafely, type Source } from "../facts/decide.ts";
import type { Facts, Question } from "../facts/facts.ts";
import { givenReads, liveReads } from "../facts/reads.ts";
import { isSafeOnCachedFacts, isSafeOnOneReading, isSafeWithLiveVmi } from "../facts/safe-actions.ts";
import type { Action } from "../kube/action.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { MigrationFacts, NamespacedName, PodFacts, VmiFacts } from "../kube/facts.ts";
import { selectEvacuationsOf, selectMigrationsOf } from "../kube/selections.ts";
import { secondsSince } from "../settings/time.ts";
import type { Deps } from "./carry-out.ts";
import { decideOnVmi, type VmiDecision } from "./decide-on-vmi.ts";

export interface Known {
  /** The VMI's Evacuations. The caller read them before the VMI. */
  readonly evacuations?: readonly EvacuationFacts[];
  readonly pods?: readonly PodFacts[];
  readonly reviewed?: Reviewed;
}

/** Facts that one admission review has read, so that they fit together. */
export interface Reviewed {
  readonly vmi: VmiFacts;
  readonly evacuations: readonly EvacuationFacts[];
  /**
   * The VMI's migrations. Empty if the Evacuation has just started, because KubeVirt has not created a migration yet.
   */
  readonly migrations?: readonly MigrationFacts[] | undefined;
}

/**
 * Decides with the facts of the caller or of the watches, which can be outdated. If the decided actions are not safe
 * with outdated facts, decides again with facts from the API server.
 */
export async function decideFirst(key: NamespacedName, known: Known, deps: Deps): Promise<VmiDecision> {
  const beforehand = { known: known.evacuations === undefined ? [] : [evacuationsAnswer(key, known.evacuations)] };
  const sources = sourcesOf(key, known, deps);
  return (await decideSafely(ruleFor(key, known, deps), sources, liveReads(deps.cluster), beforehand)).answer;
}

/** Decides with facts from the API server, because the facts of the caller and of the watches may be outdated. */
export async function decideAgain(key: NamespacedName, known: Known, deps: Deps): Promise<VmiDecision> {
  return (await decide(ruleFor(key, known, deps), liveReads(deps.cluster))).answer;
}

function ruleFor(key: NamespacedName, { pods = [] }: Known, { settings, clock, watched }: Deps) {
  const moment = { settings, now: clock(), isWatched: watched !== undefined };
  return (facts: Facts) => decideOnVmi(key, pods, { facts, ...moment });
}

/** Returns the sources whose facts can be outdated, in the order in which Lifeboat tries them. */
function sourcesOf(
  key: NamespacedName,
  { evacuations, pods = [], reviewed }: Known,
  { cluster, watched, clock }: Deps,
): readonly Source<VmiDecision>[] {
  const live = liveReads(cluster);
  if (reviewed !== undefined)
    return [{ reads: givenReads(answersOf(key, reviewed), live), isSafe: all(isSafeOnOneReading) }];
  if (watched === undefined || evacuations !== undefined || pods.length > 0) return [];
  const shown = watched(cluster);
  const isOf = (isSafeAction: (action: Action) => boolean) => (decision: VmiDecision) =>
    !isMarkBehind(decision, clock()) && all(isSafeAction)(decision);
  return [
    { reads: shown, isSafe: isOf((action) => isSafeOnCachedFacts(action, "Reconcile")) },
    { reads: (question) => (isVmi(question) ? live : shown)(question), isSafe: isOf(isSafeWithLiveVmi) },
  ];
}

function all(isSafe: (action: Action) => boolean) {
  return ({ plans }: VmiDecision) => plans.every(({ chains }) => chains.flat().every(isSafe));
}

function isVmi({ kind, key }: Question): boolean {
  return kind === "virtualmachineinstances" && key !== undefined;
}

/** The maximum delay of a watch compared to the API server. */
const BEHIND_SECONDS = 60;

/** Returns true if the evacuationNodeName that a watch shows may belong to an earlier Evacuation. */
function isMarkBehind({ evacuations }: VmiDecision, now: Date): boolean {
  const hasJustEnded = evacuations.some(({ status }) => secondsSince(status.completionTime, now) < BEHIND_SECONDS);
  return hasJustEnded && evacuations.some(isActive);
}

function evacuationsAnswer(key: NamespacedName, value: readonly EvacuationFacts[]) {
  return [{ kind: "evacuations", selection: selectEvacuationsOf(key) }, { value }] as const;
}

function answersOf(key: NamespacedName, { vmi, evacuations, migrations }: Reviewed) {
  const ofMigrations = selectMigrationsOf([key]).map((selection) => {
    return [{ kind: "virtualmachineinstancemigrations", selection }, { value: migrations }] as const;
  });
  return [
    [{ kind: "virtualmachineinstances", key }, { value: vmi }] as const,
    evacuationsAnswer(key, evacuations),
    ...(migrations === undefined ? [] : ofMigrations),
  ];
}
