/**
 * The guard's door: reviews of deletions of VMs' pods, held back while the VM moves.
 * Owns: parsing, the hold, the answer. Does not own: the decision (shared/policy/deletion.ts).
 *
 * Holding costs no CPU: it is waiting, with a look every two seconds. A denial at once would be repeated fifty times a
 * second by the scheduler, and only five times in all by the taint manager.
 */
import type { Context } from "hono";
import { ClusterError } from "../shared/cluster/failure.ts";
import { parseConfig } from "../shared/config/problem.ts";
import { blindMessage } from "../shared/policy/blind.ts";
import { blindHoldSeconds, type DeletionDecision } from "../shared/policy/deletion.ts";
import { DEFAULT_SETTINGS, FEATURE_GATES } from "../shared/policy/settings.ts";
import {
  type DeletionRequest,
  type DeletionReview,
  lookAgain,
  reviewDeletion,
  ruleOnDeletion,
} from "../shared/reconcilers/deletion.ts";
import { vmiPointer } from "../shared/reconcilers/pointer.ts";
import * as review from "./admission-review.ts";
import { driveOn, tell } from "./drive-on.ts";
import type { Env } from "./env.ts";
import type { Target } from "./target.ts";

/** Of the API server's patience, kept back for the last look and the way back. */
const MARGIN_SECONDS = 5;
/** A webhook with little patience gets half of it. */
const SHORTEST_SHARE = 0.5;
const LOOK_EVERY_MS = 2000;
const LOOK_SECONDS = 2;

type AppContext = Context<{ Bindings: Env }>;

export async function reviewDeletionRequest(c: AppContext, target: Target): Promise<Response> {
  const timeout = review.timeoutSeconds(c.req.query("timeout"));
  const patienceSeconds = Math.max(timeout - MARGIN_SECONDS, timeout * SHORTEST_SHARE);
  const arrived = target.platform.now().getTime();
  const { uid, request } = await review.envelopeOf(c);
  const parsed = parseConfig(review.DeletionRequestSchema, request, "request");
  if (!parsed.ok) {
    const [problem] = parsed.problems;
    return c.json(review.refusal(uid, `not a review of pods DELETE: ${problem?.field}: ${problem?.message}`));
  }
  const { oldObject: pod, userInfo } = parsed.value;
  const asked: DeletionRequest = { pod, requester: userInfo.username, patienceSeconds };
  const decision = review.isDryRunDeletion(parsed.value)
    ? (await rule(target, asked, true)).decision
    : await decideAndHold(c, target, asked, arrived + patienceSeconds * 1000);
  return c.json(decision.verdict === "Release" ? review.permission(uid) : review.refusal(uid, decision.message));
}

/** `end`: milliseconds since the epoch; counts from the arrival of the request, looking has taken its share. */
async function decideAndHold(
  c: AppContext,
  target: Target,
  asked: DeletionRequest,
  end: number,
): Promise<DeletionDecision> {
  const { decision, facts } = await rule(target, asked, false);
  report(c, target, asked, decision);
  if (decision.verdict === "Release") return decision;
  // The VM has to move while the deletion waits, not after it.
  if (facts?.vmi !== undefined) c.executionCtx.waitUntil(driveOn(target, [vmiPointer(facts.vmi)]));
  const last = await hold(target, { decision, facts, asked, end });
  if (last !== decision) report(c, target, asked, last);
  return last;
}

function report(c: AppContext, target: Target, { pod, requester }: DeletionRequest, decision: DeletionDecision): void {
  if (decision.story.length > 0) c.executionCtx.waitUntil(tell(target, decision.story));
  target.platform.log({
    door: "admission/deletions",
    cluster: target.name,
    pod: `${pod.namespace}/${pod.name}`,
    requestedBy: requester,
    verdict: decision.verdict,
    ...(decision.verdict === "Release" ? { reason: decision.reason } : { holdSeconds: decision.holdSeconds }),
  });
}

interface Ruled {
  readonly decision: DeletionDecision;
  /** Absent when blind. */
  readonly facts?: DeletionReview["facts"];
}

async function rule(target: Target, asked: DeletionRequest, dryRun: boolean): Promise<Ruled> {
  const { platform, state } = target;
  try {
    const cluster = target.connect(asked.patienceSeconds * SHORTEST_SHARE);
    const { settings } = await target.settings(cluster);
    const deps = { cluster, settings, now: platform.now() };
    const ruled = dryRun ? await reviewDeletion(asked, deps) : await ruleOnDeletion(asked, deps);
    return ruled ?? { decision: { ...HELD_AT_ONCE, message: `the VMI of pod "${asked.pod.name}" keeps changing` } };
  } catch (error) {
    target.logFailure("reviewing a deletion", error);
    const why = error instanceof ClusterError ? error.message : "an unexpected error";
    const settings = state.settings.last(target.name) ?? UNREAD_SETTINGS;
    const left = blindHoldSeconds(asked, settings, platform.now());
    if (left === undefined) return { decision: { verdict: "Release", reason: "Blind", story: [] } };
    const message = blindMessage("deletion", `pod "${asked.pod.namespace}/${asked.pod.name}"`, why);
    return { decision: { ...HELD_AT_ONCE, holdSeconds: Math.min(left, asked.patienceSeconds), message } };
  }
}

/** Before the settings have been read once: who has installed the guard's webhook wants it to guard. */
const UNREAD_SETTINGS = { ...DEFAULT_SETTINGS, featureGates: FEATURE_GATES };

const HELD_AT_ONCE = { verdict: "Hold", holdSeconds: 0, actions: [], story: [] } as const;

interface Holding {
  readonly decision: Extract<DeletionDecision, { verdict: "Hold" }>;
  readonly facts: DeletionReview["facts"] | undefined;
  readonly asked: DeletionRequest;
  /** Milliseconds since the epoch. */
  readonly end: number;
}

/** Resolves to the last decision: as soon as the deletion may go, else what it is when the hold is over. */
async function hold(target: Target, { decision, facts, asked, end }: Holding): Promise<DeletionDecision> {
  const { platform } = target;
  const until = Math.min(platform.now().getTime() + decision.holdSeconds * 1000, end);
  let last: DeletionDecision = decision;
  for (let left = until - platform.now().getTime(); left > 0 && last.verdict === "Hold";) {
    await platform.sleep(Math.min(left, LOOK_EVERY_MS));
    last = await look(target, { last, facts, asked });
    left = until - platform.now().getTime();
  }
  return last;
}

async function look(
  target: Target,
  { last, facts, asked }: { last: DeletionDecision } & Pick<Holding, "facts" | "asked">,
): Promise<DeletionDecision> {
  if (facts === undefined) return (await rule(target, asked, false)).decision;
  try {
    return await lookAgain(facts, target.connect(LOOK_SECONDS), target.platform.now());
  } catch (error) {
    // Blind for a moment: what was decided with open eyes holds.
    target.logFailure("holding a deletion", error);
    return last;
  }
}
