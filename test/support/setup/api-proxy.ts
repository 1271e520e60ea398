/** A proxy before an API server that records requests and can cut connections. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { request } from "node:https";

export interface ProxiedRequest {
  readonly path: string;
  /** The number of requests that were answered before this request arrived. */
  readonly after: number;
}

export interface ApiProxy {
  readonly url: string;
  readonly requests: readonly ProxiedRequest[];
  /** True if the proxy closes connections without an answer. */
  cut: boolean;
  stop(): Promise<void>;
}

export async function startApiProxy(apiServer: { readonly url: string; readonly caPem: string }): Promise<ApiProxy> {
  const requests: ProxiedRequest[] = [];
  let answered = 0;
  const state = { cut: false };
  const pass = (asked: IncomingMessage, answer: ServerResponse) => {
    if (state.cut) return void asked.socket.destroy();
    requests.push({ path: asked.url ?? "", after: answered });
    const { method, headers } = asked;
    const onward = request(`${apiServer.url}${asked.url}`, { method, headers, ca: apiServer.caPem }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer).on("finish", () => (answered += 1));
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
    requests,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}
