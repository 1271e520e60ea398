/**
 * Runs descheduling cycles on one cluster, in sequence and in parallel, while evacuations start and end. Checks that
 * the invariants are never violated. Each run uses the same seed.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { DeschedulingLimits, EnabledPlugin } from "../../../../shared/descheduling/cycle/policy.ts";
import { LEASE_SECONDS } from "../../../../shared/descheduling/deschedule.ts";
import type { ScheduledPod } from "../../../../shared/kube/scheduled-pod.ts";
import { isActive } from "../../../../shared/kube/evacuation.ts";
import { type FakeCluster, interleaved } from "../../../support/cluster.ts";
import { NOW } from "../../../support/fixtures.ts";
import { lowNodeUtilization } from "../../../../shared/descheduling/plugins/low-node-utilization.ts";
import { nodeAffinity } from "../../../../shared/descheduling/plugins/node-affinity.ts";
import { nodeTaints } from "../../../../shared/descheduling/plugins/node-taints.ts";
import type { Plugin } from "../../../../shared/descheduling/plugins/plugin.ts";
import { podLifeTime } from "../../../../shared/descheduling/plugins/pod-life-time.ts";
import { utilizationArguments } from "../../../support/descheduling/fixtures.ts";
import { anyLimits, plainPod, vmPod } from "../../../support/descheduling/worlds.ts";
import { clusterOf, cycle, evacuationsOf, leaseOf, leaving, results, setStatus } from "./cycles.ts";

const PODS = { Vm: vmPod, Plain: plainPod } as const;
const pod = fc.record({
  kind: fc.constantFrom("Vm" as const, "Vm" as const, "Plain" as const),
  nodeName: fc.constantFrom("node01", "node02"),
  namespace: fc.constantFrom("apps", "shop"),
});
const cycles = fc.record({
  does: fc.constant("cycles" as const),
  order: fc.array(fc.nat(11), { maxLength: 8 }),
  at: fc.constantFrom(1, 1, 2),
});
const end = fc.record({
  does: fc.constantFrom("confirm" as const, "finish" as const, "cancel" as const),
  pod: fc.nat(11),
});
const pause = fc.record({ does: fc.constant("wait" as const), seconds: fc.integer({ min: 1, max: 900 }) });

const run = fc.record({
  pods: fc.array(pod, { minLength: 1, maxLength: 12 }),
  limits: anyLimits,
  happenings: fc.array(
    fc.oneof({ weight: 4, arbitrary: cycles }, { weight: 2, arbitrary: end }, { weight: 1, arbitrary: pause }),
    { minLength: 3, maxLength: 20 },
  ),
  isReal: fc.boolean(),
});

function enabled<A>(plugin: Plugin<A>, args: A): EnabledPlugin {
  const { name, extensionPoint } = plugin;
  return { name, extensionPoint, nominate: (world) => plugin.nominate(args, world) };
}

const FULL = { thresholds: { cpu: 40, pods: 20 }, targetThresholds: { cpu: 50, pods: 30 } };
const REAL_PLUGINS: readonly EnabledPlugin[] = [
  enabled(lowNodeUtilization, utilizationArguments(FULL)),
  enabled(nodeTaints, { includePreferNoSchedule: true, excludedTaints: [], includedTaints: [] }),
  enabled(nodeAffinity, { nodeAffinityType: ["requiredDuringSchedulingIgnoredDuringExecution"] }),
  // This plugin nominates pods of any age.
  enabled(podLifeTime, { maxPodLifeTimeSeconds: -1 }),
];

function most(found: readonly ScheduledPod[], by: (pod: ScheduledPod) => string): number {
  return Math.max(0, ...[...Map.groupBy(found, by).values()].map(({ length }) => length));
}

function expectWithin(l: DeschedulingLimits, fake: FakeCluster): void {
  const found = leaving(fake);
  const byNode = most(found, (pod) => pod.nodeName);
  const byNamespace = most(found, (pod) => pod.namespace);
  expect(found.length).toBeLessThanOrEqual(l.evictionsTotal ?? Infinity);
  expect(byNode).toBeLessThanOrEqual(Math.min(l.evictionsPerNode ?? Infinity, l.evacuationsPerNode ?? Infinity));
  expect(byNamespace).toBeLessThanOrEqual(
    Math.min(l.evictionsPerNamespace ?? Infinity, l.evacuationsPerNamespace ?? Infinity),
  );
  for (const pod of found) expect(evacuationsOf(fake, pod.uid).filter(isActive).length).toBeLessThanOrEqual(1);
}

function becomes(does: "confirm" | "finish" | "cancel", uid: string, fake: FakeCluster): void {
  const pod = leaving(fake).find((one) => one.uid === uid);
  if (pod === undefined) return;
  switch (does) {
    case "confirm":
      return setStatus(fake, uid, { phase: "Migrating", reason: "Running" });
    case "finish":
      setStatus(fake, uid, { phase: "Moved" });
      return fake.pods.delete(pod);
    case "cancel":
      return setStatus(fake, uid, { phase: "Withdrawn" });
  }
}

function wait(seconds: number, fake: FakeCluster): void {
  for (const e of fake.evacuations.list(({ spec }) => spec.intent === "Withdrawn"))
    setStatus(fake, e.spec.pod?.uid ?? "", { phase: "Withdrawn" });
  const now = fake.now().getTime() + seconds * 1000;
  fake.now = () => new Date(now);
}

test("cycles never exceed a limit, request each VM's evacuation once, count every request, and release the Lease", async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(run, fc.scheduler(), async (reported, scheduler) => {
      const fake = clusterOf(...reported.pods.map(({ kind, ...place }, i) => PODS[kind](`p${i}`, place)));
      fake.now = () => NOW;
      let requested = 0;
      const run = async ({ order, at }: { readonly order: readonly number[]; readonly at: number }) => {
        const o = {
          order: order.map((i) => `p${i}`),
          policy: { limits: reported.limits },
          before: interleaved(scheduler),
          ...(reported.isReal ? { plugins: REAL_PLUGINS } : {}),
        };
        const running = Array.from({ length: at }, () => cycle(fake, o));
        for (const report of await scheduler.waitFor(Promise.all(running))) {
          for (const what of [report.ended, ...results(report), ...report.withdrawn.map(() => "Withdrawn")])
            seen.add(what);
          requested += results(report).filter((result) => result === "Background" || result === "Evicted").length;
        }
      };
      for (const one of reported.happenings) {
        if (one.does === "cycles") await run(one);
        else if (one.does === "wait") wait(one.seconds, fake);
        else becomes(one.does, `pod-p${one.pod}`, fake);
        expectWithin(reported.limits, fake);
        expect(leaseOf(fake).holder).toBeUndefined();
      }
    }),
    { seed: 20_260_301, numRuns: 60 },
  );
  const expected = [
    "Finished",
    "AnotherCycle",
    "Background",
    "Evicted",
    "InProgress",
    "Withdrawn",
    "evictionsTotal",
    "evacuationsPerNode",
  ];
  expect([...seen]).toEqual(expect.arrayContaining(expected));
  expect(LEASE_SECONDS).toBeGreaterThan(240);
});
