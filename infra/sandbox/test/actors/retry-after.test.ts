/** Tests which answers make a client retry its request. */
import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import type { Clock } from "../../actors/clock.ts";
import { withRetryAfter, type RetryOptions } from "../../actors/retry-after.ts";
import type { Transport } from "../../actors/transport.ts";

const START = Date.parse("2026-01-01T00:00:00Z");
const DELETE = { method: "DELETE", path: "/" } as const;

function createWaitingClock(): Clock {
  let time = START;
  return {
    now: () => new Date(time),
    setTimer(ms, fn) {
      queueMicrotask(() => {
        time += ms;
        fn();
      });
      return () => undefined;
    },
  };
}

function client(
  answers: (request: number) => Pick<IncomingMessage, "statusCode" | "headers">,
  more: Partial<RetryOptions> = {},
) {
  const clock = createWaitingClock();
  let requests = 0;
  const transport: Transport = {
    send: async () => ({ resume: () => undefined, ...answers(++requests) }) as unknown as IncomingMessage,
    close: () => undefined,
  };
  const { signal } = new AbortController();
  return {
    ...withRetryAfter(transport, { clock, signal, ...more }),
    requests: () => requests,
    seconds: () => (clock.now().getTime() - START) / 1_000,
  };
}

// prettier-ignore
test.each<[what: string, code: number, retryAfter: string | undefined, requests: number, seconds: number]>([
  ["is repeated after the seconds in Retry-After",                    429, "5",                             11, 50],
  ["is repeated at once if Retry-After is 0",                         429, "0",                             11,  0],
  ["is not repeated if Retry-After is a date",                        429, "Thu, 01 Jan 2026 00:00:05 GMT",  1,  0],
  ["is not repeated without Retry-After",                             429, undefined,                        1,  0],
  ["to an unavailable server is repeated if Retry-After is set",      503, "1",                             11, 10],
  ["to an unavailable server is not repeated without Retry-After",    503, undefined,                        1,  0],
  ["that is forbidden is not repeated, despite Retry-After",          403, "5",                              1,  0],
  ["that succeeds is not repeated, despite Retry-After",              200, "5",                              1,  0],
])("a request %s: %i, Retry-After %s: %i requests in %i s", async (_, statusCode, retryAfter, ...expected) => {
  const asked = client(() => ({ statusCode, headers: { "retry-after": retryAfter } }));
  expect((await asked.send(DELETE)).statusCode).toBe(statusCode);
  expect([asked.requests(), asked.seconds()]).toEqual(expected);
});

const LATER = { statusCode: 429, headers: { "retry-after": "5" } };

test("each answer's Retry-After is the pause before the next request", async () => {
  const pauses = ["15", "5", "1"];
  const asked = client((n) =>
    n > 3 ? { statusCode: 200, headers: {} } : { ...LATER, headers: { "retry-after": pauses[n - 1] } },
  );
  expect((await asked.send(DELETE)).statusCode).toBe(200);
  expect([asked.requests(), asked.seconds()]).toEqual([4, 21]);
});

test("each request counts against the client's rate limit", async () => {
  let counted = 0;
  const asked = client(() => LATER, { before: async () => void counted++ });
  await asked.send(DELETE);
  expect(counted).toBe(11);
});

describe("a caller that gives up", () => {
  test("sends no further request", async () => {
    const caller = new AbortController();
    const asked = client((n) => (n === 3 && caller.abort(), LATER), { signal: caller.signal });
    await expect(asked.send(DELETE)).rejects.toThrow("aborted");
    expect([asked.requests(), asked.seconds()]).toEqual([3, 10]);
  });

  test("ends the request in progress", async () => {
    const { signal } = new AbortController();
    let given: AbortSignal | undefined;
    const transport: Transport = {
      send: async (request) => ((given = request.signal), { statusCode: 200, headers: {} } as IncomingMessage),
      close: () => undefined,
    };
    await withRetryAfter(transport, { clock: createWaitingClock(), signal }).send(DELETE);
    expect(given).toBe(signal);
  });
});

test("a watch is not repeated", async () => {
  const asked = client(() => LATER);
  await asked.send({ method: "GET", path: "/" }, new AbortController().signal);
  expect(asked.requests()).toBe(1);
});
