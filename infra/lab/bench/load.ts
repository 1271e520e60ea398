/** Requests to a Worker, so many at a time, each timed. */
import { Agent, request } from "node:http";
import { inParallel } from "../../tools/in-parallel.ts";

export interface TimedAnswer {
  readonly ms: number;
  readonly code: number;
  readonly text: string;
}

export interface LoadOptions {
  readonly url: string;
  readonly bodies: readonly string[];
  readonly concurrency: number;
}

/** workerd closes idle connections after a few seconds: ours go before that. */
const IDLE_MS = 1000;

/** A closed loop: each connection sends its next request when it has an answer. Connections are kept for the next call. */
export function createLoad(): (options: LoadOptions) => Promise<readonly TimedAnswer[]> {
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
  return ({ url, bodies, concurrency }) => inParallel(bodies, concurrency, (body) => post(url, body, agent));
}

function post(url: string, body: string, agent: Agent): Promise<TimedAnswer> {
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const begin = performance.now();
    const outgoing = request(url, { method: "POST", agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => void (text += chunk));
      response.on("error", reject);
      response.on("end", () => resolve({ ms: performance.now() - begin, code: response.statusCode ?? 0, text }));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
