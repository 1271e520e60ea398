/** Contains the common parts of reviews of evictions and deletions. */
import type { Context } from "hono";
import * as z from "zod/mini";
import type { Action } from "../shared/kube/action.ts";
import { perform, type Performed, type Performing } from "../shared/act/perform.ts";
import { type Family, renderOpenMetrics } from "../shared/metrics/open-metrics.ts";
import { problemsIn } from "../shared/settings/problem.ts";
import { RejectionError, rejectProblems } from "./errors.ts";
import type { Held } from "../shared/kube/transport.ts";
import { ENDPOINT_MESSAGES as MESSAGES } from "./messages.ts";

export interface Received {
  readonly arrived: Date;
  readonly body: string;
  readonly held: Held;
}

/** The number of bytes that Lifeboat reads to find the uid. An API server puts the uid near the start. */
const BEGINNING_BYTES = 1024;

/** Reads the body of a review up to a limit. Returns `Busy` and the uid if there is no memory for the body. */
export async function readBody(
  c: Context,
  held: Held,
  most: number,
): Promise<{ readonly text: string } | { readonly reason: "Busy"; readonly uid: string }> {
  if (Number(c.req.header("content-length") ?? 0) > most) throw tooLarge(most);
  const decoder = new TextDecoder();
  let [text, bytes, hasRoom] = ["", 0, true];
  for await (const chunk of chunksOf(c.req.raw)) {
    bytes += chunk.byteLength;
    if (bytes > most) throw tooLarge(most);
    hasRoom &&= held.take(chunk.byteLength);
    text += decoder.decode(chunk, { stream: true });
    if (!hasRoom && bytes >= BEGINNING_BYTES) break;
  }
  return hasRoom ? { text: text + decoder.decode() } : { reason: "Busy", uid: uidIn(text) };
}

async function* chunksOf({ body }: Request): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  try {
    for (;;) {
      const { done = true, value } = (await reader?.read()) ?? {};
      if (done) return;
      yield value;
    }
  } finally {
    await reader?.cancel();
  }
}

export function tooLarge(most: number): RejectionError {
  return new RejectionError("PayloadTooLarge", { message: MESSAGES.bodyAtMost(most) });
}

function uidIn(text: string): string {
  const [, uid] = /"request"\s*:\s*\{\s*"uid"\s*:\s*"([\w-]{1,256})"/.exec(text) ?? [];
  if (uid === undefined) throw new RejectionError("Busy");
  return uid;
}

const LONGEST_UID = 256;

const Envelope = z.lazy(() =>
  z.object({
    apiVersion: z.literal("admission.k8s.io/v1", "expected admission.k8s.io/v1"),
    kind: z.literal("AdmissionReview", "expected AdmissionReview"),
    request: z.looseObject({
      uid: z.string(MESSAGES.aUid).check(z.minLength(1, MESSAGES.aUid), z.maxLength(LONGEST_UID, MESSAGES.aUid)),
    }),
  }),
);

export function requestIn(body: string) {
  const { request } = parseBody(Envelope, body);
  return { uid: request.uid, request };
}

/** Parses a body of JSON. Throws BadRequest with the first problem. */
export function parseBody<T extends z.ZodMiniType>(schema: T, text: string): z.output<T> {
  const parsed = schema.safeParse(jsonOf(text));
  return parsed.success ? parsed.data : rejectProblems("BadRequest", problemsIn(parsed.error, "body"));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RejectionError("BadRequest", { message: "expected JSON" });
  }
}

export function otherThan(expected: string, error: z.core.$ZodError): string {
  const [problem] = problemsIn(error, "request");
  return MESSAGES.notAReview(expected, problem?.field, problem?.message);
}

interface Refusal {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
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

interface More {
  readonly warnings?: readonly string[];
  /**
   * Seconds after which the client should retry the deletion. Absent for evictions, because clients do not show the
   * message of a refusal with this field.
   */
  readonly retryAfterSeconds?: number | undefined;
}

/** Refuses with 429, because clients treat any other code as final. */
export function refusal(uid: string, message: string, { warnings, retryAfterSeconds }: More = {}): AdmissionReview {
  const details = retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } };
  return answer(uid, warnings, { code: 429, reason: "TooManyRequests", message, ...details });
}

export function permission(uid: string, warnings?: readonly string[]): AdmissionReview {
  return answer(uid, warnings);
}

function answer(uid: string, warnings: readonly string[] = [], status?: Refusal): AdmissionReview {
  const more = { ...(warnings.length > 0 && { warnings }), ...(status && { status }) };
  const response = { uid, allowed: status === undefined, ...more };
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
}

export interface Deadline {
  readonly timeoutSeconds: number;
  /** The time when the request arrived, in milliseconds since the epoch. */
  readonly arrivedAt: number;
  /** The time when all work on the review must end, in milliseconds since the epoch. */
  readonly answerBy: number;
}

export function deadlineOf(c: Context, arrived: Date, share: number): Deadline {
  const timeout = timeoutSeconds(c.req.query("timeout"));
  const arrivedAt = arrived.getTime();
  return { timeoutSeconds: timeout, arrivedAt, answerBy: arrivedAt + timeout * share * 1000 };
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 };
const DEFAULT_TIMEOUT_SECONDS = 10;
const LONGEST_TIMEOUT_SECONDS = 30;

/**
 * Returns how many seconds the API server waits. The value comes from `?timeout=` (a Go duration), or is the API
 * server's default.
 */
export function timeoutSeconds(query: string | undefined): number {
  const parts = [...(query ?? "").matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([all]) => all).join("") !== query) return DEFAULT_TIMEOUT_SECONDS;
  const total = parts.reduce((sum, [, value, unit = ""]) => sum + Number(value) * (UNIT_SECONDS[unit] ?? 0), 0);
  return total > 0 ? Math.min(total, LONGEST_TIMEOUT_SECONDS) : DEFAULT_TIMEOUT_SECONDS;
}

/**
 * The maximum number of reviews of one request. If another process changes the cluster between the review and the
 * actions, Lifeboat reviews the request again.
 */
const MOST_REVIEWS = 3;

interface Reviewed {
  readonly decision: { readonly actions: readonly Action[] };
  /**
   * The error if Lifeboat could not list the VMI's Evacuations. Lifeboat then does not repeat the review. Without the
   * list, each review could give the new Evacuation the name of an ended Evacuation.
   */
  readonly failedRead?: Error | undefined;
}

/**
 * Reviews a request, and performs the actions that the decision needs. If the cluster changes meanwhile, reviews the
 * request again. Returns undefined if the cluster changed during every attempt.
 */
export async function reviewAndPerform<R extends Reviewed>(
  review: () => Promise<R>,
  performing: () => Performing,
): Promise<(R & Pick<Performed, "created">) | undefined> {
  for (let i = 0; i < MOST_REVIEWS; i++) {
    const reviewed = await review();
    if (reviewed.decision.actions.length === 0) return reviewed;
    const { outcome, failure, created } = await perform(reviewed.decision.actions, performing());
    if (outcome === "Failed" || outcome === "Refused") throw failure ?? new Error(MESSAGES.actionNotDone(outcome));
    if (outcome === "Done" || reviewed.failedRead !== undefined) return { ...reviewed, ...(created && { created }) };
  }
  return undefined;
}

const REVIEWS = ["evictions", "deletions"] as const;
const ANSWERS = ["allowed", "refused", "undecided"] as const;

export const REVIEW_FAMILY: Family = {
  name: "lifeboat_reviews",
  type: "counter",
  unit: "",
  labels: ["review", "answer"],
  help: "Reviews that this replica has answered since it started. Undecided: Lifeboat answered although it could not read what it needed.",
};

/** Counts the reviews that this process has answered, except for dry runs. */
export class ReviewCounts {
  readonly #counts = new Map<string, number>();

  count(review: (typeof REVIEWS)[number], answer: (typeof ANSWERS)[number]): void {
    const key = `${review} ${answer}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  render(): string {
    const samples = REVIEWS.flatMap((review) =>
      ANSWERS.map((answer) => ({ labels: [review, answer], value: this.#counts.get(`${review} ${answer}`) ?? 0 })),
    );
    return renderOpenMetrics([[REVIEW_FAMILY, samples]]);
  }
}
