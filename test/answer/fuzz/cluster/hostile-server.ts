/** Serves a hostile cluster over HTTP on the loopback interface. A test can replace the cluster at any time. */
import { setTimeout } from "node:timers/promises";
import { startHttpServer, type StubServer } from "../../../support/stub-server.ts";
import { type HostileCluster, type HostileClock, SERVER } from "./hostile-cluster.ts";

/**
 * Replaces the delays with short delays, because this test uses the real clock. Closes the connection of a request that
 * the hostile cluster would never answer.
 */
const SLOW_MS = 20;
export const quickly: HostileClock = {
  sleep: (ms) => (ms < 1000 ? Promise.resolve() : setTimeout(SLOW_MS)),
  never: () => Promise.reject(new TypeError("it hangs up")),
};

export async function startHostileServer(cluster: () => Pick<HostileCluster, "fetch">): Promise<StubServer> {
  return await startHttpServer(async ({ method, path, query, headers, body }, outgoing) => {
    const address = `${SERVER}${encodeURI(path)}${query.size > 0 ? `?${query.toString()}` : ""}`;
    try {
      const response = await cluster().fetch(address, {
        method,
        headers,
        redirect: "manual",
        signal: new AbortController().signal,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const answered = { "content-type": "application/json", ...Object.fromEntries(response.headers) };
      const text = await response.text();
      outgoing.writeHead(response.status, answered).end(text);
    } catch {
      outgoing.destroy();
    }
  });
}
