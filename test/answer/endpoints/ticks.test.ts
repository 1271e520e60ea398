/** Which clusters a tick reaches: by the queue each by a message of its own. Without one: ticks-in-turn.test.ts. */
import { describe, expect, test } from "vitest";
import { isFullScan } from "../../../functions/schedule.ts";
import { startCannedCluster as start } from "../../support/canned-cluster.ts";
import { type Doors, entry, NOW, openDoors } from "../../support/doors.ts";
import type * as stub from "../../support/answers.ts";

const named = (count: number) => Array.from({ length: count }, (_, i) => `cluster-${i}`);
const reached = ({ requests }: stub.Stub) => requests.some(({ path }) => path.endsWith("/evacuations"));
/** Clusters that the log says were not reached. */
const missedOf = ({ log }: Doors) => log.filter(({ level }) => level === "warn");
/** Every message that was sent, and how many at a time. */
function queue() {
  const batches: (readonly { readonly body: unknown }[])[] = [];
  return { batches, TICKS: { sendBatch: async (messages: (typeof batches)[number]) => void batches.push(messages) } };
}

/** Two clusters, and a message for the first. */
async function openTwo() {
  const [own, other] = [start(), start()];
  const doors = openDoors({ CLUSTERS: { own: entry(own.url), other: entry(other.url) } });
  const message = { cluster: "own", scheduledTime: NOW.getTime(), sentAt: NOW.getTime() };
  return { own, other, doors, message };
}

describe("with the queue", () => {
  // prettier-ignore
  test.each([
    [100, [100]],
    [201, [100, 100, 1]],
  ])("%i clusters: batches of %j", async (count, sizes) => {
    const { batches, TICKS } = queue();
    const CLUSTERS = Object.fromEntries(named(count).map((name) => [name, entry("https://127.0.0.1:1")]));
    await openDoors({ CLUSTERS, TICKS }).tick(NOW);
    expect(batches.map(({ length }) => length)).toEqual(sizes);
    const scheduledTime = NOW.getTime();
    const expected = named(count).map((cluster) => ({ cluster, scheduledTime, sentAt: scheduledTime }));
    expect(batches.flat().map(({ body }) => body)).toEqual(expected);
  });

  test("a message is about its own cluster", async () => {
    const { own, other, doors, message } = await openTwo();
    await doors.receive(message);
    expect([reached(own), other.requests]).toEqual([true, []]);
  });

  test("one that has waited for a minute is logged, not acted on", async () => {
    const { own, doors, message } = await openTwo();
    doors.pass(56);
    await doors.receive(message);
    expect(reached(own)).toBe(false);
    const due = NOW.toISOString();
    expect(missedOf(doors)).toEqual([
      { level: "warn", cluster: "own", message: "the tick has not reached this cluster", due },
    ]);
  });
});

/** API servers that each take so long to begin an answer, by the clock of the Worker. */
function fleet(count: number, seconds: number): [Doors, readonly stub.Stub[]] {
  const slow: { doors?: Doors } = {};
  const isAsked = new Set<string>();
  const servers = named(count).map(() => start());
  const CLUSTERS = Object.fromEntries(servers.map(({ url }, i) => [`cluster-${i}`, entry(url)]));
  const doors = openDoors({ CLUSTERS }, (_, __, url) => {
    if (isAsked.has(url.host)) return;
    isAsked.add(url.host);
    slow.doors?.pass(seconds);
  });
  slow.doors = doors;
  return [doors, servers];
}

test("without one, every cluster is reached in turn", async () => {
  const [doors, servers] = fleet(9, 1);
  await doors.tick(NOW);
  expect(servers.map(reached)).toEqual(servers.map(() => true));
  expect(doors.log).toEqual([]);
});

test("full scans: one in ten minutes for each cluster, spread over them", () => {
  const minutes = Array.from({ length: 10 }, (_, minute) => minute * 60_000);
  const names = named(200);
  const scans = minutes.map((time) => names.filter((name) => isFullScan(name, time)).length);
  expect(scans.reduce((sum, count) => sum + count, 0)).toBe(200);
  expect(Math.max(...scans)).toBeLessThanOrEqual(40);
});
