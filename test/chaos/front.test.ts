/** Lifeboat's address, and its Service: who answers is asked, and there may be nothing there. */
import { createServer, request, type Server } from "node:https";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Front, startFront } from "../../infra/chaos/front.ts";
import { startPassage } from "../../infra/chaos/passage.ts";
import { listenOnLoopback, stopListening } from "../../infra/chaos/listen.ts";
import { type Authority, createAuthority } from "../../infra/sandbox/certificates.ts";

let authority: Authority;
let worker: Server;
let url: string;
const answers = { hold: false };

beforeAll(async () => {
  authority = await createAuthority("test");
  const { certPem: cert, keyPem: key } = await authority.issue(["127.0.0.1"]);
  worker = createServer({ cert, key }, (asked, answer) => {
    if (answers.hold) return void worker.emit("held");
    void text(asked).then((body) => answer.writeHead(200).end(`${asked.method} ${asked.url} ${body}`));
  });
  url = `https://127.0.0.1:${await listenOnLoopback(worker)}/clusters/a`;
});
afterAll(() => stopListening(worker));

const ADDRESSES: readonly (readonly [string, () => Promise<Front>, door: string])[] = [
  ["an address before Workers", () => startFront(authority), "/clusters/a"],
  ["a Service before replicas, whose TLS stays closed", startPassage, ""],
];

describe.each(ADDRESSES)("%s", (_, start, door) => {
  let front: Front;
  beforeAll(async () => {
    front = await start();
  });
  afterEach(() => {
    front.answering = () => undefined;
    answers.hold = false;
  });
  afterAll(() => front.stop());

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

  test("nothing is there: the connection breaks", async () => {
    expect(await review()).toBeUndefined();
  });

  test("a review goes to the one that answers, as it came", async () => {
    front.answering = () => ({ name: "a", url });
    expect(await review()).toBe(`POST ${door}/admission/evictions/token?timeout=10s review`);
  });

  test("one that has died answers no more, the others do", async () => {
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
});
