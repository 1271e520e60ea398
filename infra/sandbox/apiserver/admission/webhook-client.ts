/**
 * The call to an admission webhook.
 * Owns: TLS with the configured CA only, the timeout, what makes an answer invalid. Does not own: what an answer means
 * (webhooks.ts).
 */
import { request as httpsRequest } from "node:https";
import { isRecord } from "../objects.ts";
import type { LabelSelector } from "../selectors.ts";
import type { AdmissionRequest } from "./review.ts";

export interface Webhook {
  readonly name: string;
  readonly clientConfig: { readonly url?: string; readonly caBundle?: string; readonly service?: unknown };
  readonly rules?: readonly {
    readonly operations?: readonly string[];
    readonly apiGroups?: readonly string[];
    readonly apiVersions?: readonly string[];
    readonly resources?: readonly string[];
    readonly scope?: string;
  }[];
  readonly failurePolicy?: "Fail" | "Ignore";
  readonly matchPolicy?: "Exact" | "Equivalent";
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
  readonly sideEffects?: string;
  readonly timeoutSeconds?: number;
}

export interface AdmissionResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status?: { readonly code?: number; readonly message?: string; readonly reason?: string; details?: unknown };
  readonly patch?: string;
  readonly patchType?: string;
  readonly warnings?: readonly string[];
}

/** The webhook could not be asked, or did not answer in time or in form: its failurePolicy decides. */
export class WebhookError extends Error {}

const DEFAULT_TIMEOUT_SECONDS = 10;
const ANSWER_LIMIT = 3 * 1024 * 1024;

export async function callWebhook(
  webhook: Webhook,
  review: AdmissionRequest,
  signal: AbortSignal,
): Promise<AdmissionResponse> {
  const body = { kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", request: review };
  const answer = await post(webhook, JSON.stringify(body), signal);
  return readAnswer(answer, review.uid);
}

interface HttpAnswer {
  readonly code: number;
  readonly text: string;
}

function post({ clientConfig, timeoutSeconds }: Webhook, body: string, signal: AbortSignal): Promise<HttpAnswer> {
  const { url, caBundle } = clientConfig;
  if (url === undefined) {
    throw new WebhookError("failed to call webhook: clientConfig.service is not supported here, use clientConfig.url");
  }
  const seconds = timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS;
  const target = new URL(url);
  target.searchParams.set("timeout", `${seconds}s`);
  const failed = (why: string): WebhookError =>
    new WebhookError(`failed to call webhook: Post "${target.href}": ${why}`);
  return new Promise((resolve, reject) => {
    const request = httpsRequest(target, {
      method: "POST",
      // Exactly this CA: with a caBundle the public ones do not count.
      ...(caBundle !== undefined && { ca: Buffer.from(caBundle, "base64") }),
      headers: {
        accept: "application/json, */*",
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "user-agent": "kube-apiserver-admission",
      },
      agent: false,
      signal: AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)]),
    });
    request.on("error", (error) => reject(failed(isTimeout(error) ? "context deadline exceeded" : error.message)));
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > ANSWER_LIMIT) request.destroy(new Error("the response is too large"));
        else chunks.push(chunk);
      });
      response.on("error", (error) => reject(failed(isTimeout(error) ? "context deadline exceeded" : error.message)));
      response.on("end", () => resolve({ code: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    request.end(body);
  });
}

function isTimeout(error: Error): boolean {
  return error.name === "AbortError" || error.name === "TimeoutError";
}

function readAnswer({ code, text }: HttpAnswer, uid: string): AdmissionResponse {
  const review = parseReview(text, code);
  if (review.apiVersion !== "admission.k8s.io/v1" || review.kind !== "AdmissionReview") {
    throw invalid(
      "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, " +
        `got ${String(review.apiVersion ?? "")}, Kind=${String(review.kind ?? "")}`,
    );
  }
  const { response } = review;
  if (!isRecord(response)) throw invalid("webhook response was absent");
  if (response.uid !== uid) throw invalid(`expected response.uid="${uid}", got ${JSON.stringify(response.uid ?? "")}`);
  return { ...response, uid, allowed: response.allowed === true } as AdmissionResponse;
}

function invalid(why: string): WebhookError {
  return new WebhookError(`received invalid webhook response: ${why}`);
}

function parseReview(text: string, code: number): Record<string, unknown> {
  if (code < 200 || code > 299) {
    throw new WebhookError(
      `failed to call webhook: an error on the server (${JSON.stringify(text.slice(0, 200))}) has prevented the request from succeeding`,
    );
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
  } catch {
    // said below
  }
  throw new WebhookError(
    "failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of " +
      'type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
  );
}
