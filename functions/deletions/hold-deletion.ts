/**
 * Holding a deletion back: looking, again and again, until it may go or the API server's patience ends.
 * Owns: how long and how often, and what is done while nothing can be seen. Does not own: the decision
 * (shared/policy/guard/deletion.ts), the answer (deletions.ts).
 *
 * Holding costs no CPU: it is waiting, with a look every two seconds. A denial at once would be repeated fifty times a
 * second by the scheduler, and only five times in all by the taint manager.
 */
import { ClusterError } from "../../shared/cluster/failure.ts";
import { blindMessage } from "../../shared/policy/blind.ts";
import { blindHoldSeconds, type DeletionDecision } from "../../shared/policy/guard/deletion.ts";
import { DEFAULT_SETTINGS, FEATURE_GATES, type Settings } from "../../shared/policy/settings.ts";
import {
  type DeletionRequest,
  type DeletionReview,
  lookAgain,
  reviewDeletion,
  ruleOnDeletion,
} from "../../shared/pass/deletion.ts";
import type { Platform } from "../env.ts";
import type { Target } from "../target.ts";

/** Of the API server's patience, kept back for the last look and the way back; a webhook with little gets half of it. */
const MARGIN_SECONDS = 5;
const SHORTEST_SHARE = 0.5;
/** By then everything has ended, whatever the API server does: an answer too late lets the pod go. */
const ANSWERING_SHARE = 0.9;
const LOOK_EVERY_MS = 2000;
const LOOK_SECONDS = 2;

/** Until when, in milliseconds since the epoch. Counts from the arrival of the request: reading it and looking take their share. */
export interface Patience {
  readonly patienceSeconds: number;
  readonly holdUntil: number;
  readonly answerBy: number;
}

export function patienceOf(timeoutSeconds: number, arrived: Date): Patience {
  const patienceSeconds = Math.max(timeoutSeconds - MARGIN_SECONDS, timeoutSeconds * SHORTEST_SHARE);
  const after = (seconds: number) => arrived.getTime() + seconds * 1000;
  return { patienceSeconds, holdUntil: after(patienceSeconds), answerBy: after(timeoutSeconds * ANSWERING_SHARE) };
}

export type Asked = DeletionRequest & Patience;

export interface Ruled {
  readonly decision: DeletionDecision;
  /** Absent when blind. */
  readonly facts?: DeletionReview["facts"];
}

export async function rule(target: Target, asked: Asked, dryRun: boolean): Promise<Ruled> {
  const { platform } = target;
  try {
    const cluster = connectFor(asked.patienceSeconds * SHORTEST_SHARE, target, asked);
    const { settings } = await target.settings(cluster);
    const deps = { cluster, settings, now: platform.now() };
    const ruled = dryRun ? await reviewDeletion(asked, deps) : await ruleOnDeletion(asked, deps);
    return ruled ?? contended(target, asked, settings);
  } catch (error) {
    target.logFailure("reviewing a deletion", error);
    const why = error instanceof ClusterError ? error.message : "an unexpected error";
    return { decision: blindDecision(asked, why, target.state.settings.last(target.name), platform.now()) };
  }
}

/** It is to be held, but not marked yet: to be denied at once would use up the taint manager's tries. */
function contended(target: Target, asked: Asked, settings: Settings): Ruled {
  const now = target.platform.now();
  const left = Math.min(blindHoldSeconds(asked, settings, now) ?? 0, patienceLeft(asked, now));
  return { decision: heldBlindly(asked, left, "its VMI keeps changing") };
}

/** Before the settings have been read once: who has installed the guard's webhook wants it to guard. */
const UNREAD_SETTINGS = { ...DEFAULT_SETTINGS, featureGates: FEATURE_GATES };

/** From the request alone, and the settings if they have ever been read. */
export function blindDecision(asked: Asked, why: string, settings: Settings | undefined, now: Date): DeletionDecision {
  const left = blindHoldSeconds(asked, settings ?? UNREAD_SETTINGS, now);
  if (left === undefined) return { verdict: "Release", reason: "Blind", story: [] };
  return heldBlindly(asked, Math.min(left, patienceLeft(asked, now)), why);
}

function patienceLeft({ holdUntil }: Patience, now: Date): number {
  return Math.max(0, (holdUntil - now.getTime()) / 1000);
}

function heldBlindly({ pod }: Asked, holdSeconds: number, why: string): DeletionDecision {
  const message = blindMessage("deletion", `pod "${pod.namespace}/${pod.name}"`, why);
  return { verdict: "Hold", holdSeconds, message, actions: [], story: [] };
}

/** Looks until something is seen: resolves to that, or to the last blind ruling when the hold is over. */
export async function untilSeen(target: Target, asked: Asked, first: Ruled): Promise<Ruled> {
  return await watch(target.platform, asked, {
    first,
    holdSeconds: ({ decision, facts }) => (facts === undefined ? holdSecondsOf(decision) : 0),
    look: () => rule(target, asked, false),
  });
}

/** Looks until the deletion may go: resolves to the last decision as soon as that is so, or when the hold is over. */
export async function hold(
  target: Target,
  asked: Asked,
  { decision, facts }: Required<Ruled>,
): Promise<DeletionDecision> {
  const look = async (last: DeletionDecision) => {
    try {
      return await lookAgain(facts, connectFor(LOOK_SECONDS, target, asked), target.platform.now());
    } catch (error) {
      // Blind for a moment: what was decided with open eyes holds.
      target.logFailure("holding a deletion", error);
      return last;
    }
  };
  return await watch(target.platform, asked, { first: decision, holdSeconds: holdSecondsOf, look });
}

function connectFor(seconds: number, target: Target, { answerBy }: Patience) {
  return target.connect(Math.min(seconds, (answerBy - target.platform.now().getTime()) / 1000));
}

function holdSecondsOf(decision: DeletionDecision): number {
  return decision.verdict === "Hold" ? decision.holdSeconds : 0;
}

interface Watch<T> {
  readonly first: T;
  /** The first one's limits the whole watch; 0 ends it. */
  readonly holdSeconds: (seen: T) => number;
  readonly look: (last: T) => Promise<T>;
}

async function watch<T>(
  platform: Platform,
  { holdUntil }: Patience,
  { first, holdSeconds, look }: Watch<T>,
): Promise<T> {
  const until = Math.min(platform.now().getTime() + holdSeconds(first) * 1000, holdUntil);
  let last = first;
  for (let left = until - platform.now().getTime(); left > 0 && holdSeconds(last) > 0;) {
    await platform.sleep(Math.min(left, LOOK_EVERY_MS));
    last = await look(last);
    left = until - platform.now().getTime();
  }
  return last;
}
