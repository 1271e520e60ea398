/** The HTTP server for probes and Prometheus. */
import { createServer, type ServerResponse } from "node:http";
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
  const server = createServer(({ method, url }, response) => {
    if (method !== "GET") return answer(response, 405, "only GET\n");
    switch (url ?? "") {
      case "/healthz":
        return answer(response, 200, "ok\n");
      case "/readyz":
        return relay.isReady() ? answer(response, 200, "ok\n") : answer(response, 503, "not synced yet\n");
      case "/metrics":
        return void answerMetrics(response, relay);
      default:
        return answer(response, 404, "no such route\n");
    }
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server does not listen on a port");
  return {
    port: address.port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answerMetrics(response: ServerResponse, relay: Probed): Promise<void> {
  try {
    answer(response, 200, await relay.metrics(), OPEN_METRICS);
  } catch {
    answer(response, 503, "no metrics now\n");
  }
}

function answer(response: ServerResponse, code: number, text: string, type = "text/plain; charset=utf-8"): void {
  response.writeHead(code, { "content-type": type }).end(text);
}
