/**
 * Tests the LifeboatConfiguration and the KubeVirt CR: every field, the message about a wrong value, and the resulting
 * settings.
 */
import { describe, expect, test } from "vitest";
import { notesOn } from "../../../shared/features.ts";
import { DEFAULT_SETTINGS } from "../../../shared/settings/settings.ts";
import {
  defaultConfiguration,
  parseConfiguration,
  type ConfigurationSpec,
  mergeSettings,
} from "../../../shared/settings/configuration.ts";
import type { KubeVirtFacts } from "../../../shared/kube/schemas/kubevirt.ts";
import { resolveStrategy } from "../../../shared/settings/strategy.ts";

const SECONDS = "expected seconds, from 0 to 604800";
const MODE = "expected one of Auto, Always, Never";

test("absent keys have the defaults of the settings", () => {
  const { featureGates: _, ...defaults } = defaultConfiguration();
  expect(DEFAULT_SETTINGS).toMatchObject(defaults);
});

// prettier-ignore
test.each([
  ["durations may have fractions",     { evacuation: { backoffSeconds: 0.25, maxBackoffSeconds: 0.5, adoptSeconds: 0 } }],
])("%s, and other keys keep their defaults", (_, tweak) => {
  const parsed = parseConfiguration(tweak);
  expect(parsed).toMatchObject({ value: tweak, problems: [] });
  expect(Object.keys(parsed.value)).toEqual(Object.keys(defaultConfiguration()));
});

const GATES = { DeschedulerSupport: true, PreemptionEvictionLiveMigration: true };

describe("a wrong value is reported with its key and the expected value, and gets its default", () => {
  // prettier-ignore
  test.each([
    ["featureGates",                              { featureGates: ["DeschedulerSupport"] },               "expected record"],
    ["featureGates.DeschedulerSupport",           { featureGates: { DeschedulerSupport: "yes" } },        "expected true or false"],
    ["featureGates.deschedulerSupport",           { featureGates: { deschedulerSupport: true } },         "unknown key"],
    ["webhooks",                                  { webhooks: {} },                                       "unknown key"],
    ["guard.mode",                                { guard: { mode: "Strict" } },                          "unknown key"],
    ["disruptionBudgets",                         { disruptionBudgets: "On" },                            MODE],
    ["evacuation",                                { evacuation: true },                                   "expected object"],
    ["evacuation.maxAttempts",                    { evacuation: { maxAttempts: 0 } },                     "expected 1 or more"],
    ["evacuation.maxAttempts",                    { evacuation: { maxAttempts: 2.5 } },                   "expected a whole number"],
    ["evacuation.backoffSeconds",                 { evacuation: { backoffSeconds: -1 } },                 SECONDS],
    ["evacuation.historySeconds",                 { evacuation: { historySeconds: 604_801 } },            SECONDS],
    ["maintenance.historySeconds",                { maintenance: { historySeconds: 7_776_001 } },         "expected seconds, from 0 to 7776000"],
    ["guard.requesters",                          { guard: { requesters: [] } },                          "expected at least one username"],
  ])("for the key %s: %j", (field, tweak, message) => {
    expect(parseConfiguration(tweak)).toEqual({
      value: defaultConfiguration(),
      problems: [{ field: `spec.${field}`, message: expect.stringContaining(message) }],
    });
  });

  test("for the unknown gates, values and sections of a newer version; all other keys apply", () => {
    const newer = {
      featureGates: { ...GATES, GateOfANewerVersion: true },
      disruptionBudgets: "Sometimes",
      evacuation: { maxAttempts: 7, backoffSeconds: { base: 1 } },
      sectionOfANewerVersion: { a: 1 },
    };
    const { value, problems } = parseConfiguration(newer);
    expect(problems.map(({ field }) => field)).toEqual([
      "spec.featureGates.GateOfANewerVersion",
      "spec.disruptionBudgets",
      "spec.evacuation.backoffSeconds",
      "spec.sectionOfANewerVersion",
    ]);
    const { disruptionBudgets, evacuation } = defaultConfiguration();
    expect(value).toMatchObject({
      featureGates: GATES,
      disruptionBudgets,
      evacuation: { ...evacuation, maxAttempts: 7 },
    });
  });

  test("for a spec that is not an object", () => {
    for (const spec of ["text", 7, [], null])
      expect(parseConfiguration(spec)).toMatchObject({ value: defaultConfiguration(), problems: [{ field: "spec" }] });
  });

  test("for several wrong values at once", () => {
    const parsed = parseConfiguration({ guard: 1, evacuation: { maxAttempts: -1 } });
    expect(parsed.problems.map(({ field }) => field)).toEqual(["spec.evacuation.maxAttempts", "spec.guard"]);
  });
});

const KUBEVIRT: KubeVirtFacts = { namespace: "kubevirt", featureGates: [] };

function merged(kubevirt: Partial<KubeVirtFacts>, own: Partial<ConfigurationSpec> = {}) {
  return mergeSettings({ ...KUBEVIRT, ...kubevirt }, { ...defaultConfiguration(), ...own });
}

test("without a KubeVirt CR and a configuration, the settings are the defaults", () => {
  expect(mergeSettings(undefined, defaultConfiguration())).toMatchObject(DEFAULT_SETTINGS);
  expect(merged({})).toMatchObject(DEFAULT_SETTINGS);
});

// prettier-ignore
test.each([
  ["the eviction strategy",                 { evictionStrategy: "External" },            { clusterStrategy: "External" }],
  ["the key of the drain taint",            { drainTaintKey: "drain" },                  { drainTaintKey: "drain" }],
  ["one migration limit",                   { parallelMigrationsPerCluster: 1 },         { limits: { parallelMigrationsPerCluster: 1, parallelOutboundMigrationsPerNode: 2 } }],
  ["the other migration limit",             { parallelOutboundMigrationsPerNode: 9 },    { limits: { parallelMigrationsPerCluster: 5, parallelOutboundMigrationsPerNode: 9 } }],
  ["the bandwidth per migration",           { bandwidthPerMigration: 9 },                { limits: { ...DEFAULT_SETTINGS.limits, bandwidthPerMigration: 9 } }],
])("the settings take %s from the KubeVirt CR", (_, kubevirt, settings) => {
  expect(merged(kubevirt)).toMatchObject({ ...DEFAULT_SETTINGS, ...settings });
});

describe("a feature gate is on if the KubeVirt CR or the LifeboatConfiguration names the gate", () => {
  const gate = "DeschedulerSupport";
  // prettier-ignore
  test.each([
    [[gate],                   {},               [gate]],
    [[],                       { [gate]: true },  [gate]],
    [[gate],                   { [gate]: false }, [gate]],
    [[],                       { [gate]: false }, []],
    [["LiveMigration", "Root"], {},              []],
  ])("KubeVirt CR %j, LifeboatConfiguration %j: %j", (featureGates, own, expected) => {
    expect(merged({ featureGates }, { featureGates: own }).featureGates).toEqual(expected);
  });
});

describe("a setting without effect is noted", () => {
  const IDLE = "descheduling.intervalSeconds has no effect without the feature gate EvictionsInBackground";

  // prettier-ignore
  test.each([
    [0,  [],                        []],
    [60, ["EvictionsInBackground"], []],
    [60, [],                        [IDLE]],
  ])("intervalSeconds %s, feature gates %j: %j", (intervalSeconds, featureGates, notes) => {
    expect(notesOn(merged({ featureGates }, { descheduling: { intervalSeconds } }))).toEqual(notes);
  });
});

function resolved(evictionStrategy?: string, clusterStrategy?: string) {
  return resolveStrategy(
    evictionStrategy === undefined ? {} : { evictionStrategy },
    clusterStrategy === undefined ? {} : { clusterStrategy },
  );
}

// prettier-ignore
test.each([
  // VMI                   KubeVirt CR    resolved
  [undefined,              undefined,     "None"],
  [undefined,              "LiveMigrate", "LiveMigrate"],
  ["",                     "External",    "External"],
  ["None",                 "LiveMigrate", "None"],
  ["LiveMigrate",          "None",        "LiveMigrate"],
])("eviction strategy %j of the VMI and %j of the KubeVirt CR resolve to %s", (own, ofCluster, strategy) => {
  expect(resolved(own, ofCluster)).toEqual({ known: true, strategy });
});

// prettier-ignore
test.each([
  ["Odd",       undefined, "spec.evictionStrategy",                                         "Odd"],
  [undefined,   "Odd",     "spec.configuration.evictionStrategy of the KubeVirt CR",        "Odd"],
  ["none",      undefined, "spec.evictionStrategy",                                         "none"],
])("eviction strategy %j of the VMI and %j of the KubeVirt CR is unknown, because of %s", (own, ofCluster, field, value) => {
  expect(resolved(own, ofCluster)).toEqual({ known: false, field, value });
});
