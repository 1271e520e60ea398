/**
 * A way to an API server that can be watched and cut.
 * Owns: passing on. Does not own: either end.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { request } from "node:https";

export interface ApiProxy {
  /** For `CLUSTERS`. */
  readonly url: string;
  /** Of all requests so far, with their queries. */
  readonly paths: readonly string[];
  /** While it is cut, connections are closed without an answer. */
  cut: boolean;
  stop(): Promise<void>;
}

export async function startApiProxy(apiServer: { readonly url: string; readonly caPem: string }): Promise<ApiProxy> {
  const paths: string[] = [];
  const state = { cut: false };
  const pass = (asked: IncomingMessage, answer: ServerResponse) => {
    if (state.cut) return void asked.socket.destroy();
    paths.push(asked.url ?? "");
    const { method, headers } = asked;
    const onward = request(`${apiServer.url}${asked.url}`, { method, headers, ca: apiServer.caPem }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    onward.on("error", () => asked.socket.destroy());
    asked.pipe(onward);
  };
  const server = createServer(pass).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy does not listen on a port");
  return Object.assign(state, {
    url: `http://127.0.0.1:${address.port}`,
    paths,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}
