/**
 * Settings of every kind that a LifeboatConfiguration and a KubeVirt CR may lead to.
 * Owns: generating them, and telling settings that could never be generated. Does not own: the other facts (policy-facts.ts).
 */
import * as fc from "fast-check";
import { FEATURE_GATES, type Settings } from "../../shared/policy/settings.ts";
import { facts, few, number, strategy } from "./policy-words.ts";

const LONGEST_SECONDS = 604_800;

/** A week at most. Of all doubles most are next to nothing. */
const seconds = fc.oneof(
  fc.double({ min: 0, max: LONGEST_SECONDS, noNaN: true }),
  fc.integer({ min: 0, max: LONGEST_SECONDS }),
  fc.constantFrom(0, 5, 20, 120, 320),
);
const mode = fc.constantFrom("Auto", "Auto", "Enabled", "Disabled");

export const settings: fc.Arbitrary<Settings> = facts(
  {
    kubevirtNamespace: fc.constant("kubevirt"),
    marking: fc.constantFrom("Impersonate" as const, "Evict" as const, "Auto" as const),
    featureGates: fc.oneof(fc.constantFrom([...FEATURE_GATES], []), fc.subarray([...FEATURE_GATES])),
    drainTaintKey: few("kubevirt.io/drain"),
    evictionsCovered: fc.boolean(),
    limits: fc.record({ parallelMigrationsPerCluster: number, parallelOutboundMigrationsPerNode: number }),
    reconcilers: fc.record({
      evacuation: fc.boolean(),
      budget: mode,
      annotations: mode,
      disruption: fc.boolean(),
      pressure: fc.boolean(),
    }),
    evacuation: fc.record({
      maxAttempts: fc.integer({ min: 1 }),
      backoffSeconds: seconds,
      maxBackoffSeconds: seconds,
      adoptSeconds: seconds,
      stuckSeconds: seconds,
      historySeconds: seconds,
    }),
    descheduling: fc.record({ intervalSeconds: seconds }),
    guard: fc.record({
      mode: fc.constantFrom("Off" as const, "Deny" as const, "Hold" as const),
      deadlineSeconds: fc.record({ Preemption: seconds, NoExecuteTaint: seconds }),
      maxHolds: fc.nat(),
      requesters: fc.constantFrom(["scheduler"], ["", "scheduler"]),
    }),
  },
  { clusterStrategy: strategy },
);

const isSeconds = (value: unknown) => typeof value === "number" && value >= 0 && value <= LONGEST_SECONDS;
const isCount = (least: number) => (value: unknown) => Number.isSafeInteger(value) && Number(value) >= least;
const isOneOf =
  (...values: readonly unknown[]) =>
  (value: unknown) =>
    values.includes(value);
const isMode = isOneOf("Auto", "Enabled", "Disabled");
const isFlag = isOneOf(true, false);

/** Fields whose values are none of those above. */
export function unforeseen({ evacuation, guard, reconcilers, ...rest }: Settings): readonly string[] {
  const { deadlineSeconds } = guard;
  const fields: readonly (readonly [name: string, value: unknown, isForeseen: (value: unknown) => boolean])[] = [
    ["marking", rest.marking, isOneOf("Impersonate", "Evict", "Auto")],
    ...rest.featureGates.map((gate) => ["featureGates", gate, isOneOf(...FEATURE_GATES)] as const),
    ["reconcilers.evacuation", reconcilers.evacuation, isFlag],
    ["reconcilers.budget", reconcilers.budget, isMode],
    ["reconcilers.annotations", reconcilers.annotations, isMode],
    ["reconcilers.disruption", reconcilers.disruption, isFlag],
    ["reconcilers.pressure", reconcilers.pressure, isFlag],
    ["evacuation.maxAttempts", evacuation.maxAttempts, isCount(1)],
    ["evacuation.backoffSeconds", evacuation.backoffSeconds, isSeconds],
    ["evacuation.maxBackoffSeconds", evacuation.maxBackoffSeconds, isSeconds],
    ["evacuation.adoptSeconds", evacuation.adoptSeconds, isSeconds],
    ["evacuation.stuckSeconds", evacuation.stuckSeconds, isSeconds],
    ["evacuation.historySeconds", evacuation.historySeconds, isSeconds],
    ["descheduling.intervalSeconds", rest.descheduling.intervalSeconds, isSeconds],
    ["guard.mode", guard.mode, isOneOf("Off", "Deny", "Hold")],
    ["guard.deadlineSeconds.Preemption", deadlineSeconds.Preemption, isSeconds],
    ["guard.deadlineSeconds.NoExecuteTaint", deadlineSeconds.NoExecuteTaint, isSeconds],
    ["guard.maxHolds", guard.maxHolds, isCount(0)],
    ...guard.requesters.map((user) => ["guard.requesters", typeof user, isOneOf("string")] as const),
    ["guard.requesters", guard.requesters.length, isCount(1)],
  ];
  return fields.flatMap(([name, value, isForeseen]) => (isForeseen(value) ? [] : [name]));
}
