/**
 * The doors over TLS: Hono's app in Node, as the API server finds it behind a Service.
 * Owns: the listener, its certificate, what runs after an answer, and ending without losing a request. Does not own: the
 * app's answers.
 */
import type { ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { getRequestListener } from "@hono/node-server";
import type { ExecutionContext } from "hono";

export interface Pair {
  readonly certPem: string;
  readonly keyPem: string;
}

/** The app, which may go on after its answer. */
export type Answer = (request: Request, context: ExecutionContext) => Response | Promise<Response>;

export interface Listener {
  readonly port: number;
  /** New connections get this certificate; those that are open keep theirs. */
  present(pair: Pair): void;
  /** Answers a request of this process. */
  ask(request: Request): Promise<Response>;
  /** From now on each answer asks its client to connect anew. */
  turnAway(): void;
  /** Resolves once everything that was begun has been answered and has ended. */
  close(): Promise<void>;
}

/**
 * kube-apiserver keeps an idle connection for 90 s and does not repeat a review. If the server closed it first, a review
 * on its way would be answered by the webhook's failurePolicy.
 */
const IDLE_MS = 120_000;

export async function listen(answer: Answer, port: number, first: Pair): Promise<Listener> {
  let presented = first;
  const begun = new Set<Promise<unknown>>();
  const context: ExecutionContext = {
    waitUntil(promise) {
      const settled = promise.catch(() => undefined).finally(() => begun.delete(settled));
      begun.add(settled);
    },
    passThroughOnException: () => undefined,
    props: {},
  };
  const ask = async (request: Request) => await answer(request, context);
  let isTurningAway = false;
  const answerOverTls = async (request: Request) => {
    const response = await ask(request);
    // Said with the answer, not when the review came in: it may have been held, and its connection would stay open.
    if (isTurningAway) response.headers.set("connection", "close");
    return response;
  };
  // Hono's own Request and Response classes are quicker, but would replace those of the whole process.
  const handle = getRequestListener(answerOverTls, { overrideGlobalObjects: false });
  const open = new Set<ServerResponse>();
  const server = createServer(contextOf(first), (request, response) => {
    open.add(response);
    response.on("close", () => open.delete(response));
    void handle(request, response);
  });
  server.keepAliveTimeout = IDLE_MS;
  return {
    port: await portOf(server, port),
    present(pair) {
      // A new context forgets the sessions that clients could resume.
      if (pair.certPem !== presented.certPem) server.setSecureContext(contextOf(pair));
      presented = pair;
    },
    ask,
    turnAway: () => void (isTurningAway = true),
    async close() {
      isTurningAway = true;
      // A page's stream goes on for minutes; the browser opens the next one elsewhere.
      for (const response of open) if (isStream(response)) response.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      while (begun.size > 0) await Promise.all(begun);
    },
  };
}

function isStream(response: ServerResponse): boolean {
  return String(response.getHeader("content-type")).startsWith("text/event-stream");
}

function contextOf({ certPem: cert, keyPem: key }: Pair) {
  return { cert, key };
}

async function portOf(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server does not listen on a port");
  return address.port;
}
