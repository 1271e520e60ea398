/**
 * A hostile cluster over HTTP on loopback, for the Worker in workerd: another one as often as one likes.
 * Owns: the way from HTTP to it, and keeping it quick. Does not own: its answers.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import type { Random } from "../random.ts";
import { HostileCluster, SERVER } from "./hostile-cluster.ts";

export interface HostileServer {
  readonly url: string;
  /** What has been wrong with our own requests. */
  problems(): readonly string[];
  next(random: Random): void;
  stop(): Promise<void>;
}

/** By the real clock nothing takes long: what is slow is so for a moment, and what never answers hangs up. */
const SLOW_MS = 20;
const NEVER_MS = 200;
const quickly = { sleep: (ms: number) => (ms < 1000 ? Promise.resolve() : setTimeout(SLOW_MS)) };

export async function startHostileServer(random: Random): Promise<HostileServer> {
  const clusters = [new HostileCluster(random, quickly)];
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const body = Buffer.concat(await incoming.toArray()).toString();
    const headers = Object.entries(incoming.headers).flatMap(([k, v]) => (typeof v === "string" ? [[k, v]] : []));
    const response = await clusters.at(-1)?.fetch(`${SERVER}${incoming.url}`, {
      method: incoming.method ?? "GET",
      headers: Object.fromEntries(headers),
      redirect: "manual",
      signal: AbortSignal.timeout(NEVER_MS),
      ...(body === "" ? {} : { body }),
    });
    if (response === undefined) return;
    const { status, headers: answered } = response;
    outgoing.writeHead(status, { "content-type": "application/json", ...Object.fromEntries(answered) });
    outgoing.end(await response.text());
  };
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the hostile server has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    problems: () => clusters.flatMap((cluster) => cluster.problems),
    next: (random) => void clusters.push(new HostileCluster(random, quickly)),
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
