/**
 * Connects each replica of Lifeboat to the API server. A connection can be cut between any two writes. The cut kills
 * the replica.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import type { Server } from "node:net";
import { PassThrough, Transform } from "node:stream";
import { createSecureContext } from "node:tls";

export interface Link {
  readonly isDead: boolean;
  /** The address at which this replica reaches the API server. No later replica gets the same address. */
  readonly url: string;
  /** Sets the number of writes after which the replica dies. By default the number is unlimited. */
  limit(writes: number): void;
  /** Delays the replica's watch events until `release` delivers them in order. */
  hold(): void;
  release(): void;
  close(): void;
}

export interface Links {
  open(name: string, onDeath: () => void): Link;
  stop(): Promise<void>;
}

interface OpenLink extends Link {
  forward(path: string, request: IncomingMessage, response: ServerResponse): void;
}

export async function startLinks({ url: server, caPem }: { url: string; caPem: string }): Promise<Links> {
  const agent = new Agent({ keepAlive: true, secureContext: createSecureContext({ ca: caPem }) });
  const links = new Map<string, OpenLink>();
  let opened = 0;
  const listener = createServer((request, response) => {
    const [, address = "", path = "/"] = /^\/([^/]+)(\/.*)$/.exec(request.url ?? "") ?? [];
    const link = links.get(address);
    if (link === undefined) response.destroy();
    else link.forward(path, request, response);
  });
  const port = await listenOnLoopback(listener);

  return {
    open(name, onDeath) {
      const address = `${name}.${++opened}`;
      const open = new Set<ServerResponse>();
      let left = Infinity;
      let [isDead, isHeld] = [false, false];
      const waiting = new Set<() => void>();
      const heard = () =>
        new Transform({
          transform(chunk, _, done) {
            const pass = () => done(null, chunk);
            if (isHeld) waiting.add(pass);
            else pass();
          },
        });
      const cut = (): void => {
        if (isDead) return;
        isDead = true;
        for (const response of open) response.destroy();
        onDeath();
      };
      const link: OpenLink = {
        get isDead() {
          return isDead;
        },
        url: `http://127.0.0.1:${port}/${address}`,
        limit(writes) {
          left = writes;
        },
        hold() {
          isHeld = true;
        },
        release() {
          isHeld = false;
          const passes = [...waiting];
          waiting.clear();
          for (const pass of passes) pass();
        },
        close() {
          links.delete(address);
          cut();
        },
        forward(path, request, response) {
          const { method = "GET" } = request;
          if (isWrite(method, path) && left-- <= 0) cut();
          if (isDead) return void response.destroy();
          open.add(response);
          response.on("close", () => open.delete(response));
          forward(`${server}${path}`, agent, { request, response }, heard());
        },
      };
      links.set(address, link);
      return link;
    },
    async stop() {
      await stopListening(listener);
      agent.destroy();
    },
  };
}

/** Returns whether a request is a write. Access reviews and dry runs are not writes. */
function isWrite(method: string, path: string): boolean {
  return method !== "GET" && !path.includes("dryRun=All") && !path.startsWith("/apis/authorization.k8s.io/");
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Forwards a request and its answer. If one of the two connections breaks, the other connection is closed, too. */
export function forward(url: string, agent: Agent, { request, response }: Exchange, heard = new PassThrough()): void {
  const { host: _, connection: __, ...headers } = request.headers;
  const outgoing = httpsRequest(url, { method: request.method ?? "POST", headers, agent });
  outgoing.on("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.on("error", () => response.destroy()).on("aborted", () => response.destroy());
    answer.pipe(heard).pipe(response);
  });
  outgoing.on("error", () => response.destroy());
  response.on("close", () => outgoing.destroy());
  request.on("error", () => outgoing.destroy());
  request.pipe(outgoing);
}

/** Listens on a free port, and resolves to the port. */
export async function listenOnLoopback(server: Pick<Server, "listen" | "address">): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server does not listen on a port");
  return address.port;
}

export function stopListening(server: {
  close(done: () => void): unknown;
  closeAllConnections(): void;
}): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
