/** Handles reviews of evictions. */
import type { Context } from "hono";
import * as z from "zod/mini";
import type { Client } from "../shared/kube/client.ts";
import { keyOf } from "../shared/kube/objects.ts";
import type { NamespacedName, PodFacts, VmiFacts } from "../shared/kube/facts.ts";
import { type Posture, undecidedMessage, whenEvictionIsUndecided } from "../shared/settings/failure-posture.ts";
import { BUSY, ClusterError, isBusy, isLasting, isOddObject, isSilence } from "../shared/kube/failures.ts";
import { isDue } from "../shared/evacuation/attempts.ts";
import { causeOfEviction, isActive } from "../shared/kube/evacuation.ts";
import type { EvictionFacts } from "../shared/eviction/decide.ts";
import { DRY_RUN_WORDS, warningsOf } from "../shared/eviction/messages.ts";
import { type Review, reviewEviction } from "../shared/eviction/review.ts";
import type { Known } from "../shared/reconcile/sources.ts";
import { keepUndecided } from "./conditions.ts";
import { describeError, RejectionError } from "./errors.ts";
import { recordEvents, requeue } from "./reconcile.ts";
import * as review from "./review.ts";
import type { Target } from "./target.ts";
import { ENDPOINT_MESSAGES as MESSAGES } from "./messages.ts";

const Name = z.lazy(() => z.string(MESSAGES.aName).check(z.minLength(1, MESSAGES.aName)));

const EvictionRequest = z.lazy(() =>
  z.object({
    uid: z.string(),
    operation: z.literal("CREATE", "expected CREATE"),
    resource: z.object({
      group: z.literal("", MESSAGES.coreGroup),
      resource: z.literal("pods", MESSAGES.pods),
    }),
    subResource: z.literal("eviction", "expected eviction"),
    namespace: Name,
    name: Name,
    dryRun: z._default(z.boolean(), false),
    userInfo: z.prefault(z.object({ username: z._default(z.string(), "unknown") }), {}),
    object: z.object({
      apiVersion: z.enum(["policy/v1", "policy/v1beta1"], MESSAGES.policyGroup),
      kind: z.literal("Eviction", MESSAGES.eviction),
      metadata: z.prefault(z.object({ annotations: z.nullish(z.record(z.string(), z.string())) }), {}),
      deleteOptions: z.nullish(z.object({ dryRun: z.nullish(z.array(z.string())) })),
    }),
  }),
);
type EvictionRequest = z.output<typeof EvictionRequest>;

/** Returns whether the eviction is a dry run. The request or the Eviction's deleteOptions can set `dryRun`. */
function isDryRun({ dryRun, object }: EvictionRequest): boolean {
  return dryRun || (object.deleteOptions?.dryRun ?? []).includes("All");
}

interface Asked {
  readonly pod: NamespacedName;
  readonly request: EvictionFacts["request"];
}

const READING_SHARE = 0.5;
/** The share of the API server's timeout after which Lifeboat stops all work on a review. */
const ANSWERING_SHARE = 0.9;

export async function reviewEvictionRequest(c: Context, target: Target, received: review.Received): Promise<Response> {
  const { uid, request } = review.requestIn(received.body);
  const parsed = EvictionRequest.safeParse(request);
  if (!parsed.success) return c.json(review.refusal(uid, review.otherThan("pods/eviction CREATE", parsed.error)));
  target.state.called.add(target.name);
  const { namespace, name, userInfo, object } = parsed.data;
  const cause = causeOfEviction(object.metadata.annotations ?? {});
  const asked: Asked = { pod: { namespace, name }, request: { username: userInfo.username, cause } };
  return await answer(c, target, received, { uid, asked, dryRun: isDryRun(parsed.data) });
}

interface Eviction {
  readonly uid: string;
  readonly asked: Asked;
  readonly dryRun: boolean;
}

async function answer(
  c: Context,
  target: Target,
  { arrived, held }: review.Received,
  { uid, asked, dryRun }: Eviction,
): Promise<Response> {
  const { arrivedAt, timeoutSeconds, answerBy } = review.deadlineOf(c, arrived, ANSWERING_SHARE);
  const secondsUntil = (time: number) => (time - target.platform.now().getTime()) / 1000;
  const reading = target.connect(secondsUntil(arrivedAt + timeoutSeconds * 1000) * READING_SHARE, held);
  const now = target.platform.now();
  let hasFacts = false;
  const performing = () => {
    hasFacts = true;
    const onFailure = (doing: string, failure: ClusterError) => target.logFailure(doing, failure);
    return { cluster: target.connect(secondsUntil(answerBy), held), now: () => now, onFailure };
  };
  const say = (answer: review.AdmissionReview) => c.json(dryRun ? withMessage(answer) : answer);
  const { pod: key, request } = asked;
  const settings = async () => (await target.settings(reading)).settings;
  let pod = Promise.resolve<PodFacts | undefined>(undefined);
  const readPod = (cluster: Client) => (pod = cluster.get("pods", key));
  let cached = target.cached?.(reading);
  try {
    const reviewOnce = () => {
      const deps = { cluster: reading, cached, settings, now };
      // Repeated reviews read from the API server instead of the cache, because the cluster might have changed.
      cached = undefined;
      return reviewEviction({ readPod, key, request }, deps);
    };
    const ruled: Review | undefined = await (dryRun ? reviewOnce() : review.reviewAndPerform(reviewOnce, performing));
    if (ruled === undefined) {
      const why = MESSAGES.vmiChanges;
      if (!dryRun) noteUndecided(c, target, why);
      return say(refuseUndecided(uid, key, why));
    }
    logReview(target, asked, ruled, dryRun);
    if (!dryRun) followUp(c, target, ruled);
    return say(render(uid, ruled));
  } catch (error) {
    target.logFailure(MESSAGES.reviewingEviction, error);
    if (!dryRun) noteUndecided(c, target, describeError(error), error);
    const posture = postureAt(error, await pod.catch(() => undefined), hasFacts);
    return say(answerUndecided(posture, uid, key, error));
  }
}

function render(uid: string, { facts, decision }: Review): review.AdmissionReview {
  const warnings = warningsOf(facts, decision);
  if (decision.verdict === "Allow") return review.permission(uid, warnings);
  return review.refusal(uid, decision.message, { warnings });
}

/**
 * Adds the decision as a warning to the answer of a dry run. Without the warning, the refusal of another webhook could
 * hide the decision, because the API server shows only the first refusal.
 */
function withMessage({ response, ...answer }: review.AdmissionReview): review.AdmissionReview {
  const { status, warnings = [] } = response;
  const message = `${DRY_RUN_WORDS}${status?.message ?? "allowed"}`;
  return { ...answer, response: { ...response, warnings: [message, ...warnings] } };
}

function postureAt(error: unknown, pod: PodFacts | undefined, hasFacts: boolean): Posture {
  if (isBusy(error)) return "refuse";
  const isOdd = pod === undefined && error instanceof ClusterError && isOddObject(error.failure);
  return whenEvictionIsUndecided(isOdd ? "Odd" : pod, isForGood(error, hasFacts));
}

function answerUndecided(posture: Posture, uid: string, key: NamespacedName, error: unknown): review.AdmissionReview {
  if (posture === "fail") throw new RejectionError("Undecided");
  return posture === "allow" ? review.permission(uid) : refuseUndecided(uid, key, describeError(error));
}

/**
 * Refuses an eviction if Lifeboat has no memory to review it. The refusal has no Retry-After, because kubectl and the
 * descheduler do not show the message of a refusal that has a Retry-After.
 */
export function refuseUnread(uid: string): review.AdmissionReview {
  return review.refusal(uid, undecidedMessage("eviction", "a pod", BUSY));
}

/** Returns whether the reads failed permanently. Ignores failed writes. */
function isForGood(error: unknown, hasFacts: boolean): boolean {
  if (hasFacts || !(error instanceof ClusterError)) return false;
  return isLasting(error.failure) || isOddObject(error.failure);
}

function noteUndecided(c: Context, target: Target, why: string, error?: unknown): void {
  target.state.reviews.count("evictions", "undecided");
  if (error instanceof ClusterError && (isSilence(error) || isBusy(error))) return;
  c.executionCtx.waitUntil(keepUndecided(target, why));
}

function refuseUndecided(uid: string, { namespace, name }: NamespacedName, why: string): review.AdmissionReview {
  return review.refusal(uid, undecidedMessage("eviction", `pod "${namespace}/${name}"`, why));
}

function followUp(c: Context, target: Target, ruled: Review): void {
  const { events } = ruled.decision;
  if (events.length > 0) c.executionCtx.waitUntil(recordEvents(target, events));
  const { vmi } = ruled.facts;
  if (vmi !== undefined && isFullExaminationNeeded(ruled, vmi))
    c.executionCtx.waitUntil(requeue(target, vmi, knownBy(ruled, vmi)));
}

function isFullExaminationNeeded({ decision, facts, created, isCached }: Review, vmi: VmiFacts): boolean {
  // Only a Lifeboat that runs in the cluster has a cache. A watch or the next scheduled run reconciles the VM later.
  if (isCached) return false;
  if (created !== undefined) return true;
  const { evacuations } = facts;
  const isActed = decision.actions.some(({ verb }) => verb !== "AddRequester");
  if (evacuations.some(isActive)) return isActed || evacuations.some((e) => isDue(e, vmi, facts));
  return vmi.evacuationNodeName !== undefined || decision.verdict === "Allow";
}

/**
 * Returns the facts that the review has read, so that the reconcile does not read them again. Returns no facts if the
 * review cleared the VMI's evacuationNodeName, because the facts are then outdated.
 */
function knownBy({ decision, facts, created }: Review, vmi: VmiFacts): Known {
  if (decision.actions.some(({ verb }) => verb === "Unmark")) return {};
  const { evacuations, migrations } = facts;
  const reviewed =
    created === undefined ? { evacuations, vmi } : { evacuations: [...evacuations, created], vmi, migrations };
  return { reviewed };
}

function logReview(target: Target, { pod, request }: Asked, { decision, facts }: Review, dryRun: boolean): void {
  if (!dryRun) target.state.reviews.count("evictions", decision.verdict === "Allow" ? "allowed" : "refused");
  target.platform.log({
    endpoint: "admission/evictions",
    cluster: target.name,
    pod: keyOf(pod),
    vmi: facts.vmi?.name,
    cause: request.cause,
    requestedBy: request.username,
    verdict: decision.verdict,
    reason: decision.reason,
    dryRun,
  });
}
