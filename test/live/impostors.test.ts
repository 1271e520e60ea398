/** Servers in the place of an API server: the bundled Worker, in workerd, tells them nothing. */
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Authority, createAuthority } from "../../infra/sandbox/index.ts";
import { type RunningWorker, startWorker } from "../../infra/lab/stage/worker.ts";
import { asWebhook, entry, TOKENS } from "../support/doors.ts";
import { evictionReview } from "../support/reviews.ts";

interface Impostor {
  readonly url: string;
  /** How often a client has begun to talk to it. */
  connections(): number;
  /** The `Authorization` of each request that has arrived. */
  readonly presented: readonly (string | undefined)[];
  stop(): Promise<unknown>;
}

async function startImpostor(authority: Authority, host: string): Promise<Impostor> {
  const { certPem: cert, keyPem: key } = await authority.issue([host]);
  const presented: (string | undefined)[] = [];
  let connections = 0;
  const server = createServer({ cert, key }, ({ headers }, response) => {
    presented.push(headers.authorization);
    response.writeHead(503).end();
  });
  server.on("connection", () => (connections += 1));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: urlOf(server), connections: () => connections, presented, stop: () => stop(server) };
}

function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return `https://127.0.0.1:${address.port}`;
}

async function stop(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, "close");
}

/** By what is wrong with their certificate: the names of clusters. */
const WRONG = ["another-authority", "another-name"] as const;
const KINDS = [...WRONG, "nothing"] as const;
type Kind = (typeof KINDS)[number];

let impostors: Record<Kind, Impostor>;
let worker: RunningWorker;
beforeAll(async () => {
  const authority = await createAuthority("trusted");
  impostors = {
    "another-authority": await startImpostor(await createAuthority("another"), "127.0.0.1"),
    "another-name": await startImpostor(authority, "api.other.example.com"),
    nothing: await startImpostor(authority, "127.0.0.1"),
  };
  worker = await startWorker({
    authority,
    clusters: Object.fromEntries(KINDS.map((kind) => [kind, entry(impostors[kind].url)])),
  });
});
afterAll(async () => {
  await worker.stop();
  await Promise.all(KINDS.map((kind) => impostors[kind].stop()));
});

async function evict(kind: Kind): Promise<void> {
  const path = `/clusters/${kind}/admission/evictions?timeout=10s`;
  const answer = await worker.fetch(path, {
    method: "POST",
    headers: asWebhook,
    body: JSON.stringify(evictionReview()),
  });
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ error: { reason: "Undecided" } });
}

test.each(WRONG)("a certificate of %s: 503, and the token does not arrive", async (kind) => {
  await evict(kind);
  expect(impostors[kind].connections()).toBeGreaterThan(0);
  expect(impostors[kind].presented).toEqual([]);
});

test("with the right certificate it would have", async () => {
  await evict("nothing");
  expect(new Set(impostors.nothing.presented)).toEqual(new Set([`Bearer ${TOKENS.token}`]));
});
