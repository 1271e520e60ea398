/** At least once, whatever the Worker answers; over HTTP, in stepped time. */
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Delivery, startDelivery } from "../../../infra/relay/deliver.ts";
import { createOutbox, type Outbox } from "../../../infra/relay/outbox.ts";
import { createSend, type Result, resultOf } from "../../../infra/relay/send.ts";
import { createSteppedClock, type SteppedClock } from "../../../infra/sandbox/index.ts";
import { startHttpServer } from "../../support/stub-server.ts";
import { type Answer, type FakeWorker, SECRET, startFakeWorker, vmiEvent } from "./fake-worker.ts";

interface Line {
  readonly level: string;
  readonly message: string;
  readonly inMs?: number;
  readonly reason?: string;
  readonly id?: string;
}

let clock: SteppedClock;
let worker: FakeWorker;
let outbox: Outbox;
let delivery: Delivery;
let lines: Line[];

function log(level: string, message: string, details: object = {}): void {
  lines.push({ level, message, ...details });
}

function startDelivering(endpoint: URL, gatherMs = 0): Delivery {
  const send = createSend({ endpoint, secret: SECRET, clock, fetch: globalThis.fetch });
  return startDelivery({ outbox, send, clock, random: () => 1, log, gatherMs, onResult: () => undefined });
}

beforeEach(async () => {
  clock = createSteppedClock();
  worker = await startFakeWorker(() => clock.now());
  outbox = createOutbox();
  lines = [];
  delivery = startDelivering(new URL(`${worker.url}/clusters/prod/events`));
});

afterEach(async () => {
  await delivery.stop();
  await worker.stop();
  expect(worker.problems).toEqual([]);
});

const soon = (assertion: () => void) => vi.waitFor(assertion, { interval: 2, timeout: 5_000 });
const settled = () => soon(() => expect(outbox.length).toBe(0));
const putMany = (count: number, version = 1) => {
  for (let i = 0; i < count; i++) delivery.put(vmiEvent(`vm-${i}`, version));
};

const takenIds = () => worker.taken().map(({ id }) => id);

/** The waits that the relay announced, in order. */
const waits = () => lines.flatMap(({ inMs }) => inMs ?? []);

/** Lets one wait pass as soon as it is announced; from then on the Worker answers so. Says how long the wait was. */
function waitPasser(): (then?: Answer) => Promise<number> {
  let passed = 0;
  return async (then) => {
    await soon(() => expect(waits().length).toBeGreaterThan(passed));
    if (then !== undefined) worker.answer(() => then);
    const ms = waits()[passed++] ?? 0;
    clock.advance(ms);
    return ms;
  };
}

describe("a delivery", () => {
  test("has at most 100 events, and there is one at a time", async () => {
    putMany(250);
    await settled();
    expect(worker.attempts.map(({ events }) => events.length)).toEqual([100, 100, 50]);
    expect(takenIds()).toEqual(Array.from({ length: 250 }, (_, i) => `vm-${i}.1`));
    expect(worker.mostAtOnce).toBe(1);
  });
});

test("what may wait for more is sent once, as it is when the time is over", async () => {
  await delivery.stop();
  delivery = startDelivering(new URL(`${worker.url}/clusters/prod/events`), 1000);
  delivery.put(vmiEvent("vm-0", 1));
  await setImmediate();
  clock.advance(999);
  delivery.put(vmiEvent("vm-0", 2));
  clock.advance(1);
  await settled();
  expect(takenIds()).toEqual([vmiEvent("vm-0", 2).id]);
});

describe("an answer", () => {
  // prettier-ignore
  test.each<[number, Result]>([
    [204, "accepted"],
    [400, "refused"],      [413, "refused"],      [422, "refused"],
    [408, "unavailable"],  [429, "unavailable"],  [500, "unavailable"], [502, "unavailable"], [503, "unavailable"],
    [401, "misconfigured"], [403, "misconfigured"], [404, "misconfigured"], [302, "misconfigured"], [200, "misconfigured"],
  ])("%i means %s", (status, result) => {
    expect(resultOf(status)).toBe(result);
  });

  test.each([503, 401])("%i: all of it is sent again, until it is taken", async (code) => {
    worker.answer(() => ({ code, headers: { location: "https://elsewhere.example.com/" } }));
    const pass = waitPasser();
    putMany(3);
    expect([await pass(), await pass(), await pass({ code: 204 })]).toEqual([500, 1_000, 2_000]);
    await settled();
    expect(takenIds().toSorted()).toEqual(["vm-0.1", "vm-1.1", "vm-2.1"]);
    expect(lines.at(-1)?.message).toBe("Lifeboat takes deliveries again");
  });

  test.each([308])("that leads elsewhere (%i) is not followed: nothing arrives there", async (code) => {
    const elsewhere = await startHttpServer((_, response) => void response.writeHead(204).end());
    worker.answer(() => ({ code, headers: { location: `${elsewhere.url}/clusters/prod/events` } }));
    const pass = waitPasser();
    putMany(1);
    await pass({ code: 204 });
    await settled();
    expect(lines[0]).toMatchObject({ level: "error" });
    expect(elsewhere.requests).toEqual([]);
    await elsewhere.stop();
  });

  test("with Retry-After is obeyed, for a minute at most", async () => {
    worker.answer(() => ({ code: 503, headers: { "retry-after": "42" } }));
    const pass = waitPasser();
    putMany(1);
    expect(await pass({ code: 429, headers: { "retry-after": "86400" } })).toBe(42_000);
    expect(await pass()).toBe(60_000);
  });

  test("that does not come is not waited for for ever", async () => {
    const { promise: never, resolve: end } = Promise.withResolvers<{ code: number }>();
    const asked = Promise.withResolvers<void>();
    worker.answer(() => {
      asked.resolve();
      return never;
    });
    putMany(1);
    await asked.promise;
    clock.advance(60_000);
    await soon(() => expect(lines).toMatchObject([{ reason: "no answer within 60000 ms" }]));
    end({ code: 503 });
  });
});

describe("a batch that is refused", () => {
  test("costs only the event that the Worker does not take", async () => {
    worker.answer((events) => ({ code: events.some(({ id }) => id === "vm-70.1") ? 400 : 204 }));
    putMany(200);
    await settled();
    const expected = Array.from({ length: 200 }, (_, i) => `vm-${i}.1`).filter((id) => id !== "vm-70.1");
    expect(takenIds()).toEqual(expected);
    expect(lines.filter(({ level }) => level === "error")).toMatchObject([{ id: "vm-70.1" }]);
    const sizes = worker.attempts.map(({ events }) => events.length);
    expect(Math.max(...sizes.slice(sizes.lastIndexOf(1)))).toBeGreaterThan(50);
  });
});

describe("a Worker that cannot do all of it", () => {
  test("is sent the others while one object is in its way, also what is new", async () => {
    worker.answer((events) => ({ code: events.some(({ id }) => id === "vm-3.1") ? 503 : 204 }));
    putMany(150);
    const expected = Array.from({ length: 150 }, (_, i) => `vm-${i}.1`).filter((id) => id !== "vm-3.1");
    await soon(() => {
      clock.advance(500);
      expect(outbox.length).toBe(1);
    });
    expect(takenIds().toSorted()).toEqual(expected.toSorted());
    delivery.put(vmiEvent("new"));
    await soon(() => {
      clock.advance(500);
      expect(takenIds()).toContain("new.1");
    });
  });
});

test("what has failed once is sent again within six seconds, though others keep coming", async () => {
  let isFirst = true;
  worker.answer(() => {
    const code = isFirst ? 503 : 204;
    isFirst = false;
    return { code };
  });
  putMany(2);
  await soon(() => expect(waits().length).toBe(1));
  const failedAt = clock.now().getTime();
  for (let n = 0; !takenIds().includes("vm-1.1"); n++) {
    delivery.put(vmiEvent(`other-${n}`));
    clock.advance(500);
    await soon(() => expect(takenIds()).toContain(`other-${n}.1`));
  }
  expect(clock.now().getTime() - failedAt).toBeLessThanOrEqual(6000);
});

describe("a Worker that is away for an hour", () => {
  test("costs the newest event of each object, and is told everything within seconds of its return", async () => {
    worker.answer(() => ({ code: 503 }));
    const pass = waitPasser();
    const back = clock.now().getTime() + 3_600_000;
    let version = 0;
    let longest = 0;
    while (clock.now().getTime() < back) {
      putMany(50, ++version);
      longest = Math.max(longest, await pass());
    }
    expect(outbox.length).toBe(50);
    expect(longest).toBe(5_000);
    expect(worker.attempts.length).toBeLessThan(800);

    await pass({ code: 204 });
    await settled();
    expect(takenIds().toSorted()).toEqual(Array.from({ length: 50 }, (_, i) => `vm-${i}.${version}`).toSorted());
  });
});
