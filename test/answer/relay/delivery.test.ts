/** Tests, with a simulated clock, that the relay delivers each event at least once, for any answer of the Worker. */
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Delivery, startDelivery } from "../../../infra/relay/deliver.ts";
import { createOutbox, type Outbox } from "../../../infra/relay/outbox.ts";
import { overHttp, type DeliveryResult, resultOf } from "../../../infra/relay/send.ts";
import { createSteppedClock, type SteppedClock } from "../../../infra/sandbox/index.ts";
import { answered, ENDPOINT, FakeWorker, SECRET, vmiEvent } from "./fake-worker.ts";

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

function startDelivering(gatherMs = 0): Delivery {
  const deliver = overHttp({ endpoint: ENDPOINT, secret: SECRET, clock, fetch: worker.fetch });
  return startDelivery({ outbox, deliver, clock, random: () => 1, log, gatherMs, onResult: () => undefined });
}

beforeEach(() => {
  clock = createSteppedClock();
  worker = new FakeWorker(() => clock.now());
  outbox = createOutbox();
  lines = [];
  delivery = startDelivering();
});
afterEach(async () => {
  await delivery.stop();
  expect(worker.problems).toEqual([]);
});

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await setImmediate();
}

async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  await settle();
}

/** Advances the clock by the wait that the relay logged last. Returns this wait in milliseconds. */
async function wait(): Promise<number> {
  const ms = lines.at(-1)?.inMs ?? 0;
  await pass(ms);
  return ms;
}

async function putMany(count: number, version = 1): Promise<void> {
  for (let i = 0; i < count; i++) delivery.put(vmiEvent(`vm-${i}`, version));
  await settle();
}

const ids = (count: number, version = 1) => Array.from({ length: count }, (_, i) => `vm-${i}.${version}`);
const takenIds = () => worker.taken.map(({ id }) => id);

// prettier-ignore
test.each<[number, DeliveryResult]>([
  [204, "accepted"],
  [400, "refused"],      [413, "refused"],      [422, "refused"],
  [408, "unavailable"],  [429, "unavailable"],  [500, "unavailable"], [502, "unavailable"], [503, "unavailable"],
  [401, "misconfigured"], [403, "misconfigured"], [404, "misconfigured"], [302, "misconfigured"], [200, "misconfigured"],
])("the answer %i means %s", (status, result) => {
  expect(resultOf(status)).toBe(result);
});

test("a delivery has at most 100 events, and one delivery runs at a time", async () => {
  await putMany(250);
  expect(worker.attempts.map(({ events }) => events.length)).toEqual([100, 100, 50]);
  expect(takenIds()).toEqual(ids(250));
});

test("an event that is not urgent is sent once, with its state at the end of the wait", async () => {
  await delivery.stop();
  delivery = startDelivering(1000);
  await putMany(1);
  await pass(999);
  await putMany(1, 2);
  expect(takenIds()).toEqual([]);
  await pass(1);
  expect(takenIds()).toEqual(["vm-0.2"]);
});

test.each([
  [503, "warn"],
  [401, "error"],
])("after the answer %i all events are sent again until they are accepted", async (code, level) => {
  worker.answer = () => answered(code, { location: "https://elsewhere.example.com/" });
  await putMany(3);
  expect(lines[0]).toMatchObject({ level });
  expect([await wait(), await wait()]).toEqual([500, 1_000]);
  worker.answer = () => answered(204);
  expect(await wait()).toBe(2_000);
  expect(takenIds().toSorted()).toEqual(ids(3));
  expect(lines.at(-1)?.message).toBe("Lifeboat accepts deliveries again");
});

test("Retry-After is obeyed, for at most a minute", async () => {
  worker.answer = () => answered(503, { "retry-after": "42" });
  await putMany(1);
  worker.answer = () => answered(429, { "retry-after": "86400" });
  expect([await wait(), await wait()]).toEqual([42_000, 60_000]);
});

test("a missing answer times out after a minute", async () => {
  worker.answer = () => new Promise(() => undefined);
  await putMany(1);
  await pass(60_000);
  expect(lines).toMatchObject([{ reason: "no answer within 60000 ms" }]);
});

test("a refused batch loses only the event that the Worker refuses", async () => {
  worker.answer = (events) => answered(events.some(({ id }) => id === "vm-70.1") ? 400 : 204);
  await putMany(200);
  expect(takenIds()).toEqual(ids(200).filter((id) => id !== "vm-70.1"));
  expect(lines.filter(({ level }) => level === "error")).toMatchObject([{ id: "vm-70.1" }]);
  const sizes = worker.attempts.map(({ events }) => events.length);
  expect(Math.max(...sizes.slice(sizes.lastIndexOf(1)))).toBeGreaterThan(50);
});

test("while the Worker fails on one object, it gets all other objects, new objects included", async () => {
  worker.answer = (events) => answered(events.some(({ id }) => id === "vm-3.1") ? 503 : 204);
  await putMany(150);
  for (let n = 0; n < 100 && outbox.length > 1; n++) await pass(500);
  expect(takenIds().toSorted()).toEqual(
    ids(150)
      .filter((id) => id !== "vm-3.1")
      .toSorted(),
  );
  // After these 30 seconds, the relay has reached its longest back-off, and retries every five seconds.
  for (let seconds = 0; seconds < 30; seconds++) await pass(1000);
  delivery.put(vmiEvent("new"));
  await pass(500);
  expect(takenIds()).toContain("new.1");
});

test("a failed event is sent again within six seconds, although new events arrive", async () => {
  worker.answer = () => answered(503);
  await putMany(2);
  worker.answer = () => answered(204);
  for (let n = 0; n < 12; n++) {
    delivery.put(vmiEvent(`other-${n}`));
    await pass(500);
    expect(takenIds()).toContain(`other-${n}.1`);
  }
  expect(takenIds()).toEqual(expect.arrayContaining(ids(2)));
});

test("after an hour without the Worker, the relay delivers the newest event of each object", async () => {
  worker.answer = () => answered(503);
  const back = clock.now().getTime() + 3_600_000;
  let version = 0;
  let longest = 0;
  while (clock.now().getTime() < back) {
    await putMany(50, ++version);
    longest = Math.max(longest, await wait());
  }
  expect(outbox.length).toBe(50);
  expect(longest).toBe(5_000);
  expect(worker.attempts.length).toBeLessThan(800);
  worker.answer = () => answered(204);
  for (let seconds = 0; seconds < 10; seconds++) await pass(1000);
  expect(takenIds().toSorted()).toEqual(ids(50, version).toSorted());
});
