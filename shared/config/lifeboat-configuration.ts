/**
 * LifeboatConfiguration: what a cluster's administrator may set, in ConfigMap `lifeboat-system/lifeboat`.
 * Owns: the keys, their defaults, and saying which one is wrong. Does not own: reading it (load-settings.ts).
 */
import * as z from "zod/mini";
import { CONFIG_KEY } from "../policy/names.ts";
import { DEFAULT_SETTINGS, FEATURE_GATES } from "../policy/settings.ts";
import { type Parsed, parseConfig } from "./problem.ts";

const LONGEST_SECONDS = 7 * 24 * 3600;
const SECONDS = `expected seconds, from 0 to ${LONGEST_SECONDS}`;
const seconds = (fallback: number) =>
  z._default(z.number(SECONDS).check(z.nonnegative(SECONDS), z.maximum(LONGEST_SECONDS, SECONDS)), fallback);
const count = (fallback: number) =>
  z._default(z.int("expected a whole number").check(z.minimum(1, "expected 1 or more")), fallback);
const flag = (fallback: boolean) => z._default(z.boolean("expected true or false"), fallback);
const mode = (fallback: boolean | "Auto") =>
  z._default(z.union([z.boolean(), z.literal("Auto")], "expected true, false or Auto"), fallback);

const { evacuation } = DEFAULT_SETTINGS;

const Reconcilers = z.lazy(() =>
  z.strictObject({
    evacuation: mode("Auto"),
    budget: flag(true),
    annotations: mode("Auto"),
    disruption: flag(true),
    pressure: flag(true),
  }),
);

const Evacuation = z.lazy(() =>
  z.strictObject({
    maxAttempts: count(evacuation.maxAttempts),
    backoffSeconds: seconds(evacuation.backoffSeconds),
    maxBackoffSeconds: seconds(evacuation.maxBackoffSeconds),
    adoptSeconds: seconds(evacuation.adoptSeconds),
  }),
);

const Guard = z.lazy(() =>
  z.strictObject({
    mode: z._default(z.enum(["Off", "Deny", "Hold", "Auto"], "expected Off, Deny, Hold or Auto"), "Auto"),
    deadlineSeconds: z.prefault(z.strictObject({ Preemption: seconds(120), NoExecuteTaint: seconds(300) }), {}),
    requesters: z._default(
      z.array(z.string("expected a username")).check(z.minLength(1, "expected at least one username")),
      [...DEFAULT_SETTINGS.guard.requesters],
    ),
    maxHolds: z._default(z.int("expected a whole number").check(z.nonnegative("expected 0 or more")), 8),
  }),
);

const gates = z.lazy(() => z.partialRecord(z.enum(FEATURE_GATES), z.boolean("expected true or false")));

const LifeboatConfigurationV1alpha1 = z.lazy(() =>
  z.strictObject({
    apiVersion: z.literal("lifeboat.dev/v1alpha1", "expected lifeboat.dev/v1alpha1"),
    kind: z.literal("LifeboatConfiguration", "expected LifeboatConfiguration"),
    featureGates: z._default(gates, {}),
    marking: z._default(z.enum(["Impersonate", "Evict", "Auto"], "expected Impersonate, Evict or Auto"), "Auto"),
    reconcilers: z.prefault(Reconcilers, {}),
    evacuation: z.prefault(Evacuation, {}),
    guard: z.prefault(Guard, {}),
    descheduling: z.prefault(z.strictObject({ intervalSeconds: seconds(0) }), {}),
  }),
);

export type LifeboatConfiguration = z.output<typeof LifeboatConfigurationV1alpha1>;

/** What counts for the keys that a configuration leaves out, or where there is none. */
export function defaultConfiguration(): LifeboatConfiguration {
  return LifeboatConfigurationV1alpha1.parse({ apiVersion: "lifeboat.dev/v1alpha1", kind: "LifeboatConfiguration" });
}

export async function parseConfiguration(text: string): Promise<Parsed<LifeboatConfiguration>> {
  const { parseYaml } = await import("./yaml.ts");
  const yaml = parseYaml(text, CONFIG_KEY);
  return yaml.ok ? parseConfig(LifeboatConfigurationV1alpha1, yaml.value, CONFIG_KEY) : yaml;
}
