/** A server of a test, on a port of loopback. */
import { once } from "node:events";
import type { Server } from "node:http";
import type { Server as SecureServer } from "node:https";

export async function listen(server: Server | SecureServer, port = 0) {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    authority: `127.0.0.1:${address.port}`,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
