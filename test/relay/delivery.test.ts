/** At least once, whatever the Worker answers; over HTTP, in stepped time. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startDelivery, type Delivery } from "../../infra/relay/deliver.ts";
import { createOutbox, type Outbox } from "../../infra/relay/outbox.ts";
import { createSend, resultOf } from "../../infra/relay/send.ts";
import { createSigner } from "../../infra/relay/sign.ts";
import { createSteppedClock, type SteppedClock } from "../../infra/sandbox/actors/clock.ts";
import { type FakeWorker, SECRET, startFakeWorker, vmiEvent } from "./fake-worker.ts";

let clock: SteppedClock;
let worker: FakeWorker;
let outbox: Outbox;
let delivery: Delivery;
let lines: { readonly level: string; readonly message: string; readonly details: Readonly<Record<string, unknown>> }[];

beforeEach(async () => {
  clock = createSteppedClock();
  worker = await startFakeWorker(() => clock.now());
  outbox = createOutbox();
  lines = [];
  const endpoint = new URL(`${worker.url}/clusters/prod/events`);
  const send = createSend({ endpoint, sign: createSigner(SECRET), clock, fetch: globalThis.fetch });
  delivery = startDelivery({
    outbox,
    send,
    clock,
    random: () => 1,
    log: (level, message, details = {}) => lines.push({ level, message, details }),
    onResult: () => undefined,
  });
});

afterEach(async () => {
  await delivery.stop();
  await worker.stop();
  expect(worker.problems).toEqual([]);
});

const delivered = () => vi.waitFor(() => expect(outbox.length).toBe(0));
const attempts = (count: number) => vi.waitFor(() => expect(worker.attempts).toHaveLength(count));
const putMany = (count: number) => {
  for (let i = 0; i < count; i++) delivery.put(vmiEvent(`vm-${i}`));
};
/** Passes time until the next attempt; says how much it took. */
async function untilNextAttempt(): Promise<number> {
  const { length } = worker.attempts;
  const logged = lines.length;
  let ms = 0;
  await vi.waitFor(() => expect(lines.length).toBeGreaterThanOrEqual(Math.min(logged, length)));
  while (worker.attempts.length === length && ms < 100_000) {
    clock.advance(250);
    ms += 250;
    await new Promise(setImmediate);
  }
  return ms;
}

describe("a delivery", () => {
  test("goes to the events route of the cluster, signed", async () => {
    delivery.put(vmiEvent("web-1"));
    await delivered();
    expect(worker.attempts).toMatchObject([{ path: "/clusters/prod/events", events: [vmiEvent("web-1")] }]);
  });
});
