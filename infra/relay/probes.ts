/** The HTTP server for probes and Prometheus. */
import { createServer } from "node:http";
import type { Server } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { OPEN_METRICS } from "../../shared/metrics/open-metrics.ts";

export interface Probed {
  /** Every watch has had its first list. */
  isReady(): boolean;
  metrics(): string | Promise<string>;
}

export interface ProbeServer {
  readonly port: number;
  stop(): Promise<void>;
}

export async function startProbes(relay: Probed, port: number): Promise<ProbeServer> {
  const app = new Hono()
    .get("/healthz", (c) => c.text("ok\n"))
    .get("/readyz", (c) => (relay.isReady() ? c.text("ok\n") : c.text("not synced yet\n", 503)))
    .get("/metrics", async (c) => c.body(await relay.metrics(), 200, { "content-type": OPEN_METRICS }));
  app.onError((_, c) => c.text("not now\n", 503));
  const answer = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = createServer((request, response) => void answer(request, response));
  return {
    port: await portOf(server, port),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Of a server that listens from now on; with 0, on a free one. */
export async function portOf(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server does not listen on a port");
  return address.port;
}
