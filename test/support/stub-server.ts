/** A small HTTP server on loopback that answers as told, well or badly, and notes what it was asked. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";

export interface StubRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON; undefined without a body. */
  readonly body: unknown;
}

export type Behaviour = (response: ServerResponse, request: StubRequest) => void | Promise<void>;

export interface StubServer {
  readonly url: string;
  readonly requests: readonly StubRequest[];
  stop(): Promise<void>;
}

export async function startStubServer(answer: (request: StubRequest) => Behaviour): Promise<StubServer> {
  const requests: StubRequest[] = [];
  const serve = async (incoming: IncomingMessage, response: ServerResponse) => {
    const { method = "GET", headers } = incoming;
    const { pathname, searchParams: query } = new URL(incoming.url ?? "/", "http://stub");
    const text = Buffer.concat(await incoming.toArray()).toString();
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    const request = { method, path: decodeURIComponent(pathname), query, headers, body };
    requests.push(request);
    await answer(request)(response, request);
  };
  const server = createServer((incoming, response) => void serve(incoming, response));
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

export const json =
  (body: unknown, code = 200): Behaviour =>
  (response) =>
    void response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));

export const status = (code: number, reason: string, message = reason): Behaviour =>
  json({ kind: "Status", apiVersion: "v1", status: "Failure", reason, message, code }, code);

/** A page of a proxy in between. */
export const html =
  (code: number): Behaviour =>
  (response) =>
    void response.writeHead(code, { "content-type": "text/html" }).end(`<html><h1>${code}</h1>${SECRET_OF_UPSTREAM}`);

/** In every bad answer, to find it again where it must not be. */
export const SECRET_OF_UPSTREAM = "secret-of-the-upstream";

export const neverAnswering: Behaviour = () => undefined;

/** Headers and the beginning of a body, and then nothing. */
export const stalling: Behaviour = (response) =>
  void response.writeHead(200, { "content-type": "application/json" }).write('{"kind":"Pod",');

/** A body that ends before it is over. */
export const truncating: Behaviour = (response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
  response.write('{"kind":"Pod"', () => response.destroy());
};

export const hangingUp: Behaviour = (response) => void response.destroy();

export const redirecting =
  (location: string, code = 302): Behaviour =>
  (response, { path }) =>
    void response.writeHead(code, { location: `${location}${path}` }).end();

/** A loopback address on which nothing listens. */
export async function unreachableUrl(): Promise<string> {
  const server = await startStubServer(() => hangingUp);
  await server.stop();
  return server.url;
}
