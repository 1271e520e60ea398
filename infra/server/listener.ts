/** Serves the endpoints over TLS: Hono's app in Node, behind a Service. */
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

/** Answers a request. The app may continue its work after the answer. */
export type AnswerRequest = (request: Request, context: ExecutionContext) => Response | Promise<Response>;

export interface Listener {
  readonly port: number;
  /** Sets the certificate for new connections. Open connections keep the former certificate. */
  present(pair: Pair): void;
  /** Answers a request from this process as if the request came over a connection. */
  ask(request: Request): Promise<Response>;
  /** Makes each later answer ask its client to close the connection. The client then reconnects to another replica. */
  turnAway(): void;
  /**
   * Resolves when all requests are answered and the work after the answers has ended. Requests that are still arriving
   * have the time limits in `ARRIVAL`.
   */
  close(clock: Clock): Promise<void>;
}

/**
 * How long an idle connection stays open, in milliseconds: longer than in kube-apiserver (90 s). If the server closed
 * the connection first, a review could be lost, because kube-apiserver does not repeat a review.
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
    // The header is set when the answer is sent, because the server may start to turn clients away during the review.
    if (isTurningAway || !isKnown) response.headers.set("connection", "close");
    return response;
  };
  // Hono's own Request and Response classes are faster, but would replace the global classes of the whole process.
  const handle = getRequestListener(answerOverTls, { overrideGlobalObjects: false });
  const server = createServer({ ...contextOf(first), ...ARRIVAL, keepAliveTimeout: IDLE_MS });
  const connections = limitConnections(server, handle);
  return {
    port: await portOf(server, port),
    present(pair) {
      // Sets a new context only for another certificate, because clients cannot resume TLS sessions of the old context.
      if (pair.certPem !== presented.certPem) server.setSecureContext(contextOf(pair));
      presented = pair;
    },
    ask,
    turnAway: () => void (isTurningAway = true),
    async close(clock) {
      isTurningAway = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      // A closing server no longer limits the time in which a request must arrive. Without this timer, a client that
      // never finishes its request would keep the server open for ever.
      const cancel = clock.setTimer(ARRIVAL.requestTimeout, () => server.closeAllConnections());
      await closed;
      cancel();
      while (pending.size > 0) await Promise.all(pending);
    },
  };
}

/**
 * Copies a request whose body has no length into a standard Request: `hono/body-limit` cannot read the body of Hono's
 * own class.
 */
function standard(request: Request): Request {
  const { url, method, headers, body } = request;
  return body === null ? request : new Request(url, { method, headers, body, duplex: "half" });
}

type Arrived = HttpBindings | Http2Bindings;

/** Returns whether the caller showed a valid token. No endpoint below /clusters/ succeeds without a valid token. */
function hasShownToken({ url }: Request, { ok }: Response): boolean {
  return ok && new URL(url).pathname.startsWith("/clusters/");
}

function contextOf({ certPem: cert, keyPem: key }: Pair) {
  return { cert, key };
}
