/** Servers on loopback, on any free port. */
import type { Server as HttpServer } from "node:http";
import type { Server } from "node:net";

/** Resolves to the port. */
export async function listenOnLoopback(server: Pick<Server, "listen" | "address">): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server does not listen on a port");
  return address.port;
}

/** Closes open connections, too. */
export function stopListening(server: Pick<HttpServer, "close" | "closeAllConnections">): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
