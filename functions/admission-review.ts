/**
 * AdmissionReview in, AdmissionReview out.
 * Owns: what must be in a review of an eviction, and how decisions are said to an API server. Does not own: deciding.
 */
import type { Context } from "hono";
import * as z from "zod/mini";
import { Pod } from "../shared/cluster/kinds/kubernetes.ts";
import { IMPOSSIBLE_UID } from "../shared/cluster/marking.ts";
import { parseConfig } from "../shared/config/problem.ts";
import type { Ruling } from "../shared/pass/eviction.ts";
import { RejectionError } from "./rejection.ts";

/** Without these nothing can be answered that an API server would understand. */
export const Envelope = z.lazy(() =>
  z.object({
    apiVersion: z.literal("admission.k8s.io/v1", "expected admission.k8s.io/v1"),
    kind: z.literal("AdmissionReview", "expected AdmissionReview"),
    request: z.looseObject({
      uid: z.string("expected the review's uid").check(z.minLength(1, "expected the review's uid")),
    }),
  }),
);

/** The review's uid and request, or a rejection that says what is missing. */
export async function envelopeOf(c: Context) {
  const body: unknown = await c.req.json().catch(() => {
    throw new RejectionError({ reason: "BadRequest", field: "body", message: "expected JSON" });
  });
  const envelope = parseConfig(Envelope, body, "body");
  if (envelope.ok) return { uid: envelope.value.request.uid, request: envelope.value.request };
  const [problem] = envelope.problems;
  throw new RejectionError({ reason: "BadRequest", ...(problem ?? { field: "body", message: "invalid" }) });
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
      deleteOptions: z.nullish(
        z.object({
          dryRun: z.nullish(z.array(z.string())),
          preconditions: z.nullish(z.object({ uid: z.nullish(z.string()) })),
        }),
      ),
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
    options: z.nullish(z.object({ dryRun: z.nullish(z.array(z.string())) })),
  }),
);

export type ParsedEviction = z.output<typeof EvictionRequestSchema>;

/** The API server does not lift the Eviction's own dry run into the request. */
export function isDryRun({ dryRun, object }: ParsedEviction): boolean {
  return dryRun || (object.deleteOptions?.dryRun ?? []).includes("All");
}

/** No pod has this UID: nothing comes of such an eviction but that it is reviewed. */
export function isImpossible({ object }: ParsedEviction): boolean {
  return object.deleteOptions?.preconditions?.uid === IMPOSSIBLE_UID;
}

export function isDryRunDeletion({ dryRun, options }: z.output<typeof DeletionRequestSchema>): boolean {
  return dryRun || (options?.dryRun ?? []).includes("All");
}

export interface AdmissionReview {
  readonly apiVersion: "admission.k8s.io/v1";
  readonly kind: "AdmissionReview";
  readonly response: {
    readonly uid: string;
    readonly allowed: boolean;
    readonly warnings?: readonly string[];
    readonly status?: { readonly code: number; readonly reason: string; readonly message: string };
  };
}

/** 429 in every case: callers know it as "try again", anything else as final. */
export function refusal(uid: string, message: string): AdmissionReview {
  const status = { code: 429, reason: "TooManyRequests", message };
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid, allowed: false, status } };
}

export function permission(uid: string): AdmissionReview {
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid, allowed: true } };
}

export function renderRuling(uid: string, ruling: Ruling): AdmissionReview {
  switch (ruling.verdict) {
    case "Deny":
      return refusal(uid, ruling.message);
    case "Allow": {
      const { warnings } = ruling;
      const response = { uid, allowed: true, ...(warnings.length === 0 ? {} : { warnings }) };
      return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
    }
  }
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
