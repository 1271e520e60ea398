/**
 * As much of an API server as informers need, for more updates than any cluster of a test makes: empty lists, and a watch of pods that
 * streams what it is told to.
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { json, startStubServer } from "../functions/support/stub-server.ts";

export async function startBusyApiServer() {
  const { promise: watching, resolve: watched } = Promise.withResolvers<ServerResponse>();
  const server = await startStubServer(({ path, query }) => {
    if (!query.has("watch")) return json({ kind: "List", metadata: { resourceVersion: "1" }, items: [] });
    return (response) => {
      response.setHeader("content-type", "application/json");
      response.flushHeaders();
      if (path === "/api/v1/pods") watched(response);
    };
  });
  return {
    url: server.url,
    stop: () => server.stop(),
    /** To the watch of pods, as fast as it takes them. */
    async stream(events: Iterable<object>): Promise<void> {
      const response = await watching;
      for (const event of events) if (!response.write(`${JSON.stringify(event)}\n`)) await once(response, "drain");
    },
  };
}
