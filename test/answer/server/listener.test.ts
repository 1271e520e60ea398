/** Tests how long the server's listener keeps connections open, and how the listener closes. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { connect } from "node:tls";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { makeCertificate } from "../../../infra/cli/install/make-certificate.ts";
import { type AnswerRequest, listen, type Pair } from "../../../infra/server/listener.ts";
import { systemClock } from "../../../infra/relay/clock.ts";
import { createSteppedClock } from "../../../infra/sandbox/index.ts";

const WHEN = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };

let pair: Pair;
beforeAll(async () => {
  pair = await makeCertificate("lifeboat.test", WHEN);
});

async function open(answer: AnswerRequest) {
  const listener = await listen(answer, 0, pair);
  const agent = new Agent({ keepAlive: true });
  onTestFinished(async () => {
    agent.destroy();
    await listener.close(systemClock);
  });
  const ask = (ca = pair.certPem, path = "/clusters/local/metrics") =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const options = { host: "localhost", port: listener.port, path, ca, agent };
      request(options).on("response", resolve).on("error", reject).end();
    }).then((response) => {
      response.resume();
      return response.headers;
    });
  return { listener, ask };
}

const ok: AnswerRequest = () => new Response("ok");

test("an idle connection outlives kube-apiserver's 90 s, so no review meets a closing connection", async () => {
  const { ask } = await open(ok);
  const [, seconds] = /timeout=(\d+)/.exec(String((await ask())["keep-alive"])) ?? [];
  expect(Number(seconds)).toBeGreaterThan(90);
});

test("a connection is closed after a request without a valid token", async () => {
  const { ask } = await open(ok);
  expect((await ask(undefined, "/healthz")).connection).toBe("close");
  const refusing = await open(() => new Response("who?", { status: 401 }));
  expect((await refusing.ask()).connection).toBe("close");
});

test("the listener ends after all answers and the work that follows them", async () => {
  const [held, after] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const started = Promise.withResolvers<void>();
  const { listener, ask } = await open(async (_, context) => {
    started.resolve();
    await held.promise;
    context.waitUntil(after.promise);
    return new Response("ok");
  });
  const answer = ask();
  await started.promise;
  let isClosed = false;
  const closed = listener.close(systemClock).then(() => (isClosed = true));
  held.resolve();
  expect((await answer)["content-type"]).toContain("text/plain");
  expect(isClosed).toBe(false);
  after.resolve();
  await closed;
});

test("a connection has at most two requests at the same time", async () => {
  let asked = 0;
  const never = new Promise<Response>(() => undefined);
  const { listener } = await open((): Promise<Response> => {
    asked += 1;
    return never;
  });
  const client = connect({ host: "localhost", port: listener.port, ca: pair.certPem }).on("error", () => undefined);
  await once(client, "secureConnect");
  client.write("GET /clusters/local/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100));
  await once(client, "close");
  expect(asked).toBe(2);
});

// prettier-ignore
test.each([
  // a client                    has sent
  ["sends nothing",              ""],
  ["is in the middle of a head", "POST /clusters/local HTTP/1.1\r\nHost: local"],
  ["is in the middle of a body", "POST /clusters/local HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"],
])("the listener ends although a client %s", async (_, sent) => {
  const arrived = Promise.withResolvers<void>();
  const { listener, ask } = await open(async (request) => {
    if (request.method === "POST") arrived.resolve();
    return new Response(await request.text());
  });
  const client = connect({ host: "localhost", port: listener.port, ca: pair.certPem }).on("error", () => undefined);
  onTestFinished(() => void client.destroy());
  await once(client, "secureConnect");
  client.write(sent);
  // Waits until the client's bytes have arrived at the server.
  await (sent.includes("{") ? arrived.promise : ask());
  const clock = createSteppedClock();
  const closed = listener.close(clock);
  clock.advance(10_000);
  await closed;
});

test("new connections get a renewed certificate", async () => {
  const { listener, ask } = await open(ok);
  const renewed = await makeCertificate("lifeboat.test", {
    ...WHEN,
    notBefore: new Date(WHEN.notBefore.getTime() + 1),
  });
  listener.present(renewed);
  await ask(renewed.certPem);
  await expect(ask()).rejects.toThrow("self-signed certificate");
});

// prettier-ignore
test.each<[method: string, body: string, code: number]>([
  ["POST",   "short",    200],
  ["POST",   "too long", 413],
  // Node.js sends this DELETE without a Content-Length and without a Transfer-Encoding.
  ["DELETE", "",         200],
])("a %s without a length, with the body %j, is answered with %d", async (method, body, code) => {
  const app = new Hono().use(bodyLimit({ maxSize: 5 })).all("*", async (c) => c.text(await c.req.text()));
  const { listener } = await open((request) => app.fetch(request));
  const to = { host: "localhost", port: listener.port, path: "/signin", method, ca: pair.certPem, agent: false };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sending = request(to, resolve).on("error", reject);
    if (body !== "") sending.write(body);
    sending.end();
  });
  expect(response.statusCode).toBe(code);
  const text = Buffer.concat(await response.toArray()).toString();
  if (code === 200) expect(text).toBe(body);
});
