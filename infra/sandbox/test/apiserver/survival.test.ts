/** Tests that the server survives failing requests, watches and connections. */
import { once } from "node:events";
import { connect } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createSteppedClock } from "../../actors/clock.ts";
import { Renderer } from "../../apiserver/representation.ts";
import { envelope, Hook } from "../contract/hook.ts";
import { configure, REVIEW } from "./webhook.ts";
import { ADMIN_TOKEN, type Started, start } from "./started.ts";

const MAPS = "/api/v1/namespaces/default/configmaps";

const END_OF_STREAM = /\r\n0\r\n\r\n$/;

const clock = createSteppedClock();
let watches = 0;
const setTimer: typeof clock.setTimer = (ms, fn) => {
  watches += 1;
  return clock.setTimer(ms, fn);
};
let started: Started;
beforeAll(async () => {
  started = await start({ now: () => clock.now(), setTimer });
});
afterAll(() => started.stop());
beforeEach(() => vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(async () => {
  vi.restoreAllMocks();
  expect((await started.admin.send({ method: "GET", path: "/livez" })).text).toBe("ok");
});

const create = (metadata: unknown, data = {}) =>
  started.admin.send({ method: "POST", path: MAPS, body: { metadata, data } });
const name = (prefix: string) => ({ generateName: `${prefix}-` });

describe("a webhook's answer that Node.js cannot send", () => {
  const hook = new Hook();
  beforeAll(async () => {
    await hook.start();
    await configure(started, hook, {});
  });
  afterAll(async () => {
    const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/default";
    await started.admin.send({ method: "DELETE", path });
    hook.stop();
  });

  test.each([
    [500, "warnings that are not texts", { allowed: true, warnings: [5, null] }],
    [500, "an invalid status code", { allowed: false, status: { code: 1000 } }],
    [
      500,
      "an invalid retryAfterSeconds",
      { allowed: false, status: { code: 429, details: { retryAfterSeconds: "a\r\nb" } } },
    ],
    [400, "a status code that is not a number", { allowed: false, status: { code: "many" } }],
  ])("becomes an error with the code %i: %s", async (code, _title, response) => {
    hook.replies = { [REVIEW]: { body: envelope(JSON.stringify({ uid: "<review>", ...response })) } };
    expect((await create(name("hooked"))).body).toMatchObject({ kind: "Status", status: "Failure", code });
  });
});

function say(text: string): TLSSocket {
  const options = { port: started.server.port, host: "127.0.0.1", ca: started.authority.caPem };
  const client = connectTls(options).setEncoding("latin1");
  client.write(text.replace("AUTHORIZED", `HTTP/1.1\r\nhost: it\r\nauthorization: Bearer ${ADMIN_TOKEN}`));
  return client;
}

async function readUntil(client: TLSSocket, end: RegExp): Promise<string> {
  let all = "";
  for await (const part of client.iterator({ destroyOnReturn: false })) {
    all += String(part);
    if (end.test(all.slice(-1000))) break;
  }
  return all;
}

describe("watches", () => {
  test("a watch that fails to send an event is closed, and the write and all other watches succeed", async () => {
    const { body } = await started.admin.send({ method: "GET", path: MAPS });
    const path = `${MAPS}?watch=true&timeoutSeconds=5&resourceVersion=${Object(body.metadata).resourceVersion}`;
    const rendered = vi.spyOn(Renderer.prototype, "event").mockImplementationOnce(() => {
      throw new Error("a bug");
    });
    const ends = Promise.allSettled([1, 2, 3].map(() => started.admin.send({ method: "GET", path })));
    expect((await create(name("watched"))).code).toBe(201);
    await expect.poll(() => rendered.mock.calls.length).toBe(3);
    clock.advance(5000);
    const seen = (await ends).map((end) =>
      end.status === "fulfilled" ? String(end.value.text.includes("watched-")) : "broken",
    );
    expect(seen.toSorted((a, b) => a.localeCompare(b))).toEqual(["broken", "true", "true"]);
  });

  test("a watch whose client has stopped reading ends after timeoutSeconds, and other clients can write", async () => {
    const before = watches;
    const client = say(`GET ${MAPS}?watch=true&timeoutSeconds=5 AUTHORIZED\r\n\r\n`);
    await expect.poll(() => watches).toBe(before + 1);
    for (let i = 0; i < 10; i++) expect((await create(name("large"), { key: "x".repeat(1_000_000) })).code).toBe(201);
    clock.advance(5000);
    for (let i = 0; i < 3; i++) expect((await create(name("after"))).code).toBe(201);
    expect(await readUntil(client, END_OF_STREAM)).not.toContain("after-");
  });

  // Node.js fires a timer of more than 25 days immediately.
  test.each(["0", "99999999", "61"])(
    "a watch with timeoutSeconds=%s lasts longer than a minute, and gets a bookmark",
    async (seconds) => {
      const before = watches;
      const query = `watch=true&fieldSelector=metadata.name=none&allowWatchBookmarks=true&timeoutSeconds=${seconds}`;
      const client = say(`GET ${MAPS}?${query} AUTHORIZED\r\n\r\n`);
      await expect.poll(() => watches).toBe(before + 1);
      clock.advance(60_000);
      expect(await readUntil(client, /"BOOKMARK".*\n/)).not.toMatch(END_OF_STREAM);
      await expect.poll(() => watches).toBe(before + 2);
      clock.advance(1000);
      if (seconds === "61") expect(await readUntil(client, END_OF_STREAM)).toContain('"BOOKMARK"');
      client.destroy();
    },
  );
});

test.each([
  ["without TLS", "GET / HTTP/1.1\r\n\r\n"],
  ["during a handshake", "\u0016\u0003\u0001\u0002\0"],
])("a broken connection %s affects no other connection", async (_title, bytes) => {
  const client = connect(started.server.port, "127.0.0.1").on("error", () => undefined);
  await once(client, "connect");
  client.write(bytes, () => client.resetAndDestroy());
  await once(client, "close");
});

test.each([
  ["that is not HTTP", "hello\r\n\r\n", "400"],
  ["with a path that no URL can have", "GET // AUTHORIZED\r\n\r\n", "500"],
  ["with an unknown expectation", "GET /livez AUTHORIZED\r\nexpect: more\r\n\r\n", "417"],
])("a request %s is answered with an error", async (_title, text, code) => {
  const client = say(text);
  const [answer] = await once(client, "data");
  expect(String(answer)).toMatch(new RegExp(`^HTTP/1.1 ${code} `));
  client.destroy();
});
