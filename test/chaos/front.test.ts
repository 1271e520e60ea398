/** Lifeboat's address: the Worker that answers is asked, and there may be none. */
import { createServer, request, type Server } from "node:https";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Front, startFront } from "../../infra/chaos/front.ts";
import { listenOnLoopback, stopListening } from "../../infra/chaos/listen.ts";
import { type Authority, createAuthority } from "../../infra/sandbox/certificates.ts";

let authority: Authority;
let front: Front;
let worker: Server;
let url: string;
const answers = { hold: false };

beforeAll(async () => {
  authority = await createAuthority("test");
  front = await startFront(authority);
  const { certPem: cert, keyPem: key } = await authority.issue(["127.0.0.1"]);
  worker = createServer({ cert, key }, (asked, answer) => {
    if (answers.hold) return void worker.emit("held");
    void text(asked).then((body) => answer.writeHead(200).end(`${asked.method} ${asked.url} ${body}`));
  });
  url = `https://127.0.0.1:${await listenOnLoopback(worker)}/clusters/a`;
});
afterEach(() => {
  front.answering = () => undefined;
  answers.hold = false;
});
afterAll(async () => {
  await front.stop();
  await stopListening(worker);
});

/** As an API server sends a review; undefined if the connection broke. */
async function review(): Promise<string | undefined> {
  const outgoing = request(`${front.url}/admission/evictions/token?timeout=10s`, {
    method: "POST",
    ca: authority.caPem,
  });
  outgoing.end("review");
  try {
    const [answer] = await once(outgoing, "response");
    return await text(answer);
  } catch {
    return undefined;
  }
}

test("no Worker is there: the connection breaks", async () => {
  expect(await review()).toBeUndefined();
});

test("a review goes to the Worker that answers, as it came", async () => {
  front.answering = () => ({ name: "a", url });
  expect(await review()).toBe("POST /clusters/a/admission/evictions/token?timeout=10s review");
});

test("a Worker that has died answers no more, the others do", async () => {
  front.answering = () => ({ name: "a", url });
  answers.hold = true;
  const held = once(worker, "held");
  const answer = review();
  await held;
  front.drop("b");
  const still = await Promise.race([answer, Promise.resolve("unanswered")]);
  expect(still).toBe("unanswered");
  front.drop("a");
  expect(await answer).toBeUndefined();
});
