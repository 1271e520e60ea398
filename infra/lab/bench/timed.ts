/** Sends one request over a connection that stays open, and measures the time of its answer. */
import type { ClientRequest, RequestOptions, IncomingMessage } from "node:http";

export interface TimedAnswer {
  readonly ms: number;
  readonly code: number;
  readonly text: string;
}

type Send = (options: RequestOptions, then: (response: IncomingMessage) => void) => ClientRequest;

/**
 * Sends a request and measures the time until its answer. `send` is the function `request` of node:http or node:https.
 */
export function timed(
  send: Send,
  to: RequestOptions,
  body: string,
  more: Readonly<Record<string, string>> = {},
): Promise<TimedAnswer> {
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body), ...more };
  return new Promise((resolve, reject) => {
    const begin = performance.now();
    const outgoing = send({ ...to, method: "POST", headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => void (text += chunk));
      response.on("error", reject);
      response.on("end", () => resolve({ ms: performance.now() - begin, code: response.statusCode ?? 0, text }));
    });
    outgoing.on("error", reject).end(body);
  });
}
