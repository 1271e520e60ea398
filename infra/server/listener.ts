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

/** Answers with the app, which may continue its work after the answer. */
export type AnswerRequest = (request: Request, context: ExecutionContext) => Response | Promise<Response>;

export interface Listener {
  readonly port: number;
  /** New connections get this certificate; open ones keep theirs. */
  present(pair: Pair): void;
  /** Answers a request of this process as if it came over a connection. */
  ask(request: Request): Promise<Response>;
  /** From now on each answer asks its client to reconnect. */
  turnAway(): void;
  /**
   * Resolves when all requests are answered and their follow-up work has ended. Requests that are still arriving get
   * `ARRIVAL`'s time.
   */
  close(clock: Clock): Promise<void>;
}

/**
 * kube-apiserver keeps an idle connection for 90 s and does not repeat a review. If the server closed it first, the
 * webhook's failurePolicy would answer a review that is being sent.
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
    // The header is decided with the answer, not at the review's arrival: its connection would otherwise stay open.
    if (isTurningAway || !isKnown) response.headers.set("connection", "close");
    return response;
  };
  // Hono's own Request and Response classes are faster, but would replace those of the whole process.
  const handle = getRequestListener(answerOverTls, { overrideGlobalObjects: false });
  const server = createServer({ ...contextOf(first), ...ARRIVAL, keepAliveTimeout: IDLE_MS });
  const connections = limitConnections(server, handle);
  return {
    port: await portOf(server, port),
    present(pair) {
      // A new context forgets the sessions that clients could resume.
      if (pair.certPem !== presented.certPem) server.setSecureContext(contextOf(pair));
      presented = pair;
    },
    ask,
    turnAway: () => void (isTurningAway = true),
    async close(clock) {
      isTurningAway = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      // A closing server no longer limits the time of arrival: a client that never ends its request would keep it open
      // for ever.
      const cancel = clock.setTimer(ARRIVAL.requestTimeout, () => server.closeAllConnections());
      await closed;
      cancel();
      while (pending.size > 0) await Promise.all(pending);
    },
  };
}

/** Copies a request whose body has no length: `hono/body-limit` cannot read one of Hono's own class. */
function standard(request: Request): Request {
  const { url, method, headers, body } = request;
  return body === null ? request : new Request(url, { method, headers, body, duplex: "half" });
}

type Arrived = HttpBindings | Http2Bindings;

/** Returns whether the caller showed a token: no endpoint below /clusters/ answers without a token. */
function hasShownToken({ url }: Request, { ok }: Response): boolean {
  return ok && new URL(url).pathname.startsWith("/clusters/");
}

function contextOf({ certPem: cert, keyPem: key }: Pair) {
  return { cert, key };
}
