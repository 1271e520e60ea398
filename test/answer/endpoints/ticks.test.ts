/**
 * Tests which clusters a scheduled run (tick) reaches. With a queue, each cluster has its own message. Without a queue,
 * a cluster that does not answer delays the other clusters by only a few seconds.
 */
import { describe, expect, test } from "vitest";
import { isFullScan } from "../../../functions/schedule.ts";
import { tickTime } from "../../../infra/lab/stage/tick-times.ts";
import { clusterWith } from "../../support/cluster/one-vm.ts";
import { VirtualClock } from "../../support/clock.ts";
import { entry, openApp } from "../../support/app.ts";
import { NOW } from "../../support/fixtures.ts";

const named = (kind: string, count: number) => Array.from({ length: count }, (_, i) => `${kind}-${i}`);

describe("with the queue,", () => {
  test("201 clusters get one message each, in batches of at most a hundred messages", async () => {
    const batches: (readonly { readonly body: unknown }[])[] = [];
    const TICKS = { sendBatch: async (messages: (typeof batches)[number]) => void batches.push(messages) };
    const clusters = named("cluster", 201);
    const CLUSTERS = Object.fromEntries(clusters.map((name) => [name, entry("https://127.0.0.1:1")]));
    await openApp({ CLUSTERS, TICKS }).tick(NOW);
    expect(batches.map(({ length }) => length)).toEqual([100, 100, 1]);
    const scheduledTime = NOW.getTime();
    const expected = clusters.map((cluster) => ({ cluster, scheduledTime, sentAt: scheduledTime }));
    expect(batches.flat().map(({ body }) => body)).toEqual(expected);
  });

  test("a message causes requests only to its own cluster, and a message older than a minute is logged and dropped", async () => {
    const [own, other] = [clusterWith(), clusterWith()];
    const app = openApp({ CLUSTERS: { own: entry(own.url), other: entry(other.url) } });
    const message = { cluster: "own", scheduledTime: NOW.getTime(), sentAt: NOW.getTime() };
    await app.receive(message);
    const asked = own.requests.length;
    expect([asked > 0, other.requests]).toEqual([true, []]);
    app.pass(56);
    await app.receive(message);
    expect(own.requests).toHaveLength(asked);
    expect(app.log).toMatchObject([{ level: "warn", cluster: "own", due: NOW.toISOString() }]);
  });
});

test("each cluster has one full scan in ten minutes, and the scans are spread over them", () => {
  const minutes = Array.from({ length: 10 }, (_, minute) => minute * 60_000);
  const names = named("cluster", 200);
  const scans = minutes.map((time) => names.filter((name) => isFullScan(name, time)).length);
  expect(scans.reduce((sum, count) => sum + count, 0)).toBe(200);
  expect(Math.max(...scans)).toBeLessThanOrEqual(40);
});

/**
 * Answers each list with an empty list, and each read of an object with 404. Clusters whose name starts with `drips`
 * send lists that never end.
 */
function answer(url: URL, signal: AbortSignal): Response {
  const isList = /\/(evacuations|virtualmachineinstances|nodes)$/.test(url.pathname);
  if (isList && url.hostname.startsWith("drips")) return new Response(endless('{"kind":"List",', signal));
  const isConfiguration = /\/(lifeboatconfigurations|configmaps)\/[^/]+$/.test(url.pathname);
  const body = { kind: "Status", status: "Failure", reason: "NotFound", code: 404 };
  if (isConfiguration) return Response.json(body, { status: 404 });
  return Response.json({ kind: "List", metadata: {}, items: [] });
}

function endless(beginning: string, signal: AbortSignal): ReadableStream {
  return new ReadableStream({
    type: "bytes",
    start(controller) {
      controller.enqueue(new TextEncoder().encode(beginning));
      signal.addEventListener("abort", () => controller.error(signal.reason));
    },
  });
}

/**
 * Runs a tick for these clusters, in an order that `random` decides. Returns the reached clusters, the duration, and
 * the log.
 */
async function tick(names: readonly string[], random = () => 0) {
  const clock = new VirtualClock(tickTime(names[0] ?? "", "small", NOW));
  const reached = new Set<string>();
  const CLUSTERS = Object.fromEntries(names.map((name) => [name, entry(`https://${name}`)]));
  const app = openApp({ CLUSTERS }, undefined, {
    now: () => clock.now(),
    timeout: (ms) => clock.timeout(ms),
    random,
    fetch: async (address, { signal }) => {
      const url = new URL(address);
      if (url.pathname.endsWith("/evacuations")) reached.add(url.hostname);
      return answer(url, signal ?? new AbortController().signal);
    },
  });
  const began = clock.now().getTime();
  await clock.settle([app.tick(clock.now())]);
  return { reached, took: Math.round((clock.now().getTime() - began) / 1000), log: app.log };
}

// prettier-ignore
test.each<[drips: number, well: number, seconds: number, why: string]>([
  [ 0, 40,  0, "nothing to wait for"],
  [ 4, 40, 10, "four at a time wait ten seconds"],
  [20, 40, 50, "as many as the minute has time for"],
  [ 4,  0, 60, "no other cluster waits, so each one has the full time of a scan"],
])("with %i clusters that never finish an answer before %i others, all are reached in %i s: %s", async (drips, well, seconds) => {
  const { reached, took } = await tick([...named("drips", drips), ...named("well", well)]);
  expect({ reached: reached.size, took }).toEqual({ reached: drips + well, took: seconds });
});

test("clusters that are not reached within the minute are logged, and another tick starts with others", async () => {
  const names = [...named("drips", 30), ...named("well", 10)];
  const { reached, log } = await tick(names);
  const missed = names.filter((name) => !reached.has(name));
  expect(missed).toEqual(expect.arrayContaining(named("well", 10)));
  expect(log.flatMap(({ level, cluster }) => (level === "warn" ? [cluster] : []))).toEqual(missed);
  expect([...(await tick(names, () => 0.99)).reached]).toEqual(expect.arrayContaining(named("well", 10)));
});
