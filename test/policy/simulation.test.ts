/**
 * Many functions at once over one cluster, interrupted anywhere, stalled for ever: what must be true all the time, and
 * in the end. The same stories every time; to look for new ones change the seed, and without `endOnFailure` a failure is
 * reduced to the shortest story that leads to it (minutes).
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { MigrationFacts, VmiFacts } from "../../shared/policy/facts.ts";
import type { SimulatedCluster } from "./simulation/cluster.ts";
import { finish, isOver, isQuiet } from "./simulation/finish.ts";
import { isEvictable } from "./simulation/control-plane.ts";
import { evict, launcherOf } from "./simulation/kubevirt.ts";
import { passAtOnce } from "./simulation/pass.ts";
import { stories, type Story, tellStory } from "./simulation/story.ts";

function expectWithinLimits(cluster: SimulatedCluster): void {
  const { parallelMigrationsPerCluster, parallelOutboundMigrationsPerNode } = cluster.settings.limits;
  const unfinished = cluster.unfinished();
  expect(unfinished.length).toBeLessThanOrEqual(parallelMigrationsPerCluster);
  for (const [, from] of Map.groupBy(unfinished, (m) => m.sourceNode)) {
    expect(from.length).toBeLessThanOrEqual(parallelOutboundMigrationsPerNode);
  }
}

function grownAndSeen(cluster: SimulatedCluster, { vmiName }: MigrationFacts): boolean {
  const own = [...cluster.budgets.values()].filter((b) => b.owners.some((o) => o.name === vmiName));
  return own.some(({ status, ...b }) => b.minAvailable === 2 && status.observedGeneration === b.generation);
}

/** Looks at every migration of ours once, at the moment it appears. */
function newMigrations(): (cluster: SimulatedCluster) => readonly MigrationFacts[] {
  const seen = new Set<string>();
  return (cluster) => {
    const fresh = [...cluster.migrations.values()].filter((m) => m.name.startsWith("lifeboat-") && !seen.has(m.uid));
    for (const m of fresh) seen.add(m.uid);
    return fresh;
  };
}

function expectOnePerVm(cluster: SimulatedCluster): void {
  const names = cluster.unfinished().map((m) => m.vmiName);
  expect(names).toEqual([...new Set(names)]);
}

function always(about: fc.Arbitrary<Story>, holds: (story: Story) => void, numRuns = 40): void {
  fc.assert(fc.property(about, holds), { seed: 20_260_301, numRuns, endOnFailure: true });
}

function expectGrownWhereMigrating(cluster: SimulatedCluster): void {
  for (const { vmiName } of cluster.unfinished()) {
    const own = [...cluster.budgets.values()].filter((b) => b.owners.some((o) => o.name === vmiName));
    expect(own.map((b) => b.minAvailable)).toEqual([2]);
  }
}

function expectProtected(cluster: SimulatedCluster, vm: VmiFacts): void {
  const decision = evict(cluster, vm);
  if (decision === "Conflict" || decision.verdict !== "Allow") return;
  expect(decision.reason).toBe("ProtectedByBudget");
  expect(isEvictable(cluster, launcherOf(cluster, vm))).toBe(false);
}

describe("whatever functions do at the same time", () => {
  test("limits hold", () => {
    always(stories("calm"), (story) => void tellStory(story, expectWithinLimits), 80);
  });

  test("a VM has one unfinished migration, also beside KubeVirt's own evacuation controller", () => {
    always(stories("wild"), (story) => void tellStory(story, expectOnePerVm));
  });

  test("no migration is made before its budget is seen at 2", () => {
    always(stories("calm"), (story) => {
      const fresh = newMigrations();
      tellStory({ ...story, functions: 1 }, (cluster) => {
        for (const m of fresh(cluster)) expect(grownAndSeen(cluster, m)).toBe(true);
      });
    });
  });

  test("whoever shrinks too late is corrected by the next pass: what migrates has a budget of 2", () => {
    always(stories("wild"), (story) => {
      const cluster = tellStory(story, () => {});
      passAtOnce(cluster);
      expectGrownWhereMigrating(cluster);
    });
  });

  test("an eviction that is let through is refused by the API server: no VM is lost", () => {
    always(stories("wild"), (story) => {
      tellStory(story, (cluster, step) => {
        if (step.does === "evict") for (const vm of cluster.vmis.values()) expectProtected(cluster, vm);
      });
    });
  });
});

describe("when everything stops, and one function goes on alone", () => {
  test("every evacuation ends: by a move, where migrations succeed", () => {
    always(stories("wild"), (story) => {
      const cluster = tellStory(story, () => {});
      finish(cluster, "Succeeded");
      expect([...cluster.vmis.values()].filter((v) => !isOver(v) || cluster.tainted.has(v.nodeName ?? ""))).toEqual([]);
      expect(isQuiet(cluster)).toBe(true);
    });
  });

  test("every evacuation ends: abandoned, where migrations always fail", () => {
    always(stories("wild"), (story) => {
      const cluster = tellStory(story, () => {});
      // The taint is a request that is made again and again.
      cluster.tainted.clear();
      finish(cluster, "Failed");
      expect([...cluster.vmis.values()].filter((v) => !isOver(v))).toEqual([]);
      expect(isQuiet(cluster)).toBe(true);
    });
  });

  test("every budget is back at 1, and the slots register is empty", () => {
    always(stories("wild"), (story) => {
      const cluster = tellStory(story, () => {});
      finish(cluster, "Succeeded");
      expect([...cluster.budgets.values()].map((b) => b.minAvailable)).toEqual(story.vmis.map(() => 1));
      expect(cluster.register.slots).toEqual([]);
    });
  });
});
