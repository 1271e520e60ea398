/**
 * The call to an admission webhook.
 * Owns: TLS with the configured CA only, the timeout, what makes an answer invalid. Does not own: what an answer means
 * (webhooks.ts).
 */
import type { IncomingMessage } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import { createSecureContext } from "node:tls";
import { isRecord, textOf } from "../objects.ts";
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
    /** Of policies. */
    readonly resourceNames?: readonly string[];
  }[];
  readonly failurePolicy?: "Fail" | "Ignore";
  readonly matchPolicy?: "Exact" | "Equivalent";
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
  /** Of mutating webhooks. */
  readonly reinvocationPolicy?: "Never" | "IfNeeded";
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

async function post(webhook: Webhook, body: string, signal: AbortSignal): Promise<HttpAnswer> {
  const { clientConfig, timeoutSeconds: seconds = DEFAULT_TIMEOUT_SECONDS } = webhook;
  if (clientConfig.url === undefined) {
    throw new WebhookError("failed to call webhook: clientConfig.service is not supported here, use clientConfig.url");
  }
  const url = new URL(clientConfig.url);
  url.searchParams.set("timeout", `${seconds}s`);
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)]);
  try {
    return await send({ url, body, agent: agentFor(clientConfig.caBundle), signal: deadline });
  } catch (error) {
    const why = deadline.aborted ? "context deadline exceeded" : String(error instanceof Error ? error.message : error);
    throw new WebhookError(`failed to call webhook: Post "${url.href}": ${why}`, { cause: error });
  }
}

/**
 * How long an idle connection is kept. The real server keeps it for 90 s, so a webhook that closes it earlier (workerd:
 * 5 s) breaks a call now and then, which is not repeated. Here such a call is a fault to ask for (faults.ts), not chance.
 */
const IDLE_MS = 4000;
const agents = new Map<string | undefined, Agent>();

/** Trusts exactly this CA: with a caBundle the public ones do not count. */
function agentFor(caBundle: string | undefined): Agent {
  let agent = agents.get(caBundle);
  if (agent === undefined) {
    const ca = caBundle === undefined ? {} : { ca: Buffer.from(caBundle, "base64") };
    agent = new Agent({ keepAlive: true, timeout: IDLE_MS, secureContext: createSecureContext(ca) });
    agents.set(caBundle, agent);
  }
  return agent;
}

interface Call {
  readonly url: URL;
  readonly body: string;
  readonly agent: Agent;
  readonly signal: AbortSignal;
}

function send({ url, body, agent, signal }: Call): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(url, {
      method: "POST",
      headers: {
        accept: "application/json, */*",
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "user-agent": "kube-apiserver-admission",
      },
      agent,
      signal,
    });
    request.on("error", reject);
    request.on("response", (response) => void readAll(response).then(resolve, reject));
    request.end(body);
  });
}

async function readAll(response: IncomingMessage): Promise<HttpAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > ANSWER_LIMIT) throw new Error("the response is too large");
    chunks.push(chunk);
  }
  return { code: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() };
}

function readAnswer({ code, text }: HttpAnswer, uid: string): AdmissionResponse {
  const review = parseReview(text, code);
  if (review.apiVersion !== "admission.k8s.io/v1" || review.kind !== "AdmissionReview") {
    throw invalid(
      "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, " +
        `got ${textOf(review.apiVersion)}, Kind=${textOf(review.kind)}`,
    );
  }
  const { response } = review;
  if (!isRecord(response)) throw invalid("webhook response was absent");
  if (response.uid !== uid) throw invalid(`expected response.uid="${uid}", got ${JSON.stringify(response.uid ?? "")}`);
  return { ...response, uid, allowed: response.allowed === true };
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
