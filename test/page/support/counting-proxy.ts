/**
 * A way to an API server on which requests are counted, and which can be cut.
 * Owns: passing on. Does not own: either end.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import type { Sandbox } from "../../../infra/sandbox/sandbox.ts";

export interface CountingProxy {
  /** For `CLUSTERS`. */
  readonly url: string;
  /** Requests so far. */
  count(): number;
  /** While it is cut, connections are closed without an answer. */
  cut: boolean;
  stop(): Promise<void>;
}

export async function startCountingProxy({ url, caPem }: Pick<Sandbox, "url" | "caPem">): Promise<CountingProxy> {
  let count = 0;
  const proxy = { cut: false };
  const pass = (asked: IncomingMessage, answer: ServerResponse) => {
    if (proxy.cut) return void asked.socket.destroy();
    count++;
    const { method, headers } = asked;
    const onward = request(`${url}${asked.url}`, { method, headers, ca: caPem }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    onward.on("error", () => asked.socket.destroy());
    asked.pipe(onward);
  };
  const server = createServer(pass).listen(0, "127.0.0.1");
  await once(server, "listening");
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
  const { port } = server.address() as AddressInfo;
  return Object.assign(proxy, {
    url: `http://127.0.0.1:${port}`,
    count: () => count,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}
