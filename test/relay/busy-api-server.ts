/**
 * As much of an API server as informers need, for more updates than any cluster of a test makes: empty lists, and a watch of
 * pods that streams what it is told to.
 * Owns: the protocol of list and watch. Does not own: which updates there are.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";

export interface BusyApiServer {
  readonly url: string;
  /** To the watch of pods, as fast as it takes them. */
  stream(events: Iterable<object>): Promise<void>;
  stop(): Promise<void>;
}

export async function startBusyApiServer(): Promise<BusyApiServer> {
  const { promise: watching, resolve: watched } = Promise.withResolvers<ServerResponse>();
  const server = createServer(({ url = "" }, response) => {
    response.setHeader("content-type", "application/json");
    if (!url.includes("watch=true"))
      return void response.end(JSON.stringify({ kind: "List", metadata: { resourceVersion: "1" }, items: [] }));
    response.flushHeaders();
    if (url.startsWith("/api/v1/pods")) watched(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    async stream(events) {
      const response = await watching;
      for (const event of events) if (!response.write(`${JSON.stringify(event)}\n`)) await once(response, "drain");
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
