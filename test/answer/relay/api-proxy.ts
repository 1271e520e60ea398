/** A way to an API server that can fail as networks, load balancers and API servers do. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request as httpsRequest } from "node:https";
import { listen } from "./listen.ts";
import type { Authority } from "../../../infra/sandbox/index.ts";

/** `status`: the response is a 410. `event`: it is a 200 whose only event is an ERROR with code 410. */
export type Gone = "status" | "event";

export interface ApiProxy {
  readonly url: string;
  /** Paths with query of everything asked, oldest first. */
  readonly asked: readonly string[];
  /** Ends every connection; new ones too, until `mend`. */
  cut(): void;
  mend(): void;
  /** The next watch of each path is answered so. */
  forget(how: Gone): void;
  stop(): Promise<void>;
}

const EXPIRED = { kind: "Status", code: 410, reason: "Expired", message: "too old resource version: 1 (2)" };

export async function startApiProxy(target: string, authority: Authority): Promise<ApiProxy> {
  const agent = new Agent({ keepAlive: true, ca: authority.caPem });
  const { certPem: cert, keyPem: key } = await authority.issue(["127.0.0.1"]);
  const asked: string[] = [];
  let isCut = false;
  let forgotten: { readonly how: Gone; readonly paths: Set<string> } | undefined;

  const isForgotten = (url: URL): boolean => {
    if (forgotten === undefined || !url.searchParams.has("watch")) return false;
    const key = url.pathname + (url.searchParams.get("fieldSelector") ?? "");
    if (forgotten.paths.has(key)) return false;
    forgotten.paths.add(key);
    return true;
  };

  const server = createServer({ cert, key }, (incoming, outgoing) => {
    const url = new URL(incoming.url ?? "/", target);
    if (isCut) return void incoming.destroy();
    asked.push(url.pathname + url.search);
    if (forgotten !== undefined && isForgotten(url)) return answerGone(outgoing, forgotten.how);
    forward(incoming, outgoing, url, agent);
  });
  const listening = await listen(server);
  return {
    url: `https://${listening.authority}`,
    asked,
    cut() {
      isCut = true;
      server.closeAllConnections();
    },
    mend() {
      isCut = false;
    },
    forget(how) {
      forgotten = { how, paths: new Set() };
    },
    async stop() {
      await listening.stop();
      agent.destroy();
    },
  };
}

function answerGone(outgoing: ServerResponse, how: Gone): void {
  outgoing.writeHead(how === "status" ? 410 : 200, { "content-type": "application/json" });
  outgoing.end(`${JSON.stringify(how === "status" ? EXPIRED : { type: "ERROR", object: EXPIRED })}\n`);
}

function forward(incoming: IncomingMessage, outgoing: ServerResponse, url: URL, agent: Agent): void {
  const { method, headers } = incoming;
  const asked = httpsRequest(url, { agent, method, headers: { ...headers, host: url.host } }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders();
    answer.pipe(outgoing);
    answer.on("error", () => outgoing.destroy());
  });
  asked.on("error", () => outgoing.destroy());
  outgoing.on("close", () => asked.destroy());
  incoming.pipe(asked);
}
