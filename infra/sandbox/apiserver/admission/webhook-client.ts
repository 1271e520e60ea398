/** Calls an admission webhook. */
import type { IncomingMessage } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { createSecureContext } from "node:tls";
import type { LabelSelector } from "../../labels.ts";
import type { ServerState } from "../context.ts";
import type { AdmissionRequest } from "./review.ts";
import { type Backend, backendOf, type ServiceReference } from "./service.ts";
import { type AdmissionResponse, type HttpAnswer, WebhookError, readAnswer } from "./webhook-answer.ts";

export interface Webhook {
  readonly name: string;
  readonly clientConfig: { readonly url?: string; readonly caBundle?: string; readonly service?: ServiceReference };
  readonly rules?: readonly {
    readonly operations?: readonly string[];
    readonly apiGroups?: readonly string[];
    readonly apiVersions?: readonly string[];
    readonly resources?: readonly string[];
    readonly scope?: string;
    /** The names of the objects to which the rule applies. Only policies have this field. */
    readonly resourceNames?: readonly string[];
  }[];
  readonly failurePolicy?: "Fail" | "Ignore";
  readonly matchPolicy?: "Exact" | "Equivalent";
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
  /**
   * Whether the webhook is called again after a later webhook has changed the object. Only mutating webhooks have this
   * field.
   */
  readonly reinvocationPolicy?: "Never" | "IfNeeded";
  readonly timeoutSeconds?: number;
}

const DEFAULT_TIMEOUT_SECONDS = 10;
const ANSWER_LIMIT = 3 * 1024 * 1024;

export async function callWebhook(
  webhook: Webhook,
  review: AdmissionRequest,
  { state, signal }: { readonly state: ServerState; readonly signal: AbortSignal },
): Promise<AdmissionResponse> {
  const body = { kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", request: review };
  const { url = "", service } = webhook.clientConfig;
  const backend = service === undefined ? { url: new URL(url) } : backendOf(state, service);
  const answer = await post(webhook, backend, JSON.stringify(body), signal);
  return readAnswer(answer, review.uid, webhook.reinvocationPolicy !== undefined);
}

type Destination = Pick<Backend, "url"> & Partial<Backend>;

async function post(webhook: Webhook, to: Destination, body: string, signal: AbortSignal): Promise<HttpAnswer> {
  const { clientConfig, timeoutSeconds: seconds = DEFAULT_TIMEOUT_SECONDS } = webhook;
  const { url, port } = to;
  url.searchParams.set("timeout", `${seconds}s`);
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)]);
  try {
    return await sendRepeatedly({
      url,
      ...(port && { port }),
      body,
      agent: agentFor(clientConfig.caBundle),
      signal: deadline,
    });
  } catch (error) {
    const why = deadline.aborted
      ? "context deadline exceeded"
      : inGo(String(error instanceof Error ? error.message : error));
    throw new WebhookError(`failed to call webhook: Post "${url.href}": ${why}`, { cause: error });
  }
}

/** Returns Go's message for an error of Node.js. */
function inGo(message: string): string {
  if (message === "socket hang up") return "EOF";
  return message.replace(/^connect ECONNREFUSED (.+)$/, "dial tcp $1: connect: connection refused");
}

/**
 * The milliseconds after which idle connections are closed. The real server waits 90 s. A webhook in workerd (the
 * runtime of Cloudflare Workers) closes its idle connections after 5 s, so the sandbox closes them earlier.
 */
const IDLE_MS = 4000;
const agents = new Map<string | undefined, Agent>();

/** Returns an HTTPS agent that trusts only the caBundle. Without a caBundle, the agent trusts the public CAs. */
function agentFor(caBundle: string | undefined): Agent {
  const known = agents.get(caBundle);
  if (known !== undefined) return known;
  const ca = caBundle === undefined ? {} : { ca: Buffer.from(caBundle, "base64") };
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS, secureContext: createSecureContext(ca) });
  agents.set(caBundle, agent);
  return agent;
}

interface Call {
  readonly url: URL;
  /** The local port of the pod's process. Defaults to the port of the URL. */
  readonly port?: number;
  readonly body: string;
  readonly agent: Agent;
  readonly signal: AbortSignal;
}

const RETRIES = 10;

/** Repeats the request up to ten times while the webhook is busy and its answer has a Retry-After header. */
async function sendRepeatedly(call: Call): Promise<HttpAnswer> {
  for (let retries = 0; ; retries++) {
    const answer = await send(call);
    const seconds = /^\d+$/.exec(answer.headers["retry-after"] ?? "")?.[0];
    const isBusy = answer.code === 429 || answer.code >= 500;
    if (!isBusy || seconds === undefined || retries === RETRIES) return answer;
    await delay(Number(seconds) * 1000, undefined, { signal: call.signal });
  }
}

function send({ url, port, body, agent, signal }: Call): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const { hostname: servername, host, pathname, search } = url;
    const behind = port && { hostname: "127.0.0.1", port, servername, path: `${pathname}${search}` };
    const request = httpsRequest(url, {
      ...behind,
      method: "POST",
      headers: {
        host,
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
  return { code: response.statusCode ?? 0, text: Buffer.concat(chunks).toString(), headers: response.headers };
}
