/**
 * Which connections a server keeps: any pod can open one, and each takes memory.
 *
 * Until a caller has shown a token it is a stranger. Strangers get little time, and no more than so many connections: of more, those go
 * that have waited longest and send nothing. A request that has arrived whole is answered first. So strangers that send nothing, or never
 * finish, keep neither the API server nor its reviews out.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Server as TlsServer } from "node:https";
import type { Socket } from "node:net";

/** One each for as many reviews as fit, those that the API servers keep idle, and the strangers'. */
const MOST_CONNECTIONS = 1024;
/** Each takes 70 to 210 KB. */
const MOST_STRANGERS = 192;
/** The API server's new connections are strangers, too: it opens hundreds at once for a drain. Beyond so many the oldest goes at once. */
const MOST_NEW_STRANGERS = 768;
/**
 * Interval at which connections beyond `MOST_STRANGERS` are closed that have sent nothing since the last time. A busy server is late here, too:
 * what has been sent is read first.
 */
const SILENCE_MS = 500;

/** An API server sends a whole review within milliseconds. Its answer may take longer: these limit only what a client sends. */
export const ARRIVAL = {
  handshakeTimeout: 5000,
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
} as const;

interface Stranger {
  readonly socket: Socket;
  request?: IncomingMessage;
  /** When it was last looked at. */
  bytes?: number;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

export interface Connections {
  /** The caller has shown a token: its connection stays. */
  trust(socket: Socket): void;
}

/** Go's client, and any other that is meant to call, waits for an answer before it asks again. The start of a second request may have arrived. */
const MOST_REQUESTS = 2;

export function limitConnections(server: Server | TlsServer, answer: Answer): Connections {
  const strangers = new Map<string, Stranger>();
  server.maxConnections = MOST_CONNECTIONS;
  // Before TLS: a handshake that is never finished takes memory, too.
  server.on("connection", (socket: Socket) => {
    const name = nameOf(socket);
    strangers.set(name, { socket });
    socket.once("close", () => strangers.delete(name));
    if (strangers.size > MOST_NEW_STRANGERS) end(strangers, 1, () => true);
  });
  const timer = setInterval(() => {
    end(strangers, strangers.size - MOST_STRANGERS, ({ socket, bytes }) => bytes === socket.bytesRead);
    for (const stranger of strangers.values()) stranger.bytes = stranger.socket.bytesRead;
  }, SILENCE_MS).unref();
  server.once("close", () => clearInterval(timer));
  const unanswered = new WeakMap<Socket, number>();
  server.on("request", (request, response) => {
    const { socket } = request;
    const count = (by: number) => void unanswered.set(socket, (unanswered.get(socket) ?? 0) + by);
    count(1);
    response.once("close", () => count(-1));
    if ((unanswered.get(socket) ?? 0) > MOST_REQUESTS) return void socket.destroy();
    const stranger = strangers.get(nameOf(socket));
    if (stranger !== undefined) stranger.request = request;
    void answer(request, response);
  });
  return { trust: (socket) => void strangers.delete(nameOf(socket)) };
}

/** The oldest so many: a map keeps the order in which they came. */
function end(strangers: Map<string, Stranger>, count: number, mayGo: (stranger: Stranger) => boolean): void {
  let left = count;
  for (const [name, stranger] of strangers) {
    if (left <= 0) return;
    if (stranger.request?.complete === true || !mayGo(stranger)) continue;
    strangers.delete(name);
    stranger.socket.destroy();
    left -= 1;
  }
}

/** The socket below TLS and the one above it have this in common. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
