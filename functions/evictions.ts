/**
 * The admission door: reviews of evictions, from API servers.
 * Owns: parsing, authentication, the time budget, the answer, and what is set going after it. Does not own: the decision.
 */
import type { Context } from "hono";
import { ClusterError } from "../shared/cluster/failure.ts";
import type { PodFacts, VmiFacts } from "../shared/policy/facts.ts";
import { parseConfig } from "../shared/config/problem.ts";
import { blindMessage, whenEvictionIsBlind } from "../shared/policy/blind.ts";
import { causeOfEviction } from "../shared/policy/cause.ts";
import { isActive } from "../shared/policy/evacuation/phase.ts";
import { type Review, reviewEviction, ruleOnEviction } from "../shared/pass/eviction.ts";
import * as review from "./admission-review.ts";
import { carryOn, tell } from "./carry-on.ts";
import type { Env } from "./env.ts";
import { RejectionError } from "./rejection.ts";
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
  target.state.called.add(target.name);
  const eviction = parsed.value;
  // Asked for by Lifeboat, on a condition that no pod meets, for KubeVirt's webhook to mark the VM.
  if (review.isImpossible(eviction)) return c.json(review.permission(uid));
  const dryRun = review.isDryRun(eviction);
  const key = { namespace: eviction.namespace, name: eviction.name };
  const cause = causeOfEviction(eviction.object.metadata.annotations ?? {});
  const settings = async () => (await target.settings(reading)).settings;
  const pod = reading.getPod(key);
  const deps = { cluster: reading, settings, now: target.platform.now() };
  try {
    const asked = { pod, key, request: { username: eviction.userInfo.username, cause } };
    const ruled = dryRun ? await reviewEviction(asked, deps) : await ruleOnEviction(asked, deps, acting);
    if (ruled === undefined)
      return c.json(refuseBlindly(uid, eviction, "its VMI keeps changing, or KubeVirt does not mark it"));
    logRuling(target, eviction, ruled, dryRun);
    if (!dryRun) followUp(c, target, ruled);
    return c.json(review.renderRuling(uid, ruled.decision));
  } catch (error) {
    return answerBlindly(c, { uid, eviction, target, error, pod: await pod.catch(() => undefined) });
  }
}

interface Blind {
  readonly uid: string;
  readonly eviction: review.ParsedEviction;
  readonly target: Target;
  readonly error: unknown;
  readonly pod: PodFacts | undefined;
}

/** A defect of ours is blindness too. */
function answerBlindly(c: AppContext, { uid, eviction, target, error, pod }: Blind): Response {
  target.logFailure("reviewing an eviction", error);
  switch (whenEvictionIsBlind(pod)) {
    case "refuse":
      return c.json(
        refuseBlindly(uid, eviction, error instanceof ClusterError ? error.message : "an unexpected error"),
      );
    case "allow":
      return c.json(review.permission(uid));
    case "fail":
      throw new RejectionError({ reason: "Blind" });
  }
}

function refuseBlindly(uid: string, { namespace, name }: review.ParsedEviction, why: string): review.AdmissionReview {
  return review.refusal(uid, blindMessage("eviction", `pod "${namespace}/${name}"`, why));
}

/**
 * Tells the story and moves the VM on, after the answer. What the review has read is what the reconcile decides on; where the
 * decision has changed the VM, a mark that was set is part of it.
 */
function followUp(c: Context, target: Target, { decision, facts, created }: Review): void {
  if (decision.story.length > 0) c.executionCtx.waitUntil(tell(target, decision.story));
  const { vmi } = facts;
  if (vmi !== undefined) c.executionCtx.waitUntil(moveOn(target, vmi, { decision, facts, created }));
}

async function moveOn(
  target: Target,
  vmi: VmiFacts,
  { decision, facts: { evacuations }, created }: Review,
): Promise<void> {
  const isMarkSet = decision.actions.some(({ verb }) => verb === "Mark");
  const isUnderWay = vmi.evacuationNodeName !== undefined || evacuations.some(isActive) || created !== undefined;
  // What may go must not be kept by a budget of a time when it was to move.
  if (!isUnderWay && !isMarkSet && decision.verdict !== "Allow") return;
  const { nodeName } = vmi;
  const marked = isMarkSet && nodeName !== undefined ? { ...vmi, evacuationNodeName: nodeName } : vmi;
  const known =
    created === undefined
      ? { evacuations, vmi: marked }
      : { evacuations: [...evacuations, created], vmi: marked, migrations: [] };
  await carryOn(target, vmi, decision.actions.some(({ verb }) => verb === "Unmark") ? {} : known);
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
