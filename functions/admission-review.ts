/** AdmissionReview in, AdmissionReview out. */
import type { Context } from "hono";
import * as z from "zod/mini";
import type { Held } from "../shared/kube/budget.ts";
import { Pod } from "../shared/kube/schemas/kubernetes.ts";
import { parseConfig, type Parsed } from "../shared/settings/problem.ts";
import type { Review } from "../shared/eviction/review.ts";
import { DRY_RUN_WORDS } from "../shared/eviction/messages.ts";
import { warningsOf } from "../shared/eviction/warnings.ts";
import { parseJson, rejectProblems } from "./rejection.ts";

/** It is sent back. An API server's has 36 characters. */
const LONGEST_UID = 256;
const A_UID = "expected the review's uid";

/** What has arrived. `arrived`: since when the API server waits; to find and authenticate the cluster takes its share. */
export interface Received {
  readonly arrived: Date;
  readonly body: string;
  /** Room for what is read until the answer. */
  readonly held: Held;
}

/** Without these nothing can be answered that an API server would understand. */
export const Envelope = z.lazy(() =>
  z.object({
    apiVersion: z.literal("admission.k8s.io/v1", "expected admission.k8s.io/v1"),
    kind: z.literal("AdmissionReview", "expected AdmissionReview"),
    request: z.looseObject({
      uid: z.string(A_UID).check(z.minLength(1, A_UID), z.maxLength(LONGEST_UID, A_UID)),
    }),
  }),
);

/** The review's uid and request, or a rejection that says what is missing. */
export function envelopeOf(body: string) {
  const envelope = parseConfig(Envelope, parseJson(body), "body");
  if (!envelope.ok) return rejectProblems("BadRequest", envelope.problems);
  return { uid: envelope.value.request.uid, request: envelope.value.request };
}

const Name = z.lazy(() => z.string("expected a name").check(z.minLength(1, "expected a name")));

export const EvictionRequestSchema = z.lazy(() =>
  z.object({
    uid: z.string(),
    operation: z.literal("CREATE", "expected CREATE"),
    resource: z.object({
      group: z.literal("", "expected the core group"),
      resource: z.literal("pods", "expected pods"),
    }),
    subResource: z.literal("eviction", "expected eviction"),
    namespace: Name,
    name: Name,
    dryRun: z._default(z.boolean(), false),
    userInfo: z.prefault(z.object({ username: z._default(z.string(), "unknown") }), {}),
    object: z.object({
      apiVersion: z.enum(["policy/v1", "policy/v1beta1"], "expected policy/v1 or policy/v1beta1"),
      kind: z.literal("Eviction", "expected Eviction"),
      metadata: z.prefault(z.object({ annotations: z.nullish(z.record(z.string(), z.string())) }), {}),
      deleteOptions: z.nullish(z.object({ dryRun: z.nullish(z.array(z.string())) })),
    }),
  }),
);

/** The pod comes with the request: nothing else tells how it was when the deletion was asked for. */
export const DeletionRequestSchema = z.lazy(() =>
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

export type ParsedEviction = z.output<typeof EvictionRequestSchema>;

/** The API server does not lift the Eviction's own dry run into the request. */
export function isDryRun({ dryRun, object }: ParsedEviction): boolean {
  return dryRun || (object.deleteOptions?.dryRun ?? []).includes("All");
}

export function isDryRunDeletion({ dryRun, options }: z.output<typeof DeletionRequestSchema>): boolean {
  return dryRun || (options?.dryRun ?? []).includes("All");
}

interface Refusal {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  /** The API server passes it on as Retry-After. */
  readonly details?: { readonly retryAfterSeconds: number };
}

export interface AdmissionReview {
  readonly apiVersion: "admission.k8s.io/v1";
  readonly kind: "AdmissionReview";
  readonly response: {
    readonly uid: string;
    readonly allowed: boolean;
    readonly warnings?: readonly string[];
    readonly status?: Refusal;
  };
}

/** Says of the review of something else what is wrong with it. */
export function otherThan(expected: string, { problems: [problem] }: Extract<Parsed<unknown>, { ok: false }>): string {
  return `not a review of ${expected}: ${problem?.field}: ${problem?.message}`;
}

interface More {
  readonly warnings?: readonly string[];
  /** Of a deletion: whoever evicts asks again by itself, and shows the words only where there is none. */
  readonly retryAfterSeconds?: number | undefined;
}

/** 429 in every case: callers know it as "try again", anything else as final. */
export function refusal(
  uid: string,
  message: string,
  { warnings = [], retryAfterSeconds }: More = {},
): AdmissionReview {
  const details = retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } };
  const status = { code: 429, reason: "TooManyRequests", message, ...details };
  const response = { uid, allowed: false, status, ...(warnings.length > 0 && { warnings }) };
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
}

export function permission(uid: string, warnings: readonly string[] = []): AdmissionReview {
  const response = { uid, allowed: true, ...(warnings.length === 0 ? {} : { warnings }) };
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
}

export function renderReview(uid: string, { facts, decision }: Review): AdmissionReview {
  const warnings = warningsOf(facts, decision);
  return decision.verdict === "Deny" ? refusal(uid, decision.message, { warnings }) : permission(uid, warnings);
}

/**
 * Of a dry run, the answer as a warning, too: KubeVirt's webhook refuses the same eviction, and an API server passes on only the
 * refusal that came first, but the warnings of all webhooks. So a dry run shows whether Lifeboat is asked.
 */
export function withWords({ response, ...review }: AdmissionReview): AdmissionReview {
  const { status, warnings = [] } = response;
  const words = `${DRY_RUN_WORDS}${status?.message ?? "allowed"}`;
  return { ...review, response: { ...response, warnings: [words, ...warnings] } };
}

/** How long the API server waits for the answer to a review. */
export interface Patience {
  readonly timeoutSeconds: number;
  /** Milliseconds since the epoch: since when it waits. To find and authenticate the cluster takes its share. */
  readonly arrivedAt: number;
  /** By then everything has ended: the rest is for the way back. */
  readonly answerBy: number;
}

const ANSWERING_SHARE = 0.9;

export function patienceOf(c: Context, arrived: Date, share = ANSWERING_SHARE): Patience {
  const timeout = timeoutSeconds(c.req.query("timeout"));
  const arrivedAt = arrived.getTime();
  return { timeoutSeconds: timeout, arrivedAt, answerBy: arrivedAt + timeout * share * 1000 };
}

const UNIT_SECONDS = { ms: 0.001, s: 1, m: 60, h: 3600 } as const;
const DEFAULT_TIMEOUT_SECONDS = 10;
/** Kubernetes allows a webhook no more. */
const LONGEST_TIMEOUT_SECONDS = 30;

/** Seconds the API server waits, from its `?timeout=` (a Go duration); its default where that is missing or odd. */
export function timeoutSeconds(query: string | undefined): number {
  const parts = [...(query ?? "").matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([all]) => all).join("") !== query) return DEFAULT_TIMEOUT_SECONDS;
  const total = parts.reduce((sum, [, value, unit]) => sum + Number(value) * unitSeconds(unit), 0);
  return total > 0 ? Math.min(total, LONGEST_TIMEOUT_SECONDS) : DEFAULT_TIMEOUT_SECONDS;
}

function unitSeconds(unit: string | undefined): number {
  return unit === "ms" || unit === "s" || unit === "m" || unit === "h" ? UNIT_SECONDS[unit] : 0;
}
