/** Serves the endpoints over TLS with Hono and Node.js. */
import { createServer } from "node:https";
import { getRequestListener, type Http2Bindings, type HttpBindings } from "@hono/node-server";
import type { ExecutionContext } from "hono";
import type { Clock } from "../relay/clock.ts";
import { ARRIVAL, limitConnections } from "../relay/connections.ts";
import { portOf } from "../relay/probes.ts";

export interface Pair {
  readonly certPem: string;
  readonly keyPem: string;
}

export type AnswerRequest = (request: Request, context: ExecutionContext) => Response | Promise<Response>;

export interface Listener {
  readonly port: number;
  /** Sets the certificate for new connections. Open connections are not affected. */
  present(pair: Pair): void;
  /** Answers a request that this process makes to itself. */
  ask(request: Request): Promise<Response>;
  /** Adds `Connection: close` to all later answers, so that clients reconnect to another replica. */
  turnAway(): void;
  /** Resolves when all requests are answered and the work after the answers is finished. */
  close(clock: Clock): Promise<void>;
}

/**
 * How long an idle connection stays open, in milliseconds. This is longer than kube-apiserver's 90 s, because
 * kube-apiserver does not repeat a review after the server has closed the connection.
 */
const IDLE_MS = 120_000;

export async function listen(answer: AnswerRequest, port: number, first: Pair): Promise<Listener> {
  let presented = first;
  const pending = new Set<Promise<unknown>>();
  const context: ExecutionContext = {
    waitUntil(promise) {
      const settled = promise.catch(() => undefined).finally(() => pending.delete(settled));
      pending.add(settled);
    },
    passThroughOnException: () => undefined,
    props: {},
  };
  const ask = async (request: Request) => await answer(request, context);
  let isTurningAway = false;
  const answerOverTls = async (request: Request, { incoming }: Arrived) => {
    const response = await ask(incoming.headers["content-length"] === undefined ? standard(request) : request);
    const isKnown = hasShownToken(request, response);
    if (isKnown) connections.trust(incoming.socket);
    // This code runs after the review, because `turnAway` can be called during the review.
    if (isTurningAway || !isKnown) response.headers.set("connection", "close");
    return response;
  };
  // By default, the listener replaces the global classes Request and Response.
  const handle = getRequestListener(answerOverTls, { overrideGlobalObjects: false });
  const server = createServer({ ...contextOf(first), ...ARRIVAL, keepAliveTimeout: IDLE_MS });
  const connections = limitConnections(server, handle);
  return {
    port: await portOf(server, port),
    present(pair) {
      // A new context would prevent clients from resuming their TLS sessions.
      if (pair.certPem !== presented.certPem) server.setSecureContext(contextOf(pair));
      presented = pair;
    },
    ask,
    turnAway: () => void (isTurningAway = true),
    async close(clock) {
      isTurningAway = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      // While the server closes, Node.js does not limit how long a request takes to arrive. This timer closes
      // connections whose request never arrives completely.
      const cancel = clock.setTimer(ARRIVAL.requestTimeout, () => server.closeAllConnections());
      await closed;
      cancel();
      while (pending.size > 0) await Promise.all(pending);
    },
  };
}

/**
 * Copies a request without a Content-Length into a standard Request, because `hono/body-limit` cannot read the body of
 * Hono's own Request.
 */
function standard(request: Request): Request {
  const { url, method, headers, body } = request;
  return body === null ? request : new Request(url, { method, headers, body, duplex: "half" });
}

type Arrived = HttpBindings | Http2Bindings;

/** Returns whether the caller sent a valid token. Endpoints below /clusters/ succeed only with a valid token. */
function hasShownToken({ url }: Request, { ok }: Response): boolean {
  return ok && new URL(url).pathname.startsWith("/clusters/");
}

function contextOf({ certPem: cert, keyPem: key }: Pair) {
  return { cert, key };
}
