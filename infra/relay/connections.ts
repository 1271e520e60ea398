/**
 * Which connections a server keeps: any pod can open one, and each takes memory.
 *
 * Until a caller has shown a token it is a stranger. Strangers get little time, and no more than so many connections: for one more, the
 * stranger that has waited longest goes. A request that has arrived whole is answered first. So strangers that send nothing, or never
 * finish, keep neither the API server nor its reviews out.
 */
import type { IncomingMessage, Server } from "node:http";
import type { Server as TlsServer } from "node:https";
import type { Socket } from "node:net";

/** One each for as many reviews as fit, those that the API servers keep idle, and the strangers'. */
const MOST_CONNECTIONS = 1024;
/** Each takes 70 to 210 KB. */
const MOST_STRANGERS = 192;
/** The API server's new connections are strangers, too: it opens hundreds at once for a drain, and shows its token within so long. */
const GRACE_MS = 500;
/** Where strangers come faster than that, they have less time. */
const MOST_NEW_STRANGERS = 768;

/** An API server sends a whole review within milliseconds. Its answer may take longer: these limit only what a client sends. */
export const ARRIVAL = {
  handshakeTimeout: 5000,
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
} as const;

interface Stranger {
  readonly socket: Socket;
  readonly since: number;
  request?: IncomingMessage;
}

export interface Connections {
  /** The caller has shown a token: its connection stays. */
  trust(socket: Socket): void;
}

export function limitConnections(server: Server | TlsServer): Connections {
  const strangers = new Map<string, Stranger>();
  server.maxConnections = MOST_CONNECTIONS;
  // Before TLS: a handshake that is never finished takes memory, too.
  server.on("connection", (socket: Socket) => {
    const name = nameOf(socket);
    strangers.set(name, { socket, since: performance.now() });
    socket.once("close", () => strangers.delete(name));
    makeRoom(strangers);
  });
  server.on("request", (request: IncomingMessage) => {
    const stranger = strangers.get(nameOf(request.socket));
    if (stranger !== undefined) stranger.request = request;
  });
  return { trust: (socket) => void strangers.delete(nameOf(socket)) };
}

/** A map keeps the order in which they came. */
function makeRoom(strangers: Map<string, Stranger>): void {
  for (const [name, { socket, since, request }] of strangers) {
    const isNew = performance.now() - since < GRACE_MS;
    if (strangers.size <= (isNew ? MOST_NEW_STRANGERS : MOST_STRANGERS)) return;
    if (request?.complete === true) continue;
    strangers.delete(name);
    socket.destroy();
  }
}

/** The socket below TLS and the one above it have this in common. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
