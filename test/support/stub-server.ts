/** A server on loopback that returns fixed answers and records requests. It serves clients that do not use `fetch`. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Behaviour, HttpRequest } from "./answers.ts";

export interface StubServer {
  readonly url: string;
  readonly requests: readonly HttpRequest[];
  stop(): Promise<void>;
}

type Serve = (request: HttpRequest, response: ServerResponse) => void | Promise<void>;

export function startStubServer(answer: (request: HttpRequest) => Behaviour): Promise<StubServer> {
  return startHttpServer(async (request, outgoing) => {
    const hungUp = new AbortController();
    outgoing.on("close", () => hungUp.abort());
    try {
      const { status, headers, body } = await answer(request)(request, hungUp.signal);
      outgoing.writeHead(status, Object.fromEntries(headers));
      if (body === null) outgoing.end();
      else await pipeline(Readable.from(body), outgoing);
    } catch {
      outgoing.destroy();
    }
  });
}

export async function startHttpServer(serve: Serve): Promise<StubServer> {
  const requests: HttpRequest[] = [];
  const receive = async (incoming: IncomingMessage, response: ServerResponse) => {
    const { method = "GET" } = incoming;
    const { pathname, searchParams: query } = new URL(incoming.url ?? "/", "http://stub");
    const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
    const text = Buffer.concat(await incoming.toArray()).toString();
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    const request = { method, path: decodeURIComponent(pathname), query, headers, body };
    requests.push(request);
    await serve(request, response);
  };
  const server = createServer((incoming, response) => void receive(incoming, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the stub has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
