/** Which clusters a tick reaches: by the queue each by a message of its own. Without one: ticks-in-turn.test.ts. */
import { describe, expect, test } from "vitest";
import { isFullScan } from "../../../functions/schedule.ts";
import { startCannedCluster as start } from "../../support/canned-cluster.ts";
import { entry, NOW, openDoors } from "../../support/doors.ts";

const named = (count: number) => Array.from({ length: count }, (_, i) => `cluster-${i}`);

describe("with the queue", () => {
  test("201 clusters have a message each, a hundred at a time", async () => {
    const batches: (readonly { readonly body: unknown }[])[] = [];
    const TICKS = { sendBatch: async (messages: (typeof batches)[number]) => void batches.push(messages) };
    const CLUSTERS = Object.fromEntries(named(201).map((name) => [name, entry("https://127.0.0.1:1")]));
    await openDoors({ CLUSTERS, TICKS }).tick(NOW);
    expect(batches.map(({ length }) => length)).toEqual([100, 100, 1]);
    const scheduledTime = NOW.getTime();
    const expected = named(201).map((cluster) => ({ cluster, scheduledTime, sentAt: scheduledTime }));
    expect(batches.flat().map(({ body }) => body)).toEqual(expected);
  });

  test("a message is about its own cluster; one that has waited for a minute is logged, not acted on", async () => {
    const [own, other] = [start(), start()];
    const doors = openDoors({ CLUSTERS: { own: entry(own.url), other: entry(other.url) } });
    const message = { cluster: "own", scheduledTime: NOW.getTime(), sentAt: NOW.getTime() };
    await doors.receive(message);
    const asked = own.requests.length;
    expect([asked > 0, other.requests]).toEqual([true, []]);
    doors.pass(56);
    await doors.receive(message);
    expect(own.requests).toHaveLength(asked);
    expect(doors.log).toMatchObject([{ level: "warn", cluster: "own", due: NOW.toISOString() }]);
  });
});

test("full scans: one in ten minutes for each cluster, spread over them", () => {
  const minutes = Array.from({ length: 10 }, (_, minute) => minute * 60_000);
  const names = named(200);
  const scans = minutes.map((time) => names.filter((name) => isFullScan(name, time)).length);
  expect(scans.reduce((sum, count) => sum + count, 0)).toBe(200);
  expect(Math.max(...scans)).toBeLessThanOrEqual(40);
});
