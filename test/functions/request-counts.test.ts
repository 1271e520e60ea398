/**
 * How many requests an eviction costs the API server, and how many of them one after another.
 * KubeVirt's controllers stand still here: nothing moves, and every request is Lifeboat's own.
 */
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Doors, entry, NOW, openDoors } from "./support/doors.ts";
import { evictionOf, review } from "./support/reviews.ts";
import { startTestCluster, type TestCluster } from "./support/test-cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startTestCluster();
  await cluster.configure({ reconcilers: { budget: "Disabled" } });
});
afterAll(() => cluster.stop());

/** Requests in rounds: those of a round have been sent before any of them was answered. */
let rounds: string[][] = [];
let gate: Promise<void> | undefined;

async function inRounds(request: string): Promise<void> {
  if (gate === undefined) {
    rounds.push([]);
    gate = gathered();
  }
  rounds.at(-1)?.push(KINDS.find(([, pattern]) => pattern.test(request))?.[0] ?? request);
  await gate;
}

/** What is sent at once is sent before the event loop has gone round a few times. */
async function gathered(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await setImmediate();
  gate = undefined;
}

const KINDS: readonly (readonly [string, RegExp])[] = [
  ["read pod", /^GET .*\/pods\/[^/]+$/],
  ["read VMI", /^GET .*\/virtualmachineinstances\/[^/]+$/],
  ["read Evacuations of the VMI", /^GET .*\/namespaces\/[^/]+\/evacuations$/],
  ["read migrations of the VMI", /^GET .*\/namespaces\/[^/]+\/virtualmachineinstancemigrations$/],
  ["read what has not ended", /^GET .*v1alpha1\/evacuations$/],
  ["mark", /^PATCH .*\/virtualmachineinstances\/[^/]+$/],
  ["create Evacuation", /^POST .*\/evacuations$/],
  ["write status", /^PATCH .*\/evacuations\/[^/]+\/status$/],
  ["tell Event", /^POST .*\/events$/],
  ["read settings", /^GET .*(kubevirts|lifeboatconfigurations\/lifeboat)$/],
];

let doors: Doors;

/** Doors that have read the settings. */
beforeEach(async () => {
  doors = openDoors({ CLUSTERS: { prod: entry(cluster.entry.server, cluster.entry) } }, inRounds);
  await review(doors, evictionOf({ namespace: "apps", name: "virt-launcher-nobody-abcde" }));
  await doors.settle();
  rounds = [];
});

const sorted = () => rounds.map((round) => round.toSorted());

describe("with warm caches and budgets off", () => {
  test("a first eviction: three reads at once, two writes at once, then the answer", async () => {
    const pod = await cluster.createVm({ name: "first", strategy: "LiveMigrate" });
    await review(doors, evictionOf(pod));
    expect(sorted().slice(0, 2)).toEqual([
      ["read Evacuations of the VMI", "read VMI", "read pod"],
      ["create Evacuation", "mark"],
    ]);
    await doors.settle();
    expect(rounds.flat().slice(5).toSorted()).toEqual(["tell Event", "write status"]);
  });

  test("a repeat: three reads at once, then the answer; what follows is one more", async () => {
    const pod = await cluster.createVm({ name: "repeat", strategy: "LiveMigrate" });
    await review(doors, evictionOf(pod));
    await doors.settle();
    rounds = [];
    await review(doors, evictionOf(pod));
    await doors.settle();
    expect(sorted()).toEqual([["read Evacuations of the VMI", "read VMI", "read pod"], ["read migrations of the VMI"]]);
  });

  test("200 VMs in one namespace: at most 9 requests each for the first and a tick after it, 4 for a repeat", async () => {
    const names = Array.from({ length: 200 }, (_, i) => `vm-${i}`);
    const pods = await Promise.all(names.map((name) => cluster.createVm({ name, strategy: "LiveMigrate" })));
    for (const pod of pods) await review(doors, evictionOf(pod));
    await doors.settle();
    await doors.tick(new Date(NOW.getTime() + 60_000));
    // The tick looks at the two VMs of the tests above, too.
    expect(rounds.flat().length).toBeLessThanOrEqual(202 * 9);
    rounds = [];
    for (const pod of pods) await review(doors, evictionOf(pod));
    await doors.settle();
    expect(rounds.flat().length).toBeLessThanOrEqual(200 * 4);
    expect(new Set(rounds.flat())).toEqual(
      new Set(["read pod", "read VMI", "read Evacuations of the VMI", "read migrations of the VMI"]),
    );
  });
});

test("an idle tick is a handful of requests, whatever has ended", async () => {
  const idle = await startTestCluster();
  await idle.configure({ reconcilers: { budget: "Disabled" } });
  const ticking = openDoors({ CLUSTERS: { prod: entry(idle.entry.server, idle.entry) } }, inRounds);
  await ticking.tick(new Date(NOW.getTime() + 60_000));
  await idle.stop();
  expect(rounds.flat().toSorted()).toEqual(["read settings", "read settings", "read what has not ended"]);
});
