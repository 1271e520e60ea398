/**
 * Sends requests to one API server over one connection pool. client-node reads the kubeconfig and supplies the
 * credentials. It is not used for requests, because it opens a new pool for every request.
 */
import { Agent, request as httpsRequest, type RequestOptions } from "node:https";
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { createSecureContext, type SecureContext } from "node:tls";
import type { KubeConfig } from "@kubernetes/client-node";

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RawRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly signal?: AbortSignal;
}

const MAX_CONNECTIONS = 32;

/** The timeout for an answer. Admission webhooks can delay an answer by up to 30 s. */
const TIMEOUT_MS = 65_000;

class StaleConnectionError extends Error {
  constructor(cause: unknown) {
    super("the connection was used before", { cause });
  }
}

export interface Transport {
  /** Sends a request. If `signal` is set, the answer is a stream that ends when the signal aborts. */
  send(request: RawRequest, signal?: AbortSignal): Promise<IncomingMessage>;
  close(): void;
}

export function createTransport(config: KubeConfig): Transport {
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) throw new Error("the kubeconfig selects no cluster: set its current-context");
  const requests = new Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS });
  // Each watch has its own connection, because watches would occupy the pool's connections.
  const watches = new Agent();
  const credentials = readCredentials(config);

  const attempt = async (request: RawRequest, signal?: AbortSignal, fresh = false): Promise<IncomingMessage> => {
    const { identity, tls } = await credentials;
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const content = body !== undefined && {
      "content-type": request.contentType ?? "application/json",
      "content-length": Buffer.byteLength(body),
    };
    const headers = { accept: "application/json, */*", ...identity, ...content, ...request.headers };
    const agent = fresh ? false : signal ? watches : requests;
    const aborts = signal ?? request.signal;
    const options = { ...tls, agent, method: request.method, headers, ...(aborts && { signal: aborts }) };
    return new Promise((resolve, reject) => {
      const outgoing = httpsRequest(urlOf(server, request), options);
      outgoing.once("response", resolve);
      outgoing.on("error", (error) => reject(outgoing.reusedSocket ? new StaleConnectionError(error) : error));
      if (signal === undefined)
        outgoing.setTimeout(TIMEOUT_MS, () => outgoing.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
      outgoing.end(body);
    });
  };

  return {
    async send(request, signal) {
      try {
        return await attempt(request, signal);
      } catch (error) {
        if (!(error instanceof StaleConnectionError)) throw error;
        // Writes are not repeated, because the server might have performed the first request.
        if (request.method !== "GET") throw error.cause;
        // Uses a new connection, because the server might have closed all idle connections.
        return attempt(request, signal, true);
      }
    },
    close() {
      requests.destroy();
      watches.destroy();
    },
  };
}

interface Credentials {
  readonly tls: RequestOptions & { readonly secureContext: SecureContext };
  readonly identity: OutgoingHttpHeaders;
}

async function readCredentials(config: KubeConfig): Promise<Credentials> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const { headers, ...tls } = options;
  // Creates the context only once, because reading the CA certificate is slow.
  const secureContext = createSecureContext(tls);
  return { tls: { ...tls, secureContext }, identity: (headers ?? {}) as OutgoingHttpHeaders };
}

function urlOf(server: string, { path, query = {} }: RawRequest): URL {
  const url = new URL(server + path);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  return url;
}

export interface Impersonated {
  readonly user: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, string>>;
}

/** Returns a transport that impersonates another user over the same connections. */
export function impersonate(transport: Transport, { user, groups = [], extra = {} }: Impersonated): Transport {
  const identity = {
    "impersonate-user": user,
    ...(groups.length > 0 && { "impersonate-group": [...groups] }),
    ...Object.fromEntries(
      Object.entries(extra).map(([key, value]) => [`impersonate-extra-${encodeURIComponent(key)}`, value]),
    ),
  };
  return {
    send: (request, signal) => transport.send({ ...request, headers: { ...identity, ...request.headers } }, signal),
    close: () => undefined,
  };
}
