/**
 * The guard's door: reviews of deletions of VMs' pods, held back while the VM moves.
 * Owns: parsing, what is set going beside the hold, the answer. Does not own: the decision (shared/policy/guard/deletion.ts), the
 * hold (hold-deletion.ts).
 */
import type { Context } from "hono";
import { parseConfig } from "../../shared/config/problem.ts";
import type { DeletionDecision } from "../../shared/policy/guard/deletion.ts";
import type { DeletionRequest } from "../../shared/pass/deletion.ts";
import * as review from "../admission-review.ts";
import { carryOn, tell } from "../carry-on.ts";
import type { Env } from "../env.ts";
import { type Asked, hold, patienceOf, rule, untilSeen } from "./hold-deletion.ts";
import type { Target } from "../target.ts";

type AppContext = Context<{ Bindings: Env }>;

export async function reviewDeletionRequest(c: AppContext, target: Target, arrived: Date): Promise<Response> {
  const patience = patienceOf(review.timeoutSeconds(c.req.query("timeout")), arrived);
  return await answerDeletion(c, async (request, dryRun) => {
    const asked = { ...request, ...patience };
    return dryRun ? (await rule(target, asked, true)).decision : await decideAndHold(c, target, asked);
  });
}

type Decide = (request: Pick<DeletionRequest, "pod" | "requester">, dryRun: boolean) => Promise<DeletionDecision>;

/** The review of a deletion answered as decided. What is none is refused: it would not come here, were the webhook as shipped. */
export async function answerDeletion(c: Context, decide: Decide): Promise<Response> {
  const { uid, request } = await review.envelopeOf(c);
  const parsed = parseConfig(review.DeletionRequestSchema, request, "request");
  if (!parsed.ok) {
    const [problem] = parsed.problems;
    return c.json(review.refusal(uid, `not a review of pods DELETE: ${problem?.field}: ${problem?.message}`));
  }
  const { oldObject: pod, userInfo } = parsed.value;
  const decision = await decide({ pod, requester: userInfo.username }, review.isDryRunDeletion(parsed.value));
  return c.json(decision.verdict === "Release" ? review.permission(uid) : review.refusal(uid, decision.message));
}

async function decideAndHold(c: AppContext, target: Target, asked: Asked): Promise<DeletionDecision> {
  const first = await rule(target, asked, false);
  if (first.facts === undefined) report(c, target, asked, first.decision);
  const { decision, facts } = await untilSeen(target, asked, first);
  if (facts === undefined) return decision;
  report(c, target, asked, decision);
  if (decision.verdict === "Release") return decision;
  const moveOn = () => {
    if (facts.vmi !== undefined) c.executionCtx.waitUntil(carryOn(target, facts.vmi));
  };
  // The VM has to move while the deletion waits, not after it.
  moveOn();
  const last = await hold(target, asked, { decision, facts });
  if (last === decision) return last;
  report(c, target, asked, last);
  // Most often because the VM has moved: with that its evacuation ends.
  if (last.verdict === "Release") moveOn();
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
