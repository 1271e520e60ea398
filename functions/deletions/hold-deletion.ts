/**
 * Holding a deletion: a look every two seconds, until the hold ends.
 *
 * How a held deletion ends: the guest has left the pod, or the disruption is over, or its deadline has passed: it is let go
 * (shared/policy/guard/deletion.ts decides that at each look). Or the API server's patience ends: it is denied, and asked for
 * again.
 *
 * Owns: how often and how long is looked, and what counts while nothing can be seen. Does not own: the decision, the answer
 * (deletions.ts).
 *
 * Holding costs no CPU: it is waiting. A denial at once would be repeated fifty times a second by the scheduler, and only five
 * times in all by the taint manager.
 */
import {
  type DeletionRequest,
  type DeletionReview,
  lookAgain,
  reviewDeletion,
  ruleOnDeletion,
} from "../../shared/pass/deletion.ts";
import { blindMessage } from "../../shared/policy/blind.ts";
import { blindHoldSeconds, type DeletionDecision, release } from "../../shared/policy/guard/deletion.ts";
import { DEFAULT_SETTINGS, FEATURE_GATES, type Settings } from "../../shared/policy/settings.ts";
import type { Patience } from "../admission-review.ts";
import { describeFailure } from "../rejection.ts";
import type { Target } from "../target.ts";

/** Of the API server's patience, kept back for the last look and the way back; a webhook with little gets half of it. */
const MARGIN_SECONDS = 5;
const SHORTEST_SHARE = 0.5;
const LOOK_EVERY_MS = 2000;
const LOOK_SECONDS = 2;

interface HoldPatience {
  readonly patienceSeconds: number;
  /** Milliseconds since the epoch, as `answerBy`: by then everything has ended, for an answer too late lets the pod go. */
  readonly holdUntil: number;
  readonly answerBy: number;
}

export function patienceToHold({ timeoutSeconds, arrivedAt, answerBy }: Patience): HoldPatience {
  const patienceSeconds = Math.max(timeoutSeconds - MARGIN_SECONDS, timeoutSeconds * SHORTEST_SHARE);
  return { patienceSeconds, holdUntil: arrivedAt + patienceSeconds * 1000, answerBy };
}

export type Asked = DeletionRequest & HoldPatience;

export interface Ruled {
  readonly decision: DeletionDecision;
  /** Absent when blind. */
  readonly facts?: DeletionReview["facts"];
}

/**
 * Resolves to the last decision. `heard` is told the first one, the first one with open eyes, and the last one; `moveOn`: whether
 * the VM is to be looked at, because it has to move while the deletion waits, not after it, or because it has moved.
 */
export async function holdDeletion(
  target: Target,
  asked: Asked,
  heard: (ruled: Ruled, moveOn: boolean) => void,
): Promise<DeletionDecision> {
  const { platform } = target;
  const left = (until: number) => until - platform.now().getTime();
  const endOf = ({ decision }: Ruled) =>
    Math.min(platform.now().getTime() + holdSecondsOf(decision) * 1000, asked.holdUntil);
  let ruled = await rule(target, asked, false);
  heard(ruled, ruled.decision.verdict === "Hold");
  let isWatched = false;
  for (let until = endOf(ruled); holdSecondsOf(ruled.decision) > 0 && left(until) > 0;) {
    await platform.sleep(Math.min(left(until), LOOK_EVERY_MS));
    if (ruled.facts !== undefined) {
      ruled = await look(target, asked, { ...ruled, facts: ruled.facts });
      isWatched = true;
      continue;
    }
    ruled = await rule(target, asked, false);
    if (ruled.facts === undefined) continue;
    until = endOf(ruled);
    heard(ruled, ruled.decision.verdict === "Hold");
  }
  if (isWatched) heard(ruled, ruled.decision.verdict === "Release");
  return ruled.decision;
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
    return {
      decision: blindDecision(asked, describeFailure(error), target.state.settings.last(target.name), platform.now()),
    };
  }
}

/** One look while holding. Blind for a moment: what was decided with open eyes counts. */
async function look(target: Target, asked: Asked, last: Required<Ruled>): Promise<Ruled> {
  try {
    const decision = await lookAgain(last.facts, connectFor(LOOK_SECONDS, target, asked), target.platform.now());
    return { ...last, decision };
  } catch (error) {
    target.logFailure("holding a deletion", error);
    return last;
  }
}

/** It is to be held, but not marked yet: to be denied at once would use up the taint manager's tries. */
function contended(target: Target, asked: Asked, settings: Settings): Ruled {
  const now = target.platform.now();
  return { decision: heldBlindly(asked, blindHoldSeconds(asked, settings, now) ?? 0, "its VMI keeps changing", now) };
}

/** Before the settings have been read once: an administrator who has installed the guard's webhook wants it to guard. */
const UNREAD_SETTINGS = { ...DEFAULT_SETTINGS, featureGates: FEATURE_GATES };

/** From the request alone, and the settings if they have ever been read. */
export function blindDecision(asked: Asked, why: string, settings: Settings | undefined, now: Date): DeletionDecision {
  const left = blindHoldSeconds(asked, settings ?? UNREAD_SETTINGS, now);
  return left === undefined ? release("Blind") : heldBlindly(asked, left, why, now);
}

function heldBlindly({ pod, holdUntil }: Asked, left: number, why: string, now: Date): DeletionDecision {
  const holdSeconds = Math.min(left, Math.max(0, (holdUntil - now.getTime()) / 1000));
  const message = blindMessage("deletion", `pod "${pod.namespace}/${pod.name}"`, why);
  return { verdict: "Hold", holdSeconds, message, actions: [], story: [] };
}

function connectFor(seconds: number, target: Target, { answerBy }: HoldPatience) {
  return target.connect(Math.min(seconds, (answerBy - target.platform.now().getTime()) / 1000));
}

function holdSecondsOf(decision: DeletionDecision): number {
  return decision.verdict === "Hold" ? decision.holdSeconds : 0;
}
