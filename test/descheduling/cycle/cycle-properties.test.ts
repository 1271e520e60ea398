/**
 * Many descheduling cycles at once over one cluster, interrupted anywhere, stalled, left for dead: what must be true all the
 * time. The same stories every time; to look for new ones change the seed.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DeschedulingLimits } from "../../../shared/descheduling/cycle/policy.ts";
import type { DeschedulerPod } from "../../../shared/descheduling/plugins/facts.ts";
import type { SimulatedPods } from "./simulation/cluster.ts";
import { REAL_PLUGINS } from "../plugins/plugins.ts";
import { type Event, stories, type Story, tellStory, TTL_SECONDS } from "./simulation/story.ts";

function always(holds: (story: Story) => void, numRuns = 600): void {
  fc.assert(fc.property(stories, holds), { seed: 20_260_301, numRuns });
}

function evacuating(cluster: SimulatedPods): readonly DeschedulerPod[] {
  return [...cluster.evacuating].flatMap((uid) => cluster.pods.get(uid) ?? []);
}

function most(pods: readonly DeschedulerPod[], by: (pod: DeschedulerPod) => string): number {
  return Math.max(0, ...[...Map.groupBy(pods, by).values()].map(({ length }) => length));
}

function expectWithin(limits: DeschedulingLimits, cluster: SimulatedPods): void {
  const pods = evacuating(cluster);
  const byNode = most(pods, (pod) => pod.nodeName);
  const byNamespace = most(pods, (pod) => pod.namespace);
  expect(pods.length).toBeLessThanOrEqual(limits.evictionsTotal ?? Infinity);
  expect(byNode).toBeLessThanOrEqual(limits.evictionsPerNode ?? Infinity);
  expect(byNode).toBeLessThanOrEqual(limits.evacuationsPerNode ?? Infinity);
  expect(byNamespace).toBeLessThanOrEqual(limits.evictionsPerNamespace ?? Infinity);
  expect(byNamespace).toBeLessThanOrEqual(limits.evacuationsPerNamespace ?? Infinity);
}

describe("whatever cycles do at the same time", () => {
  test.each([
    ["plugins that nominate anything", {}],
    ["the real plugins, that all want the same pods gone", { plugins: REAL_PLUGINS }],
  ])("%s: evacuations never exceed a limit, no pod is requested again while in progress", (_, plugins) => {
    let requests = 0;
    always((story) => {
      const { cluster } = tellStory({ ...story, ...plugins }, (c) => {
        expectWithin(story.limits, c);
        expect(c.requests.filter(({ again }) => again)).toEqual([]);
      });
      requests += cluster.requests.length;
    });
    expect(requests).toBeGreaterThan(50);
  });

  test("of two cycles over the same world, only one requests anything", () => {
    always((story) => {
      const begin = { does: "begin", order: [0, 1, 2, 3], claimed: false } as const;
      const both = [0, 1].flatMap(() => [0, 1].map((cycle) => ({ does: "step", cycle, times: 2 }) as const));
      const on = Array.from({ length: 60 }, (_, i) => ({ does: "step", cycle: i % 2, times: 1 }) as const);
      const { reports } = tellStory({ ...story, events: [begin, begin, ...both, ...on] }, () => {});
      const active = reports.filter(({ nominations }) => nominations.some(({ result }) => result === "Background"));
      expect(active.length).toBeLessThanOrEqual(1);
    });
  });

  test("every request is counted once, unless its cycle dies before it has written that down", () => {
    always((story) => {
      const finished = { ...story, events: story.events.filter(({ does }) => does !== "step") };
      const on = Array.from({ length: 400 }, (_, cycle) => ({ does: "step", cycle, times: 1 }) as const);
      const { cluster } = tellStory({ ...finished, events: [...finished.events, ...on] }, () => {});
      const counted = cluster.register.counts.reduce((sum, { count }) => sum + count, 0);
      expect(counted).toBe(cluster.requests.length + cluster.evicted);
    });
  });
});

function begin(order: readonly number[]): Event {
  return { does: "begin", order, claimed: false };
}

function run(cycle: number, steps: number): readonly Event[] {
  return Array.from({ length: steps }, () => ({ does: "step", cycle, times: 1 }) as const);
}

describe("a cycle that stalls after any of its steps, while another runs to its end", () => {
  const pods = [0, 1, 2, 3].map(() => ({ node: 0, namespace: 0, isVm: true }));
  const LONGEST = 30;
  const stalls = Array.from({ length: LONGEST }, (_, steps) => steps);

  // prettier-ignore
  const rows: readonly (readonly [seconds: number, fewest: number])[] = [
    // Too late for its own request, but not too late to be counted by the other one: then none is made.
    [0, 1], [1, 1], [TTL_SECONDS / 2 + 1, 0], [TTL_SECONDS + 1, 1],
  ];
  test.each(rows)("for %s s", (seconds, fewest) => {
    for (const steps of stalls) {
      const stalled = [...run(0, steps), { does: "wait", seconds } as const];
      const events = [begin([0, 1]), ...stalled, begin([2, 3]), ...run(1, LONGEST), ...run(0, LONGEST)];
      const limits = { evictionsTotal: 1 };
      const { cluster } = tellStory({ pods, limits, events }, (c) => expectWithin(limits, c));
      expect(cluster.requests.length, `stalled after step ${steps}`).toBeGreaterThanOrEqual(fewest);
      expect(cluster.requests.length, `stalled after step ${steps}`).toBeLessThanOrEqual(1);
    }
  });
});

test("the stories are not idle: evacuations are requested, limits reached, cycles get in each other's way", () => {
  const seen = new Set<string>();
  always((story) => {
    const { reports } = tellStory(story, () => {});
    for (const { ended, nominations } of reports)
      for (const what of [ended, ...nominations.map((n) => n.result)]) seen.add(what);
  });
  const expected = [
    "Finished",
    "AnotherCycle",
    "Background",
    "Evicted",
    "InProgress",
    "evictionsTotal",
    "evacuationsPerNode",
  ];
  expect([...seen]).toEqual(expect.arrayContaining(expected));
});
