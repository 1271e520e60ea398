/** The conditions in the status of the LifeboatConfiguration. */
import type { Action } from "../kube/action.ts";
import type { CredentialVerdict } from "./credential.ts";
import { judgeCertificate } from "./certificate.ts";
import { secondsSince, wholeSeconds } from "./time.ts";
import type { HoldVerdict } from "./holds.ts";
import type { WebhookState } from "./webhooks.ts";
import type { Condition, ConfigurationObserved } from "../kube/facts.ts";
import { SETTINGS_MESSAGES as MESSAGES } from "./messages.ts";

export interface ConfigurationFindings {
  readonly problems: readonly string[];
  readonly notes: readonly string[];
  readonly lacking: readonly string[];
  readonly credential: CredentialVerdict;
  readonly webhooks: readonly WebhookState[];
  readonly called: boolean;
  readonly holds: HoldVerdict | undefined;
}

/** The maximum length that the CRD allows. */
export const LONGEST_MESSAGE = 32_768;

type Verdict = Pick<Condition, "type" | "status" | "reason" | "message">;

export function reportConditions(
  observed: ConfigurationObserved,
  findings: ConfigurationFindings,
  now: Date,
): readonly Action[] {
  const verdicts = [valid, permitted, credentialsValid].map((judge) => judge(findings));
  const ofReviews = [webhookCalled(observed, findings), reviewsDecided(observed, now)];
  const ofOthers = [...certificateValid(findings, now), ...guardHolds(findings)];
  const conditions = [...verdicts, ...ofReviews, ...ofOthers].map((one) => conditionOf(one, observed, now));
  const isReported = conditions.every((condition) => observed.conditions.some((seen) => isSame(seen, condition)));
  const { resourceVersion, generation } = observed;
  return isReported ? [] : [{ verb: "WriteConditions", resourceVersion, generation, conditions }];
}

function guardHolds({ holds }: ConfigurationFindings): readonly Verdict[] {
  if (holds === undefined) return [];
  const { reason, fix } = holds;
  const message = [holds.message, ...(fix === undefined ? [] : [fix])].join(". To fix this: ");
  return [{ type: "GuardHolds", status: reason === "Holds" ? "True" : "False", reason, message }];
}

/**
 * Returns why the guard's policies would not refuse deletions while Lifeboat is unavailable. Uses the result of the
 * last full scan.
 */
export function guardProblem(observed: Pick<ConfigurationObserved, "conditions"> | undefined): string | undefined {
  return observed?.conditions.find(({ type, status }) => type === "GuardHolds" && status === "False")?.reason;
}

function valid({ problems, notes }: ConfigurationFindings): Verdict {
  const type = "Valid";
  if (problems.length === 0) {
    const message = [MESSAGES.inForce, ...notes].join("; ");
    return { type, status: "True", reason: "Valid", message };
  }
  return { type, status: "False", reason: "InvalidConfiguration", message: MESSAGES.partlyInForce(problems) };
}

function permitted({ lacking }: ConfigurationFindings): Verdict {
  const type = "Permitted";
  return lacking.length === 0
    ? { type, status: "True", reason: "Granted", message: MESSAGES.permitted }
    : { type, status: "False", reason: "Forbidden", message: MESSAGES.lacking(lacking) };
}

function credentialsValid({ credential: { ok, reason, message } }: ConfigurationFindings): Verdict {
  return { type: "CredentialsValid", status: ok ? "True" : "False", reason, message };
}

/**
 * Reports whether the certificate is valid, unless Cloudflare provides it. The condition WebhookCalled reports whether
 * each caBundle trusts it.
 */
function certificateValid({ webhooks }: ConfigurationFindings, now: Date): readonly Verdict[] {
  const chain = webhooks.flatMap((webhook) => webhook.chain ?? []);
  if (chain.length === 0) return [];
  const { ok, reason, message } = judgeCertificate(chain, now);
  return [{ type: "CertificateValid", status: ok ? "True" : "False", reason, message }];
}

/**
 * Reports whether the API server calls the webhook. The condition remains True until a webhook configuration has a
 * problem.
 */
function webhookCalled({ conditions }: ConfigurationObserved, { called, webhooks }: ConfigurationFindings): Verdict {
  const type = "WebhookCalled";
  const problems = webhooks.flatMap(({ problem }) => problem ?? []);
  const [first] = problems;
  if (first !== undefined) {
    const message = problems.map((one) => one.message).join("; ");
    return { type, status: "False", reason: first.reason, message };
  }
  if (called || conditions.some((seen) => seen.type === type && seen.status === "True")) {
    return { type, status: "True", reason: "Called", message: MESSAGES.webhookCalled };
  }
  const message = MESSAGES.notCalledYet;
  return { type, status: "Unknown", reason: "NotObserved", message };
}

const UNDECIDED_SECONDS = 600;
const RENEWED_SECONDS = 60;

export function isUndecided(observed: Pick<ConfigurationObserved, "conditions"> | undefined): boolean {
  return undecidedOf(observed) !== undefined;
}

function undecidedOf(observed: Pick<ConfigurationObserved, "conditions"> | undefined) {
  return observed?.conditions.find(({ type, status }) => type === "ReviewsDecided" && status === "False");
}

/**
 * Returns the condition that a full scan writes. The status becomes True again when `UNDECIDED_SECONDS` have passed
 * since the last review for which Lifeboat could not read the facts.
 */
function reviewsDecided(observed: ConfigurationObserved, now: Date): Verdict {
  const type = "ReviewsDecided";
  const seen = undecidedOf(observed);
  if (seen !== undefined && secondsSince(seen.lastTransitionTime, now) < UNDECIDED_SECONDS) {
    return { type, status: "False", reason: seen.reason, message: seen.message };
  }
  return {
    type,
    status: "True",
    reason: "Decided",
    message: MESSAGES.allDecided,
  };
}

/**
 * Records an admission review for which Lifeboat could not read the facts. `lastTransitionTime` contains the time of
 * the last such review.
 */
export function reportUndecided(observed: ConfigurationObserved, why: string, now: Date): readonly Action[] {
  const seen = undecidedOf(observed);
  if (seen !== undefined && secondsSince(seen.lastTransitionTime, now) < RENEWED_SECONDS) return [];
  const message = MESSAGES.undecided(why);
  const verdict = { type: "ReviewsDecided", status: "False", reason: "Undecided", message } as const;
  const { resourceVersion, generation } = observed;
  const others = observed.conditions.filter(({ type }) => type !== verdict.type);
  const conditions = [...others, conditionOf(verdict, { ...observed, conditions: others }, now)];
  return [{ verb: "WriteConditions", resourceVersion, generation, conditions }];
}

function conditionOf(verdict: Verdict, observed: ConfigurationObserved, now: Date): Condition {
  const before = observed.conditions.find(({ type }) => type === verdict.type);
  return {
    ...verdict,
    message: verdict.message.slice(0, LONGEST_MESSAGE).toWellFormed(),
    observedGeneration: observed.generation,
    lastTransitionTime: before?.status === verdict.status ? before.lastTransitionTime : wholeSeconds(now),
  };
}

function isSame(seen: ConfigurationObserved["conditions"][number], wanted: Condition): boolean {
  const keys = ["type", "status", "reason", "message", "observedGeneration"] as const;
  return keys.every((key) => seen[key] === wanted[key]);
}
