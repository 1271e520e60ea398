/**
 * Tests a thousand connections without a token that never finish their requests. The connections need little memory,
 * and Lifeboat still answers reviews.
 * @module-tag nightly
 */
import { once } from "node:events";
import { Agent } from "node:https";
import { connect as connectPlainly, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { connect } from "node:tls";
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
const VMS = 40;
const LONG = { timeout: 60_000 };
const RUNNING = { type: "merge", body: { status: { phase: "Running" } } } as const;

let api: MeasuredApiServer;
let server: ImageServer;
const reviews: string[] = [];
const sockets: Socket[] = [];

beforeAll(async () => {
  api = await startMeasuredApiServer();
  await installLifeboat(api.client, {});
  await applyInCluster(api.client);
  await createPlaces(api.client, 0, VMS);
  for (const { metadata } of await createLaunchers(api.client, await createVms(api.client, 0, VMS))) {
    const { namespace = "", name } = metadata;
    reviews.push(reviewOf({ namespace, name }));
    await api.client.patch(pods, { namespace, name }, RUNNING, { subresource: "status" });
  }
  server = await startImageServer(api);
}, LONG.timeout);
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  await server.stop();
  await api.stop();
});

function review(body: string) {
  return server.review(body, new Agent({ keepAlive: false, rejectUnauthorized: false }));
}

async function open(socket: Socket, opened: string): Promise<void> {
  sockets.push(socket.on("error", () => undefined).on("data", () => undefined));
  await Promise.race([once(socket, opened), once(socket, "close")]);
}

const openPlainly = () => open(connectPlainly(server.port, "127.0.0.1"), "connect");

async function begin(sent = ""): Promise<void> {
  const socket = connect({ port: server.port, host: "127.0.0.1", rejectUnauthorized: false });
  await open(socket, "secureConnect");
  socket.write(sent);
}

const nearlyAll = (path: string, type: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: same-origin\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n${"x".repeat(length - 1)}`;
const DELIVERY = nearlyAll("/clusters/local/events", "application/cloudevents-batch+json", 1_000_000);
const REVIEW = nearlyAll("/clusters/local/admission/deletions/guessed", "application/json", 1_000_000);
const FORM = nearlyAll("/signin", "application/x-www-form-urlencoded", 16_000);

/**
 * The maximum memory of a replica in MB. `AT_ONCE` applies if Lifeboat closes these connections at once.
 * `AFTER_A_WHILE` applies if Lifeboat waits for the rest of the requests. The container's limit is 512 MB.
 */
const [AT_ONCE, AFTER_A_WHILE] = [200, 256];

// prettier-ignore
test.each<[string, number, () => Promise<void>]>([
  ["the relay's endpoint",       AT_ONCE,       () => begin(DELIVERY)],
  ["a review's endpoint",        AT_ONCE,       () => begin(REVIEW)],
  ["the page's form",            AFTER_A_WHILE, () => begin(FORM)],
  ["nothing, over TLS",          AFTER_A_WHILE, () => begin()],
  ["nothing, not even over TLS", AFTER_A_WHILE, openPlainly],
])(`${STRANGERS} connections to %s: less than %d MB, and reviews are answered`, LONG, async (_, most, connectOne) => {
  let peak = 0;
  for (let count = 1; count <= STRANGERS; count++) {
    await connectOne();
    if (count % 100 === 0) peak = Math.max(peak, await server.memory());
    if (count % 200 === 0) checkAnswer("first", await review(reviews.pop() ?? expect.fail()));
  }
  expect(peak).toBeLessThan(most);
});

test("no connection is closed while a drain of many VMs opens new ones", LONG, async () => {
  const [body = ""] = reviews;
  const answers: ReturnType<typeof review>[] = [];
  for (let count = 0; count < 400; count++) {
    answers.push(review(body));
    // Lets the other connections progress, so that none of them becomes idle.
    await setImmediate();
  }
  expect(new Set((await Promise.all(answers)).map(({ code }) => code))).toEqual(new Set([200]));
});

test("connections that send nothing are closed", LONG, async () => {
  for (let count = 0; count < 20; count++) await begin();
  await Promise.all(sockets.filter(({ closed }) => !closed).map((socket) => once(socket, "close")));
});
