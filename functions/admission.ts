/**
 * The admission door: reviews of evictions, from API servers.
 * Owns: parsing, authentication, the time budget, the answer, and what is set going after it. Does not own: the decision.
 */
import type { Context } from "hono";
import { ClusterError } from "../shared/cluster/failure.ts";
import { parseConfig } from "../shared/config/problem.ts";
import { blindMessage, WHEN_BLIND } from "../shared/policy/blind.ts";
import { causeOfEviction } from "../shared/policy/cause.ts";
import { type Review, reviewEviction, ruleOnEviction } from "../shared/reconcilers/eviction.ts";
import { vmiPointer } from "../shared/reconcilers/pointer.ts";
import * as review from "./admission-review.ts";
import { driveOn, tell } from "./drive-on.ts";
import type { Env } from "./env.ts";
import type { Target } from "./target.ts";

type AppContext = Context<{ Bindings: Env }>;

/** Of what is left of the API server's patience, for reading; of all of it, for everything: the rest is for the way back. */
const READING_SHARE = 0.5;
const ANSWERING_SHARE = 0.9;

export async function reviewEvictionRequest(c: AppContext, target: Target, arrived: Date): Promise<Response> {
  const timeout = review.timeoutSeconds(c.req.query("timeout"));
  const left = (share: number) => timeout * share - (target.platform.now().getTime() - arrived.getTime()) / 1000;
  const reading = target.connect(left(1) * READING_SHARE);
  const acting = () => target.connect(left(ANSWERING_SHARE));
  const { uid, request } = await review.envelopeOf(c);
  const parsed = parseConfig(review.EvictionRequestSchema, request, "request");
  if (!parsed.ok) {
    const [problem] = parsed.problems;
    return c.json(review.refusal(uid, `not a review of pods/eviction CREATE: ${problem?.field}: ${problem?.message}`));
  }
  const eviction = parsed.value;
  const dryRun = review.isDryRun(eviction);
  const pod = { namespace: eviction.namespace, name: eviction.name };
  const cause = causeOfEviction(eviction.object.metadata.annotations ?? {});
  const asked = { pod, request: { username: eviction.userInfo.username, cause } };
  const settings = async () => (await target.settings(reading)).settings;
  const deps = { cluster: reading, settings, now: target.platform.now() };
  try {
    const ruled = dryRun ? await reviewEviction(asked, deps) : await ruleOnEviction(asked, deps, acting);
    if (ruled === undefined) return c.json(refuseBlindly(uid, eviction, "its VMI keeps changing"));
    logRuling(target, eviction, ruled, dryRun);
    if (!dryRun) followUp(c, target, ruled);
    return c.json(review.renderRuling(uid, ruled.decision));
  } catch (error) {
    return c.json(refuseBlindly(uid, eviction, whyBlind(target, error)));
  }
}

/** A defect of ours is blindness too: any code but 429 would let the eviction through. */
function whyBlind(target: Target, error: unknown): string {
  target.logFailure("reviewing an eviction", error);
  return error instanceof ClusterError ? error.message : "an unexpected error";
}

function refuseBlindly(uid: string, { namespace, name }: review.ParsedEviction, why: string): review.AdmissionReview {
  switch (WHEN_BLIND.eviction) {
    case "deny":
      return review.refusal(uid, blindMessage("eviction", `pod "${namespace}/${name}"`, why));
  }
}

/**
 * Tells the story and drives the evacuation on, after the answer: a drain drives itself. Also of a VM that may go, whose
 * budget, of a time when it could still move, would refuse what we allow.
 */
function followUp(c: Context, target: Target, { decision, facts }: Review): void {
  const { vmi } = facts;
  const isChanged = decision.actions.some(({ verb }) => verb !== "EnsureBudget");
  const concerned = vmi?.evacuationNodeName !== undefined || isChanged || decision.verdict === "Allow";
  if (decision.story.length > 0) c.executionCtx.waitUntil(tell(target, decision.story));
  if (vmi !== undefined && concerned) c.executionCtx.waitUntil(driveOn(target, [vmiPointer(vmi)]));
}

function logRuling(
  target: Target,
  eviction: review.ParsedEviction,
  { decision, facts }: Review,
  dryRun: boolean,
): void {
  target.platform.log({
    door: "admission/evictions",
    cluster: target.name,
    pod: `${eviction.namespace}/${eviction.name}`,
    vmi: facts.vmi?.name,
    cause: facts.request.cause,
    requestedBy: facts.request.username,
    verdict: decision.verdict,
    reason: decision.reason,
    dryRun,
  });
}
