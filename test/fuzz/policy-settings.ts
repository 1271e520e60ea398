/**
 * Settings of every kind that a LifeboatConfiguration and a KubeVirt CR may lead to.
 * Owns: generating them. Does not own: the other facts (policy-facts.ts).
 */
import * as fc from "fast-check";
import { FEATURE_GATES, type Settings } from "../../shared/policy/settings.ts";
import { facts, few, number, strategy } from "./policy-words.ts";

/** A week at most. Of all doubles most are next to nothing. */
const seconds = fc.oneof(
  fc.double({ min: 0, max: 604_800, noNaN: true }),
  fc.integer({ min: 0, max: 604_800 }),
  fc.constantFrom(0, 5, 20, 120, 320),
);
const mode = fc.constantFrom(true, false, "Auto" as const);

export const settings: fc.Arbitrary<Settings> = facts(
  {
    kubevirtNamespace: fc.constant("kubevirt"),
    marking: fc.constantFrom("Impersonate" as const, "Evict" as const, "Auto" as const),
    featureGates: fc.oneof(fc.constantFrom([...FEATURE_GATES], []), fc.subarray([...FEATURE_GATES])),
    drainTaintKey: few("kubevirt.io/drain"),
    limits: fc.record({ parallelMigrationsPerCluster: number, parallelOutboundMigrationsPerNode: number }),
    reconcilers: fc.record({
      evacuation: mode,
      budget: fc.boolean(),
      annotations: mode,
      disruption: fc.boolean(),
      pressure: fc.boolean(),
    }),
    evacuation: fc.record({
      maxAttempts: fc.integer({ min: 1 }),
      backoffSeconds: seconds,
      maxBackoffSeconds: seconds,
      adoptSeconds: seconds,
    }),
    descheduling: fc.record({ intervalSeconds: seconds }),
    guard: fc.record({
      mode: fc.constantFrom("Off" as const, "Deny" as const, "Hold" as const, "Auto" as const),
      deadlineSeconds: fc.record({ Preemption: seconds, NoExecuteTaint: seconds }),
      maxHolds: fc.nat(),
      requesters: fc.constantFrom(["scheduler"], ["", "scheduler"]),
    }),
  },
  { clusterStrategy: strategy },
);
