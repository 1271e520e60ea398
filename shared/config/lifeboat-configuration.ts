/**
 * LifeboatConfiguration: what a cluster's administrator may set, in the custom resource `lifeboat`.
 * Owns: the keys of its spec, their defaults, and saying which one is wrong. Does not own: reading it (load-settings.ts).
 *
 * The API server checks the same by the CustomResourceDefinition; a cluster may have an older or a newer one.
 */
import * as z from "zod/mini";
import { DEFAULT_SETTINGS, FEATURE_GATES } from "../policy/settings.ts";
import { type Parsed, parseConfig } from "./problem.ts";

const LONGEST_SECONDS = 7 * 24 * 3600;
const SECONDS = `expected seconds, from 0 to ${LONGEST_SECONDS}`;
const seconds = (fallback: number) =>
  z._default(z.number(SECONDS).check(z.nonnegative(SECONDS), z.maximum(LONGEST_SECONDS, SECONDS)), fallback);
const count = (fallback: number) =>
  z._default(z.int("expected a whole number").check(z.minimum(1, "expected 1 or more")), fallback);
const flag = (fallback: boolean) => z._default(z.boolean("expected true or false"), fallback);
const oneOf = <const V extends string>(fallback: NoInfer<V>, values: readonly V[]) =>
  z._default(z.enum(values, `expected one of ${values.join(", ")}`), fallback);
const MODES = ["Auto", "Enabled", "Disabled"] as const;

const { marking, reconcilers, evacuation, guard, shield, descheduling } = DEFAULT_SETTINGS;

const Reconcilers = z.lazy(() =>
  z.object({
    evacuation: flag(reconcilers.evacuation),
    budget: oneOf(reconcilers.budget, MODES),
    annotations: oneOf(reconcilers.annotations, MODES),
    disruption: flag(reconcilers.disruption),
    pressure: flag(reconcilers.pressure),
  }),
);

const Evacuation = z.lazy(() =>
  z.object({
    maxAttempts: count(evacuation.maxAttempts),
    backoffSeconds: seconds(evacuation.backoffSeconds),
    maxBackoffSeconds: seconds(evacuation.maxBackoffSeconds),
    adoptSeconds: seconds(evacuation.adoptSeconds),
    stuckSeconds: seconds(evacuation.stuckSeconds),
    cooldownSeconds: seconds(evacuation.cooldownSeconds),
    historySeconds: seconds(evacuation.historySeconds),
    withdrawOnUncordon: flag(evacuation.withdrawOnUncordon),
  }),
);

const Guard = z.lazy(() =>
  z.object({
    deadlineSeconds: z.prefault(
      z.object({
        Preemption: seconds(guard.deadlineSeconds.Preemption),
        NoExecuteTaint: seconds(guard.deadlineSeconds.NoExecuteTaint),
        NodeTermination: seconds(guard.deadlineSeconds.NodeTermination),
      }),
      {},
    ),
    requesters: z._default(
      z.array(z.string("expected a username")).check(z.minLength(1, "expected at least one username")),
      [...guard.requesters],
    ),
    nodeTerminators: z._default(z.array(z.string("expected a username")), [...guard.nodeTerminators]),
  }),
);

const Shield = z.lazy(() =>
  z.object({
    maxPodGracePeriodSeconds: seconds(shield.maxPodGracePeriodSeconds),
    shutdownSeconds: seconds(shield.shutdownSeconds),
  }),
);

const gates = z.lazy(() => z.partialRecord(z.enum(FEATURE_GATES), z.boolean("expected true or false")));

const Spec = z.lazy(() =>
  z.object({
    featureGates: z._default(gates, {}),
    marking: oneOf(marking, ["Auto", "Impersonate", "Evict"]),
    reconcilers: z.prefault(Reconcilers, {}),
    evacuation: z.prefault(Evacuation, {}),
    guard: z.prefault(Guard, {}),
    shield: z.prefault(Shield, {}),
    descheduling: z.prefault(z.object({ intervalSeconds: seconds(descheduling.intervalSeconds) }), {}),
  }),
);

/** The spec, with every key. */
export type LifeboatConfiguration = z.output<typeof Spec>;

/** What counts for the keys that a configuration leaves out, or where there is none. */
export function defaultConfiguration(): LifeboatConfiguration {
  return Spec.parse({});
}

export function parseConfiguration(spec: unknown): Parsed<LifeboatConfiguration> {
  return parseConfig(Spec, spec, "spec");
}
