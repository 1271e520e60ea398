/** Tests that the bundled Worker in workerd sends no token to a server that impersonates an API server. */
import { once } from "node:events";
import { createServer } from "node:https";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/mini";
import { type Authority, createAuthority } from "../../infra/sandbox/index.ts";
import { type RunningWorker, startWorker } from "../../infra/lab/stage/worker.ts";
import { asWebhook, entry, TOKENS } from "../support/app.ts";
import { evictionReview } from "../support/reviews.ts";

interface Impostor {
  readonly url: string;
  connections(): number;
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
  server.on("connection", () => (connections += 1)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const stop = () => {
    server.close();
    server.closeAllConnections();
    return once(server, "close");
  };
  return { url: `https://127.0.0.1:${port}`, connections: () => connections, presented, stop };
}

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

test.each(WRONG)("given a certificate of %s, the Worker answers 503 and sends no token", async (kind) => {
  await evict(kind);
  expect(impostors[kind].connections()).toBeGreaterThan(0);
  expect(impostors[kind].presented).toEqual([]);
});

test("given the right certificate, the Worker sends the token", async () => {
  await evict("nothing");
  expect(new Set(impostors.nothing.presented)).toEqual(new Set([`Bearer ${TOKENS.token}`]));
});
