/** Lifeboat's address, as the API server knows it: behind it, one Worker after another. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request as httpsRequest } from "node:https";
import { createSecureContext } from "node:tls";
import type { Authority } from "../../sandbox/certificates.ts";
import { listenOnLoopback, stopListening } from "./listen.ts";

/** Who answers: the address of a Worker's doors for the cluster. */
export interface Answering {
  readonly name: string;
  readonly url: string;
}

export interface Front {
  readonly url: string;
  /** Asked for every review; undefined: no Worker is there. */
  answering: () => Answering | undefined;
  /** Of the guard's reviews, those that the API server gave up waiting for: it was away, or this machine is too busy. */
  readonly late: number;
  /** Breaks what this Worker has not answered yet. */
  drop(name: string): void;
  stop(): Promise<void>;
}

export async function startFront(authority: Authority): Promise<Front> {
  const { certPem, keyPem } = await authority.issue(["127.0.0.1", "localhost"]);
  // workerd closes idle connections after 5 s; whatever breaks here is to be in the plan.
  const agent = new Agent({
    keepAlive: true,
    timeout: 4000,
    secureContext: createSecureContext({ ca: authority.caPem }),
  });
  const open = new Map<ServerResponse, string>();
  let late = 0;
  const front = { answering: (): Answering | undefined => undefined };

  const pass = ({ name, url }: Answering, request: IncomingMessage, response: ServerResponse): void => {
    open.set(response, name);
    response.on("close", () => {
      const isOpen = open.delete(response);
      if (isOpen && !response.writableEnded && request.url?.includes("/admission/deletions/") === true) late += 1;
    });
    const { host: _, connection: __, ...headers } = request.headers;
    const outgoing = httpsRequest(`${url}${request.url ?? ""}`, { method: request.method ?? "POST", headers, agent });
    outgoing.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on("error", () => response.destroy());
      answer.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    response.on("close", () => outgoing.destroy());
    request.pipe(outgoing);
  };

  const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    const answering = front.answering();
    if (answering === undefined) response.destroy();
    else pass(answering, request, response);
  });
  const port = await listenOnLoopback(server);
  return {
    get answering() {
      return front.answering;
    },
    set answering(answering) {
      front.answering = answering;
    },
    get late() {
      return late;
    },
    url: `https://127.0.0.1:${port}`,
    drop(name) {
      for (const [response, by] of open) {
        if (by !== name) continue;
        open.delete(response);
        response.destroy();
      }
    },
    async stop() {
      await stopListening(server);
      agent.destroy();
    },
  };
}
