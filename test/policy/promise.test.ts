/**
 * The promise, in any weather: any VMs under any settings, many functions and requests at once, faults, late answers, clocks
 * that disagree. The same storms every time; to look for new ones change the seed, and without `endOnFailure` a failure is
 * reduced to the shortest story that leads to it (minutes).
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isCompleted, isFinal, type VmiFacts } from "../../shared/policy/facts.ts";
import { isKubeVirts } from "../../shared/policy/budget-owner.ts";
import { matches } from "../../shared/policy/selector.ts";
import { isMarked } from "../../shared/policy/stage.ts";
import { resolveStrategy } from "../../shared/policy/strategy.ts";
import { IN_PROGRESS } from "./launchers.ts";
import type { Loss, SimulatedCluster } from "./simulation/cluster.ts";
import { isEvictable } from "./simulation/control-plane.ts";
import { isOver, isQuiet, settle } from "./simulation/finish.ts";
import { launcherOf, rulingOn } from "./simulation/kubevirt.ts";
import { expectWithin, unfinishedOfLive } from "./simulation/limits.ts";
import { type Mood, storms } from "./simulation/storm.ts";
import { type Story, tellStory } from "./simulation/story.ts";

function always(mood: Mood, holds: (story: Story) => void, numRuns = 300): void {
  fc.assert(fc.property(storms(mood), holds), { seed: 20_260_311, numRuns, endOnFailure: true });
}

function strategyIn({ settings }: SimulatedCluster, { evictionStrategy }: VmiFacts): string {
  const resolved = resolveStrategy(evictionStrategy, settings.clusterStrategy);
  return resolved.known ? resolved.strategy : "Unknown";
}

/** The victims of a preemption share a deadline, the last of them comes so long after it. */
const NEXT_VICTIM_SECONDS = 30;

/** Not all of the time was over that it is promised; by as much as a clock is fast, it may be less. */
function wasTooSoon({ settings }: SimulatedCluster, loss: Loss, skewMs: number): boolean {
  const { pod, cause, choices } = loss;
  if (cause === undefined) return true;
  const deadlineMs = settings.guard.deadlineSeconds[cause] * 1000;
  const decided = loss.review.from.getTime() + skewMs;
  const counting = choices.filter((one) => {
    if (one.podUID === pod.uid) return true;
    const isVictimAround = cause === "Preemption" && one.cause === cause && one.nodeName === pod.nodeName;
    return isVictimAround && decided - one.at.getTime() <= deadlineMs + NEXT_VICTIM_SECONDS * 1000;
  });
  return !counting.some(({ at }) => decided - at.getTime() >= deadlineMs);
}

/** What is not promised: nobody asked for it, it could not be done, or the time for it was over. */
function isPromised(cluster: SimulatedCluster, loss: Loss, skewMs: number): boolean {
  const { vmi, pod, because, review } = loss;
  const strategy = strategyIn(cluster, vmi);
  const couldNotMove = cluster.chronicle.couldNotMove(vmi, review);
  switch (because) {
    case "Evicted: StrategyNone":
    case "Deleted: StrategyNone":
      return strategy !== "None";
    case "Deleted: GuardOff":
      return cluster.settings.guard.mode !== "Off";
    case "Deleted: UnknownStrategy":
      return strategy !== "Unknown";
    case "Evicted: ShutdownByStrategy":
      return !(strategy === "LiveMigrateIfPossible" && couldNotMove);
    // It could not move when its budget was seen; then that has gone, or it could, and its target was ready at once.
    case "Evicted: ProtectedByBudget":
      return !couldNotMove;
    case "Deleted: NotMigratable":
      return !(strategy.startsWith("LiveMigrate") && couldNotMove);
    // The guest came over between decision and deletion.
    case "Deleted: MigrationTarget":
      return !cluster.chronicle.hasArrivedSince(pod.uid, review.from);
    case "Deleted: DeadlinePassed":
    case "DeadlineKept":
      return wasTooSoon(cluster, loss, skewMs);
    default:
      return true;
  }
}

/** Whether an eviction of a marked VM's source would be let through now, although it may not end. */
function isAllowedByUs(cluster: SimulatedCluster, vm: VmiFacts): boolean {
  if (!isMarked(vm) || vm.deleting || isFinal(vm)) return false;
  const strategy = strategyIn(cluster, vm);
  const mayEnd = strategy === "None" || (strategy === "LiveMigrateIfPossible" && !vm.liveMigratable.migratable);
  return !mayEnd && rulingOn(cluster, vm).verdict === "Allow";
}

/** By one budget, now and when a target has become ready: the API server asks it a little later than we did. */
function isRefused(cluster: SimulatedCluster, vm: VmiFacts): boolean {
  const pod = launcherOf(cluster, vm);
  const selecting = [...cluster.budgets.values()].filter(({ selector }) => matches(selector, pod.labels));
  const present = cluster.pods.of(vm).filter((one) => !one.deleting && !isCompleted(one)).length;
  const most = Math.max(present, vm.liveMigratable.migratable ? 2 : 1);
  // KubeVirt's own grows before there is a target.
  const isEnough = selecting.every((one) => Number(one.minAvailable) >= most || isKubeVirts(one, vm));
  return selecting.length === 1 && isEnough && !isEvictable(cluster, pod);
}

describe("no VM is ever without both its pod and a migration", () => {
  test("its pod goes only where nothing was promised, or the guest has left it", () => {
    const reasons = new Set<string>();
    always("anything", (story) => {
      const cluster = tellStory(story, () => {});
      // Whoever is lost stays in the books.
      expect(cluster.losses.filter((loss) => isPromised(cluster, loss, story.skewMs ?? 0))).toEqual([]);
      for (const { because } of cluster.losses) reasons.add(because);
      for (const vm of cluster.vmis.values()) {
        if (!vm.deleting && !isFinal(vm)) expect(cluster.pods.guestOf(vm)).toBeDefined();
      }
    });
    const expected = [
      "Evicted: ShutdownByStrategy",
      "Deleted: NotMigratable",
      "Deleted: DeadlinePassed",
      "DeadlineKept",
    ];
    expect([...reasons]).toEqual(expect.arrayContaining(expected));
  });

  test("a marked VM's source is not evictable through us where no budget refuses", () => {
    let allowed = 0;
    always("anything", (story) => {
      tellStory(story, (cluster) => {
        for (const vm of cluster.vmis.values())
          if (isAllowedByUs(cluster, vm)) {
            allowed += 1;
            if (!isRefused(cluster, vm)) throw new Error(`${vm.name} is evictable`);
          }
      });
    });
    expect(allowed).toBeGreaterThan(1000);
  });
});

describe("limits", () => {
  test("hold, whatever fails", () => {
    let full = 0;
    always("asked", (story) => {
      tellStory(story, (cluster) => {
        const unfinished = unfinishedOfLive(cluster);
        expectWithin(cluster, unfinished);
        if (unfinished.length === story.settings.limits.parallelMigrationsPerCluster) full += 1;
      });
    });
    expect(full).toBeGreaterThan(1000);
  });
});

describe("nothing is done twice", () => {
  test("an attempt of an evacuation is one migration, a VM has one that is unfinished", () => {
    let made = 0;
    always("anything", (story) => {
      const cluster = tellStory(story, (c) => {
        const migrating = c.unfinished().map(({ vmiName }) => vmiName);
        if (new Set(migrating).size < migrating.length) throw new Error(`twice: ${migrating.join()}`);
      });
      // Besides, one of KubeVirt's own may be adopted that has just ended.
      const ours = [...cluster.migrations.values()].filter(
        (m) => m.evacuationId !== undefined && !m.name.startsWith("kubevirt-evacuation-"),
      );
      const attempts = ours.map((m) => `${m.vmiName} ${m.evacuationId} ${m.attempt}`);
      expect(attempts).toEqual([...new Set(attempts)]);
      made += ours.length;
    });
    expect(made).toBeGreaterThan(50);
  });
});

function countedBy({ counters }: SimulatedCluster): Readonly<Record<string, number>> {
  return Object.fromEntries(counters.evacuations.map((one) => [`${one.cause} ${one.outcome}`, one.count]));
}

/** Once each; of a VMI that is gone perhaps not. */
function expectCounted(cluster: SimulatedCluster): void {
  const present = new Set([...cluster.vmis.values()].map(({ uid }) => uid));
  const [all, fewest] = [cluster.ledger.sums(), cluster.ledger.sums((uid) => present.has(uid))];
  const counted = countedBy(cluster);
  for (const key of new Set([...Object.keys(all), ...Object.keys(counted)])) {
    expect(counted[key] ?? 0).toBeLessThanOrEqual(all[key] ?? 0);
    expect(counted[key] ?? 0).toBeGreaterThanOrEqual(fewest[key] ?? 0);
  }
}

function expectTidy(cluster: SimulatedCluster): void {
  const live = [...cluster.vmis.values()].filter((vm) => !vm.deleting && !isFinal(vm));
  expect(live.filter((vm) => !isOver(vm))).toEqual([]);
  expect(cluster.register.slots).toEqual([]);
  const ours = [...cluster.budgets.values()].filter((one) => one.managedByUs);
  const budgets = [...cluster.budgets.values()];
  const wanted = live.filter((vm) => {
    const isOthers = cluster.settings.reconcilers.budget === "Disabled" || budgets.some((one) => isKubeVirts(one, vm));
    return !isOthers && strategyIn(cluster, vm) !== "None";
  });
  const sizes = ours.map((one) => `${one.owners[0]?.uid} ${one.minAvailable}`);
  expect(sizes.toSorted()).toEqual(wanted.map(({ uid }) => `${uid} 1`).toSorted());
  for (const pod of live.flatMap((vm) => cluster.pods.of(vm)))
    expect(pod.annotations).not.toHaveProperty([IN_PROGRESS]);
  expect(isQuiet(cluster)).toBe(true);
}

// prettier-ignore
const OUTCOMES = [
  "ApiEviction Abandoned", "ApiEviction Cancelled", "ApiEviction Moved", "DrainTaint Moved",
  "DrainTaint Withdrawn", "Descheduler Moved", "NoExecuteTaint Abandoned", "NoExecuteTaint Moved", "Preemption Cancelled", "Preemption Moved",
];

describe("when the storm is over, and one function goes on alone", () => {
  test.each([
    ["Succeeded", [...OUTCOMES, "NodePressure Moved"]],
    ["Failed", [...OUTCOMES, "DrainTaint Abandoned", "NodePressure Abandoned"]],
  ] as const)(
    "every evacuation ends, is counted once, and leaves nothing behind: migrations have %s",
    (outcome, expected) => {
      const seen = new Set<string>();
      always("anything", (story) => {
        const cluster = tellStory(story, () => {});
        settle(cluster, outcome);
        expectTidy(cluster);
        expectCounted(cluster);
        for (const key of Object.keys(countedBy(cluster))) seen.add(key);
      });
      expect([...seen]).toEqual(expect.arrayContaining([...expected]));
    },
  );
});
