/**
 * The guard's door: reviews of deletions of VMs' pods.
 * Owns: parsing, the answer, the log. Does not own: the decision (shared/policy/guard/deletion.ts), how long a deletion is held
 * and how that ends (hold-deletion.ts).
 */
import type { Context } from "hono";
import { parseConfig } from "../../shared/config/problem.ts";
import type { DeletionRequest } from "../../shared/pass/deletion.ts";
import type { DeletionDecision } from "../../shared/policy/guard/deletion.ts";
import { deleteByOf } from "../../shared/policy/guard/node-termination.ts";
import * as review from "../admission-review.ts";
import { carryOn, tell } from "../carry-on.ts";
import { describeDefect } from "../rejection.ts";
import type { Platform } from "../env.ts";
import type { Target } from "../target.ts";
import { blindDecision, holdDeletion, patienceToHold, rule, type Ruled } from "./hold-deletion.ts";

export async function reviewDeletionRequest(c: Context, target: Target, arrived: Date): Promise<Response> {
  return await answerDeletion(c, arrived, async (request, dryRun) => {
    const asked = { ...request, ...patienceToHold(review.patienceOf(c, arrived)) };
    if (dryRun) return (await rule(target, asked, true)).decision;
    return await holdDeletion(target, asked, (ruled, moveOn) => {
      report(c, target, asked, ruled);
      const { vmi } = ruled.facts ?? {};
      if (moveOn && vmi !== undefined) c.executionCtx.waitUntil(carryOn(target, vmi));
    });
  });
}

/**
 * No cluster can be asked, because of its configuration or of a defect of ours: held until the deadline that the request itself
 * shows, without a look. Any 5xx would let the pod go: the API server takes it for a webhook that fails.
 */
export async function holdUnreviewed(c: Context, platform: Platform, arrived: Date, error: unknown): Promise<Response> {
  return await answerDeletion(c, arrived, async (request, dryRun) => {
    const asked = { ...request, ...patienceToHold(review.patienceOf(c, arrived)) };
    const decision = blindDecision(asked, describeDefect(error, platform), undefined, platform.now());
    if (decision.verdict === "Hold" && !dryRun) await platform.sleep(decision.holdSeconds * 1000);
    return decision;
  });
}

type Decide = (request: Omit<DeletionRequest, "patienceSeconds">, dryRun: boolean) => Promise<DeletionDecision>;

/** Anything that is not the review of a deletion is refused: the webhook as shipped does not send it. */
async function answerDeletion(c: Context, arrived: Date, decide: Decide): Promise<Response> {
  const { uid, request } = await review.envelopeOf(c);
  const parsed = parseConfig(review.DeletionRequestSchema, request, "request");
  if (!parsed.ok) return c.json(review.refuseOther(uid, "pods DELETE", parsed));
  const { oldObject: pod, userInfo, options } = parsed.value;
  const deleteBy = deleteByOf(options?.gracePeriodSeconds ?? undefined, arrived);
  const asked = { pod, requester: userInfo.username, ...(deleteBy !== undefined && { deleteBy }) };
  const decision = await decide(asked, review.isDryRunDeletion(parsed.value));
  return c.json(decision.verdict === "Release" ? review.permission(uid) : review.refusal(uid, decision.message));
}

function report(c: Context, target: Target, { pod, requester }: DeletionRequest, { decision }: Ruled): void {
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
