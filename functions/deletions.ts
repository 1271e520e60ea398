/** Handles reviews of pod deletions for the guard feature. A refusal tells the client when to try again. */
import type { Context } from "hono";
import * as z from "zod/mini";
import { BUSY } from "../shared/kube/failures.ts";
import { Pod } from "../shared/kube/schemas/kubernetes.ts";
import { type DeletionRequest, type DeletionReview, reviewDeletion } from "../shared/guard/review.ts";
import { undecidedMessage } from "../shared/settings/failure-posture.ts";
import { type DeletionDecision, RETRY_SECONDS } from "../shared/guard/decide.ts";
import { deleteByOf } from "../shared/guard/disruption-cause.ts";
import { RejectionError } from "./errors.ts";
import { recordEvents, requeue } from "./reconcile.ts";
import * as review from "./review.ts";
import type { Target } from "./target.ts";
import type { Held } from "../shared/kube/transport.ts";
import { ENDPOINT_MESSAGES as MESSAGES } from "./messages.ts";

const DeletionReviewRequest = z.lazy(() =>
  z.object({
    uid: z.string(),
    operation: z.literal("DELETE", "expected DELETE"),
    resource: z.object({ group: z.literal(""), resource: z.literal("pods", "expected pods") }),
    dryRun: z._default(z.boolean(), false),
    userInfo: z.prefault(z.object({ username: z._default(z.string(), "unknown") }), {}),
    oldObject: Pod,
    options: z.nullish(z.object({ dryRun: z.nullish(z.array(z.string())), gracePeriodSeconds: z.nullish(z.number()) })),
  }),
);

/**
 * The share of the API server's timeout in which Lifeboat must decide. If Lifeboat answers after the timeout, the API
 * server ignores the answer, and can allow the deletion.
 */
const DECIDING_SHARE = 0.5;

export async function reviewDeletionRequest(c: Context, target: Target, received: review.Received): Promise<Response> {
  const { arrived, held } = received;
  return await answerDeletion(c, received, async (asked, dryRun) => {
    const ruled = await rule(target, asked, {
      dryRun,
      held,
      answerBy: review.deadlineOf(c, arrived, DECIDING_SHARE).answerBy,
    });
    if (!dryRun) followUp(c, target, asked, ruled);
    return ruled.decision;
  });
}

export function refuseUnread(uid: string): review.AdmissionReview {
  return review.refusal(uid, undecidedMessage("deletion", "a pod", BUSY), { retryAfterSeconds: RETRY_SECONDS });
}

async function answerDeletion(
  c: Context,
  { arrived, body }: review.Received,
  decide: (request: DeletionRequest, dryRun: boolean) => Promise<DeletionDecision>,
): Promise<Response> {
  const { uid, request } = review.requestIn(body);
  const parsed = DeletionReviewRequest.safeParse(request);
  const later = { retryAfterSeconds: RETRY_SECONDS };
  if (!parsed.success) return c.json(review.refusal(uid, review.otherThan("pods DELETE", parsed.error), later));
  const { oldObject: pod, userInfo, options } = parsed.data;
  const dryRun = parsed.data.dryRun || (options?.dryRun ?? []).includes("All");
  const deleteBy = deleteByOf(options?.gracePeriodSeconds ?? undefined, arrived);
  const graceSeconds = options?.gracePeriodSeconds ?? undefined;
  const asked = { pod, requester: userInfo.username, graceSeconds, ...(deleteBy !== undefined && { deleteBy }) };
  return c.json(answerOf(uid, pod, await decide(asked, dryRun)));
}

function answerOf(uid: string, pod: DeletionRequest["pod"], decision: DeletionDecision): review.AdmissionReview {
  if (decision.verdict === "Refuse") {
    return review.refusal(uid, decision.message, { retryAfterSeconds: decision.retryAfterSeconds });
  }
  if (decision.isByLifeboat !== true) return review.permission(uid);
  return review.refusal(uid, byLifeboat(pod, decision.reason), { retryAfterSeconds: GONE_SECONDS });
}

/**
 * Seconds after which the client should retry if Lifeboat deletes the pod itself. The retry then finds that the pod is
 * gone.
 */
const GONE_SECONDS = 1;

function byLifeboat({ name }: DeletionRequest["pod"], reason: string): string {
  return MESSAGES.deletedByLifeboat(name, reason);
}

/** The time limit, in seconds, of a read or write that is not needed to set evacuationNodeName. */
const BESIDES_SECONDS = 2;
const BESIDES_SHARE = 0.25;

type Ruled = Pick<DeletionReview, "decision" | "facts">;

async function rule(
  target: Target,
  asked: DeletionRequest,
  { dryRun, held, answerBy }: { readonly dryRun: boolean; readonly held: Held; readonly answerBy: number },
): Promise<Ruled> {
  const { platform, state } = target;
  try {
    const secondsLeft = () => (answerBy - platform.now().getTime()) / 1000;
    const cluster = target.connect(secondsLeft(), held);
    const besides = () => target.connect(Math.min(BESIDES_SECONDS, secondsLeft() * BESIDES_SHARE), held);
    const { settings } = await target.settings(cluster);
    const onFailure = (doing: string, failure: Error) => target.logFailure(doing, failure);
    const deps = { cluster, besides, settings, now: platform.now, onFailure };
    const reviewOnce = () => reviewDeletion(asked, deps);
    const ruled = await (dryRun ? reviewOnce() : review.reviewAndPerform(reviewOnce, () => deps));
    if (ruled === undefined) throw new RejectionError("Undecided", { message: MESSAGES.vmiChanges });
    return ruled;
  } catch (error) {
    // Throws, because the API server applies the guard's ValidatingAdmissionPolicies after a failed review.
    target.logFailure(MESSAGES.reviewingDeletion, error);
    state.reviews.count("deletions", "undecided");
    throw error;
  }
}

function followUp(c: Context, target: Target, { pod, requester }: DeletionRequest, { decision, facts }: Ruled): void {
  const { vmi, evacuations } = facts;
  if (decision.events.length > 0) c.executionCtx.waitUntil(recordEvents(target, decision.events));
  if (vmi !== undefined && (decision.verdict === "Refuse" || evacuations.length > 0)) {
    c.executionCtx.waitUntil(requeue(target, vmi));
  }
  const answer = decision.verdict === "Allow" ? "allowed" : "refused";
  target.state.reviews.count("deletions", answer);
  target.platform.log({
    endpoint: "admission/deletions",
    cluster: target.name,
    pod: `${pod.namespace}/${pod.name}`,
    requestedBy: requester,
    verdict: decision.verdict,
    ...(decision.verdict === "Allow" ? { reason: decision.reason } : { retryAfterSeconds: decision.retryAfterSeconds }),
  });
}
