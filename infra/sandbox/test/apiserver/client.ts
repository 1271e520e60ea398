/** Plain requests over HTTPS to an API server. */
import { Agent, request as httpsRequest } from "node:https";

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** JSON by default; empty for a body without a type. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the administrator's token. */
  readonly token?: string;
}

export interface Response {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body as an object, or `{}`. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Target {
  readonly name: string;
  readonly url: string;
  readonly ca: string;
  /** For kubectl: the same access as the content of a kubeconfig file. */
  readonly kubeconfig: string;
  /** Whether a disruption controller keeps budgets' statuses. */
  readonly controllers: boolean;
  send(request: Request): Promise<Response>;
  stop(): Promise<void>;
}

export interface Endpoint {
  readonly name: string;
  readonly url: string;
  readonly ca: string;
  readonly token?: string;
  readonly client?: { readonly cert: string; readonly key: string };
  readonly controllers?: boolean;
  readonly stop: () => Promise<void>;
}

export function targetOf(endpoint: Endpoint): Target {
  const { name, url, ca, token, client, stop } = endpoint;
  const agent = new Agent({ ca, keepAlive: true, ...client });
  return {
    name,
    url,
    ca,
    kubeconfig: kubeconfigOf(endpoint),
    controllers: endpoint.controllers ?? false,
    send: (request) => send({ url, agent, token: request.token ?? token }, request),
    stop: async () => {
      agent.destroy();
      await stop();
    },
  };
}

function kubeconfigOf({ url, ca, token, client }: Endpoint): string {
  const certificate = client && {
    "client-certificate-data": encode(client.cert),
    "client-key-data": encode(client.key),
  };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "it", cluster: { server: url, "certificate-authority-data": encode(ca) } }],
    users: [{ name: "admin", user: { ...(token !== undefined && { token }), ...certificate } }],
    contexts: [{ name: "it", context: { cluster: "it", user: "admin" } }],
    "current-context": "it",
  });
}

function encode(text: string): string {
  return Buffer.from(text).toString("base64");
}

interface Connection {
  readonly url: string;
  readonly agent: Agent;
  readonly token: string | undefined;
}

function send({ url, agent, token }: Connection, request: Request): Promise<Response> {
  const { method, path, body, type = "application/json", headers } = request;
  const payload = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(new URL(path, url), {
      method,
      agent,
      headers: {
        accept: "application/json",
        ...(payload !== undefined && { "content-length": Buffer.byteLength(payload) }),
        ...(payload !== undefined && type !== "" && { "content-type": type }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
    });
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ code: incoming.statusCode ?? 0, headers: incoming.headers, text, body: parsed(text) });
      });
    });
    outgoing.end(payload);
  });
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  if (!text.startsWith("{")) return {};
  try {
    const body: Record<string, unknown> = JSON.parse(text);
    return body;
  } catch {
    return {};
  }
}
