/**
 * Many functions count at once, interrupted anywhere, stalled for ever: every evacuation is counted once, as it ended.
 * What is true is told by a ledger that sees every change of every VMI.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NODE, NOW, settings, vmi } from "./fixtures.ts";
import { SimulatedCluster } from "./simulation/cluster.ts";
import { reckon } from "./simulation/control-plane.ts";
import { finish, isOver, isQuiet } from "./simulation/finish.ts";
import { evict } from "./simulation/kubevirt.ts";
import { pass, type PassOptions } from "./simulation/pass.ts";
import { stories, type Story, tellStory } from "./simulation/story.ts";

function always(holds: (story: Story) => void, numRuns = 60): void {
  fc.assert(fc.property(stories("wild"), holds), { seed: 20_260_302, numRuns, endOnFailure: true });
}

function countedBy(cluster: SimulatedCluster): Readonly<Record<string, number>> {
  const counts = cluster.counters.evacuations.map((one) => [`${one.cause} ${one.outcome}`, one.count] as const);
  return Object.fromEntries(counts);
}

/** Nothing is counted that has not ended, and nothing twice. */
function expectNoneTooMany(cluster: SimulatedCluster): void {
  const truth = cluster.ledger.sums();
  const excess = Object.entries(countedBy(cluster)).filter(([key, count]) => count > (truth[key] ?? 0));
  expect(excess).toEqual([]);
}

function expectExact(story: Story): void {
  const cluster = tellStory(story, expectNoneTooMany);
  finish(cluster, "Succeeded");
  expect(countedBy(cluster)).toEqual(cluster.ledger.sums());
  expect(isQuiet(cluster)).toBe(true);
}

const PASSES: readonly (readonly [string, (n: number) => PassOptions])[] = [
  ["as they are", () => ({})],
  ["remembering no id for longer than they must", () => ({ remembered: 0 })],
  ["every other one of them unable to read the counters", (n) => ({ unseen: n % 2 === 1, remembered: 0 })],
];

describe("every evacuation is counted once, as it ended", () => {
  test.each(PASSES)("whatever passes do at the same time: %s", (_, passes) => {
    always((story) => expectExact({ ...story, passes }));
  });

  test("with ten functions at once", () => {
    always((story) => expectExact({ ...story, functions: 10 }), 30);
  });

  test("where migrations always fail", () => {
    always((story) => {
      const cluster = tellStory(story, expectNoneTooMany);
      cluster.tainted.clear();
      finish(cluster, "Failed");
      expect(countedBy(cluster)).toEqual(cluster.ledger.sums());
    });
  });

  test("the stories show every outcome", () => {
    const seen = new Set<string>();
    always((story) => {
      const cluster = tellStory(story, () => {});
      finish(cluster, "Failed");
      for (const key of Object.keys(countedBy(cluster))) seen.add(key.split(" ")[1] ?? "");
    });
    expect([...seen].toSorted()).toEqual(["Abandoned", "Cancelled", "Moved", "Withdrawn"]);
  });
});

test("whoever has seen an ending, and stalls until it is counted, tidied up and forgotten, does not count it again", () => {
  const names = ["early", "late"];
  const vmis = names.map((name) => vmi({ name, uid: name, activePods: { [`pod-${name}`]: NODE } }));
  const cluster = new SimulatedCluster(settings({ evacuation: { adoptSeconds: 0 } }), NOW);
  for (const one of vmis) cluster.add(one);
  const find = (name: string) => [...cluster.vmis.values()].filter((one) => one.name === name);
  const move = (name: string) => {
    for (const one of find(name)) evict(cluster, one);
    for (const one of find(name)) cluster.update(one, { nodeName: "node02" }, "evacuationNodeName");
  };
  const work = () => {
    for (let i = 0; i < 4; i++) for (const steps = pass(cluster, { remembered: 0 }); steps.next().done !== true;);
    reckon(cluster);
  };
  move("early");
  const stalled = Array.from({ length: 6 }, (_, steps) => {
    const one = pass(cluster, { remembered: 0 });
    for (let step = 0; step < steps; step++) one.next();
    return one;
  });
  work();
  move("late");
  work();
  expect(cluster.counters.counted).toEqual([expect.stringMatching(/^late\//)]);
  for (const one of stalled) while (one.next().done !== true);
  work();
  expect(countedBy(cluster)).toEqual({ "ApiEviction Moved": 2 });
});

describe("counting is in nobody's way", () => {
  test.each(["forbidden", "not to be written"] as const)(
    "counters are %s: every evacuation ends all the same",
    (are) => {
      always((story) => {
        const cluster = tellStory({ ...story, countersAre: are }, () => {});
        finish(cluster, "Succeeded");
        expect([...cluster.vmis.values()].filter((v) => !isOver(v))).toEqual([]);
        expect(cluster.counters).toEqual({ evacuations: [], counted: [] });
      }, 30);
    },
  );
});
