/** When what is new is delivered while something else fails: what has failed waits longer each time, and nothing waits for it. */
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Delivery, startDelivery } from "../../infra/relay/deliver.ts";
import { createOutbox, type Outbox } from "../../infra/relay/outbox.ts";
import type { Outcome } from "../../infra/relay/send.ts";
import { createSteppedClock, type SteppedClock } from "../../infra/sandbox/actors/clock.ts";
import { vmiEvent } from "./fake-worker.ts";

const ACCEPTED: Outcome = { result: "accepted", status: 204 };
const FAILED: Outcome = { result: "unavailable", status: 503 };

let clock: SteppedClock;
let outbox: Outbox;
let delivery: Delivery;
let sent: (readonly string[])[];
let answer: (names: readonly string[]) => Outcome;

/** Everything that can happen without time has happened. */
const turn = () => setImmediate();
const pass = async (seconds: number) => {
  clock.advance(seconds * 1000);
  await turn();
};
const put = async (...names: readonly string[]) => {
  for (const name of names) delivery.put(vmiEvent(name));
  await turn();
};
/** What is sent from now on. */
const fresh = () => sent.splice(0) && sent;
const failing = (...bad: readonly string[]) => {
  answer = (names) => (names.some((name) => bad.includes(name)) ? FAILED : ACCEPTED);
};

beforeEach(() => {
  [clock, outbox, sent] = [createSteppedClock(), createOutbox(), []];
  answer = () => ACCEPTED;
  delivery = startDelivery({
    outbox,
    clock,
    send: async (events) => {
      const names = events.map(({ subject }) => subject?.slice("vms/".length) ?? "");
      sent.push(names);
      return answer(names);
    },
    random: () => 1,
    log: () => undefined,
    onResult: () => undefined,
  });
});
afterEach(() => delivery.stop());

/** An event that has failed for a minute. */
async function givenOneThatFails(outcome = FAILED) {
  answer = (names) => (names.includes("bad") ? outcome : ACCEPTED);
  await put("bad");
  for (let second = 0; second < 60; second++) await pass(1);
  return fresh();
}

// prettier-ignore
test.each<[string, seconds: number, Outcome]>([
  ["a 503, which may be about that one only",  0,  FAILED],
  ["a 429",                                    0,  { result: "unavailable", status: 429 }],
  ["a 503 with Retry-After: 20",               20, { result: "unavailable", status: 503, retryAfterMs: 20_000 }],
  ["no answer",                                15, { result: "unavailable", reason: "ECONNREFUSED" }],
  ["a 401: the configuration is wrong",        15, { result: "misconfigured", status: 401 }],
])("one event gets %s: a new one is sent within %i s", async (_, seconds, outcome) => {
  const since = await givenOneThatFails(outcome);
  await put("good");
  expect(since.flat().includes("good")).toBe(seconds === 0);
  await pass(seconds);
  expect(since.flat()).toContain("good");
});

describe("beside an event that fails again and again", () => {
  test("a new one is sent at once, alone", async () => {
    const since = await givenOneThatFails();
    await put("good");
    expect(since).toEqual([["good"]]);
    expect(outbox.length).toBe(1);
  });

  test("so is each of many", async () => {
    const since = await givenOneThatFails();
    for (let i = 0; i < 10; i++) await put(`good-${i}`);
    expect(since).toEqual(Array.from({ length: 10 }, (_, i) => [`good-${i}`]));
  });

  test("the one that fails is not sent more often for that", async () => {
    const since = await givenOneThatFails();
    for (let second = 0; second < 60; second++) {
      await put(`good-${second}`);
      await pass(1);
    }
    expect(since.filter((names) => names.includes("bad")).length).toBeLessThanOrEqual(5);
  });

  test("nor if its object changes all the time", async () => {
    const since = await givenOneThatFails();
    for (let second = 0; second < 60; second++) {
      delivery.put(vmiEvent("bad", second + 2));
      await pass(1);
    }
    expect(since.length).toBeLessThanOrEqual(5);
  });

  test("a new one that fails once is sent again after half a second", async () => {
    const since = await givenOneThatFails();
    await put("good");
    failing("bad", "late");
    await put("late");
    failing("bad");
    await pass(0.5);
    expect(since).toEqual([["good"], ["late"], ["late"], ["bad"]]);
  });
});

describe("where everything fails", () => {
  test("new events wait as long as what has failed: the Worker is asked a few times a minute", async () => {
    answer = () => FAILED;
    for (let second = 0; second < 600; second++) {
      await put(`vm-${second}`);
      await pass(1);
    }
    expect(sent.length).toBeLessThan(2 * 50);
    expect(outbox.length).toBe(600);
  });

  test("all of it is delivered as soon as anything is taken", async () => {
    answer = () => FAILED;
    for (let second = 0; second < 60; second++) {
      await put(`vm-${second}`);
      await pass(1);
    }
    answer = () => ACCEPTED;
    await pass(15);
    expect(outbox.length).toBe(0);
  });
});
