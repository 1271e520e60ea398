/**
 * Strangers in the cluster: a thousand connections that never finish take little memory, and reviews are answered meanwhile.
 * @module-tag nightly
 */
import { Agent } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "node:tls";
import { connect as connectPlainly, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import {
  installLifeboat,
  type MeasuredApiServer,
  startMeasuredApiServer,
} from "../../../infra/lab/bench/api-server.ts";
import { type ImageServer, startImageServer } from "../../../infra/lab/bench/image-server.ts";
import { createLaunchers, createPlaces, createVms } from "../../../infra/lab/bench/population.ts";
import { checkAnswer, reviewOf } from "../../../infra/lab/bench/reviews.ts";
import { pods } from "../../../infra/sandbox/index.ts";
import { applyInCluster } from "../../../infra/lab/stage/in-cluster.ts";

const STRANGERS = 1000;
/** As long as the API server waits. */
const PATIENCE_MS = 10_000;
const VMS = 40;
const BODY_BYTES = 1_000_000;

let api: MeasuredApiServer;
let server: ImageServer;
const launchers: { readonly namespace: string; readonly name: string }[] = [];
const sockets: Socket[] = [];

beforeAll(async () => {
  api = await startMeasuredApiServer();
  await installLifeboat(api.client, {});
  await applyInCluster(api.client);
  await createPlaces(api.client, 0, VMS);
  for (const { metadata } of await createLaunchers(api.client, await createVms(api.client, 0, VMS))) {
    const { namespace = "", name } = metadata;
    launchers.push({ namespace, name });
    await api.client.patch(pods, { namespace, name }, RUNNING, { subresource: "status" });
  }
  server = await startImageServer(api);
}, 60_000);
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  await server.stop();
  await api.stop();
});

const RUNNING = { type: "merge", body: { status: { phase: "Running" } } } as const;

/** Of a first eviction, over a connection of its own; in milliseconds. */
async function reviewed(launcher: (typeof launchers)[number]): Promise<number> {
  const agent = new Agent({ keepAlive: false, rejectUnauthorized: false });
  const answer = await server.review(reviewOf(launcher), agent);
  checkAnswer("first", answer);
  return answer.ms;
}

const post = (path: string, length: number, type = "application/json") =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: same-origin\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`;

/** What a stranger sends, of something that never ends. */
const all = (head: string, body = Buffer.alloc(0)) => {
  const socket = connect({ port: server.port, host: "127.0.0.1", rejectUnauthorized: false });
  socket.on("secureConnect", () => {
    socket.write(head);
    socket.write(body);
  });
  return socket;
};
const MOST_OF_IT = Buffer.alloc(BODY_BYTES - 1, "x");
const FORM = "application/x-www-form-urlencoded";

/** What Lifeboat does not wait for at all, and what it waits for a while. Of the 512 MB that a replica may take. */
const [AT_ONCE, AFTER_A_WHILE] = [200, 256];

// prettier-ignore
test.each<[string, number, () => Socket]>([
  ["the relay's door",           AT_ONCE,       () => all(post("/clusters/local/events", BODY_BYTES, "application/cloudevents-batch+json"), MOST_OF_IT)],
  ["a review's door",            AT_ONCE,       () => all(post("/clusters/local/admission/deletions/guessed", BODY_BYTES), MOST_OF_IT)],
  ["the page's form",            AFTER_A_WHILE, () => all(post("/signin", 16_000, FORM), MOST_OF_IT.subarray(0, 15_000))],
  ["nothing, over TLS",          AFTER_A_WHILE, () => all("")],
  ["nothing, not even over TLS", AFTER_A_WHILE, () => connectPlainly(server.port, "127.0.0.1")],
])(`${STRANGERS} connections to %s: less than %d MB`, { timeout: 60_000 }, async (_, most, open) => {
  let peak = 0;
  const times: number[] = [];
  for (let count = 1; count <= STRANGERS; count++) {
    sockets.push(open().on("error", () => undefined).on("data", () => undefined));
    if (count % 20 === 0) await delay(20);
    if (count % 100 === 0) peak = Math.max(peak, await server.memory());
    const launcher = count % 200 === 0 ? launchers.pop() : undefined;
    if (launcher !== undefined) times.push(await reviewed(launcher));
  }
  expect(times).toHaveLength(STRANGERS / 200);
  expect(Math.max(...times)).toBeLessThan(PATIENCE_MS);
  expect(peak).toBeLessThan(most);
});

test(
  "of new connections as a drain of many VMs brings them, while the server is busy, none is ended",
  { timeout: 60_000 },
  async () => {
    const [launcher] = launchers;
    if (launcher === undefined) throw new Error("no launcher is left");
    const answers: Promise<{ readonly code: number }>[] = [];
    for (let count = 0; count < 400; count++) {
      const agent = new Agent({ keepAlive: false, rejectUnauthorized: false });
      answers.push(server.review(reviewOf(launcher), agent));
      await delay(2);
    }
    expect(new Set((await Promise.all(answers)).map(({ code }) => code))).toEqual(new Set([200]));
  },
);

test("those that send nothing are gone within seconds", { timeout: 30_000 }, async () => {
  for (let count = 0; count < 20; count++)
    sockets.push(
      all("")
        .on("error", () => undefined)
        .on("data", () => undefined),
    );
  await expect.poll(() => sockets.filter(({ destroyed }) => !destroyed).length, { timeout: 20_000 }).toBe(0);
});
