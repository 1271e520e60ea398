/** The HTTP server for probes and Prometheus. */
import { createServer } from "node:http";
import type { Server } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { OPEN_METRICS } from "../../shared/metrics/open-metrics.ts";
import type { Clock } from "./clock.ts";
import { ARRIVAL, limitConnections } from "./connections.ts";
import { RELAY_MESSAGES as MESSAGES } from "./messages.ts";

export interface Probed {
  /** Returns whether the first list of every watch is complete. */
  isReady(): boolean;
  metrics(): string | Promise<string>;
}

export interface ProbeServer {
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * How long the server reuses an answer with metrics, in milliseconds. Without this reuse, any pod could cause load on
 * the API server, because the leading replica reads all Evacuations for each new answer.
 */
const SCRAPE_MS = 30_000;

export async function startProbes(relay: Probed, port: number, clock: Clock): Promise<ProbeServer> {
  let scrape: Promise<string> | undefined;
  const metrics = () => {
    const forget = () => void clock.setTimer(SCRAPE_MS, () => (scrape = undefined));
    return (scrape ??= Promise.resolve(relay.metrics()).finally(forget));
  };
  const app = new Hono()
    .get("/healthz", (c) => c.text("ok\n"))
    .get("/readyz", (c) => (relay.isReady() ? c.text("ok\n") : c.text(MESSAGES.notSynced, 503)))
    .get("/metrics", async (c) => c.body(await metrics(), 200, { "content-type": OPEN_METRICS }));
  app.onError((_, c) => c.text("not now\n", 503));
  const answer = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = createServer({ ...ARRIVAL });
  limitConnections(server, answer);
  return {
    port: await portOf(server, port),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Starts a server, and returns its port. If the port is 0, the system chooses a free port. */
export async function portOf(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(MESSAGES.notListening);
  return address.port;
}
