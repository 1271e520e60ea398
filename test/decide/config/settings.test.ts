/** The LifeboatConfiguration and the KubeVirt CR: every key, what is said about a wrong one, and the settings that both make. */
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

test("absent keys take the defaults of the settings", () => {
  const { featureGates: _, ...defaults } = defaultConfiguration();
  expect(DEFAULT_SETTINGS).toMatchObject(defaults);
});

// prettier-ignore
test.each([
  ["durations with fractions",     { evacuation: { backoffSeconds: 0.25, maxBackoffSeconds: 0.5, adoptSeconds: 0 } }],
])("%s: the rest keeps its defaults", (_, tweak) => {
  const parsed = parseConfiguration(tweak);
  expect(parsed).toMatchObject({ value: tweak, problems: [] });
  expect(Object.keys(parsed.value)).toEqual(Object.keys(defaultConfiguration()));
});

const GATES = { DeschedulerSupport: true, PreemptionEvictionLiveMigration: true };

describe("a wrong value: which key, and what was expected; it has its default, and all else is in force", () => {
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
  ])("%s", (field, tweak, message) => {
    expect(parseConfiguration(tweak)).toEqual({
      value: defaultConfiguration(),
      problems: [{ field: `spec.${field}`, message: expect.stringContaining(message) }],
    });
  });

  test("an object that a newer version wrote: its gates, values and sections are named, and the rest is in force", () => {
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

  test("what is no object at all: the defaults", () => {
    for (const spec of ["text", 7, [], null])
      expect(parseConfiguration(spec)).toMatchObject({ value: defaultConfiguration(), problems: [{ field: "spec" }] });
  });

  test("all of them at once", () => {
    const parsed = parseConfiguration({ guard: 1, evacuation: { maxAttempts: -1 } });
    expect(parsed.problems.map(({ field }) => field)).toEqual(["spec.evacuation.maxAttempts", "spec.guard"]);
  });
});

const KUBEVIRT: KubeVirtFacts = { namespace: "kubevirt", featureGates: [] };

function merged(kubevirt: Partial<KubeVirtFacts>, own: Partial<ConfigurationSpec> = {}) {
  return mergeSettings({ ...KUBEVIRT, ...kubevirt }, { ...defaultConfiguration(), ...own });
}

test("without a KubeVirt CR and without a configuration, the defaults", () => {
  expect(mergeSettings(undefined, defaultConfiguration())).toMatchObject(DEFAULT_SETTINGS);
  expect(merged({})).toMatchObject(DEFAULT_SETTINGS);
});

// prettier-ignore
test.each([
  ["cluster strategy",           { evictionStrategy: "External" },            { clusterStrategy: "External" }],
  ["drain taint",                { drainTaintKey: "drain" },                  { drainTaintKey: "drain" }],
  ["one limit",                  { parallelMigrationsPerCluster: 1 },         { limits: { parallelMigrationsPerCluster: 1, parallelOutboundMigrationsPerNode: 2 } }],
  ["the other limit",            { parallelOutboundMigrationsPerNode: 9 },    { limits: { parallelMigrationsPerCluster: 5, parallelOutboundMigrationsPerNode: 9 } }],
  ["bandwidth",                  { bandwidthPerMigration: 9 },                { limits: { ...DEFAULT_SETTINGS.limits, bandwidthPerMigration: 9 } }],
])("of the KubeVirt CR: %s", (_, kubevirt, settings) => {
  expect(merged(kubevirt)).toMatchObject({ ...DEFAULT_SETTINGS, ...settings });
});

describe("feature gates are the union of both lists", () => {
  const gate = "DeschedulerSupport";
  // prettier-ignore
  test.each([
    [[gate],                   {},               [gate]],
    [[],                       { [gate]: true },  [gate]],
    [[gate],                   { [gate]: false }, [gate]],
    [[],                       { [gate]: false }, []],
    [["LiveMigration", "Root"], {},              []],
  ])("KubeVirt %j, ours %j: %j", (featureGates, own, expected) => {
    expect(merged({ featureGates }, { featureGates: own }).featureGates).toEqual(expected);
  });
});

describe("remarks", () => {
  const IDLE = "descheduling.intervalSeconds has no effect without the feature gate EvictionsInBackground";

  // prettier-ignore
  test.each([
    [0,  [],                        []],
    [60, ["EvictionsInBackground"], []],
    [60, [],                        [IDLE]],
  ])("interval %s s, gates %j: %j", (intervalSeconds, featureGates, notes) => {
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
  // VMI                   KubeVirt CR    in force
  [undefined,              undefined,     "None"],
  [undefined,              "LiveMigrate", "LiveMigrate"],
  ["",                     "External",    "External"],
  ["None",                 "LiveMigrate", "None"],
  ["LiveMigrate",          "None",        "LiveMigrate"],
])("VMI %j, KubeVirt CR %j: %s", (own, ofCluster, strategy) => {
  expect(resolved(own, ofCluster)).toEqual({ known: true, strategy });
});

// prettier-ignore
test.each([
  ["Odd",       undefined, "spec.evictionStrategy",                                         "Odd"],
  [undefined,   "Odd",     "spec.configuration.evictionStrategy of the KubeVirt CR",        "Odd"],
  ["none",      undefined, "spec.evictionStrategy",                                         "none"],
])("VMI %j, KubeVirt CR %j: unknown, in %s", (own, ofCluster, field, value) => {
  expect(resolved(own, ofCluster)).toEqual({ known: false, field, value });
});
