/**
 * Limits connections, because any pod can open a connection and each connection takes memory. A stranger is a caller
 * that has not shown a valid token. If too many strangers are connected, the server closes the oldest connections that
 * have not sent a complete request. Strangers that never finish a request therefore cannot lock out the API server.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Server as TlsServer } from "node:https";
import type { Socket } from "node:net";

/**
 * The maximum number of all connections: busy and idle connections of API servers, and connections of callers without a
 * valid token.
 */
const MOST_CONNECTIONS = 1024;
/**
 * A stranger is a caller that has not shown a valid token. Above this number of connected strangers, the server closes
 * silent connections of strangers. Each connection takes 70 to 210 KB.
 */
const MOST_STRANGERS = 192;
/**
 * The maximum number of strangers (callers that have not shown a valid token) at any time. During a drain, the API
 * server opens hundreds of connections. On each connection, it counts as a stranger until the server has checked its
 * token. Above this limit, the server immediately closes the oldest connection that has not sent a complete request.
 */
const MOST_NEW_STRANGERS = 768;
/**
 * The interval of checks, in milliseconds. If more than `MOST_STRANGERS` callers without a valid token are connected, a
 * check closes the connections of callers that have sent nothing since the last check.
 */
const SILENCE_MS = 500;

/** The time limits for the arrival of a request, in milliseconds. An API server sends a review within milliseconds. */
export const ARRIVAL = {
  handshakeTimeout: 5000,
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
} as const;

interface Stranger {
  readonly socket: Socket;
  request?: IncomingMessage;
  /** The number of bytes that the server had received at the last check. */
  bytes?: number;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

export interface Connections {
  /**
   * Called when the caller of this connection has shown a valid token. The limits for strangers (callers without a
   * valid token) then ignore the connection.
   */
  trust(socket: Socket): void;
}

/**
 * The maximum number of unanswered requests on a connection. The limit is not 1, because the next request can arrive
 * before the last response has ended.
 */
const MOST_REQUESTS = 2;

export function limitConnections(server: Server | TlsServer, answer: Answer): Connections {
  const strangers = new Map<string, Stranger>();
  server.maxConnections = MOST_CONNECTIONS;
  // A connection is counted before its TLS handshake, because an unfinished handshake takes memory.
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

/** Returns a name for the connection. The TCP socket and the TLS socket of a connection have the same name. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
