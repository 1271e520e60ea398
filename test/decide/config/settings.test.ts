/** The KubeVirt CR and the LifeboatConfiguration, merged. */
import { describe, expect, test } from "vitest";
import type { KubeVirtFacts } from "../../../shared/kube/schemas/kubevirt.ts";
import {
  defaultConfiguration,
  type LifeboatConfiguration,
  mergeSettings,
  notesOn,
} from "../../../shared/settings/configuration.ts";
import { DEFAULT_SETTINGS } from "../../../shared/settings/settings.ts";

const KUBEVIRT: KubeVirtFacts = { namespace: "kubevirt", featureGates: [] };

function merged(kubevirt: Partial<KubeVirtFacts>, own: Partial<LifeboatConfiguration> = {}) {
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

test("of the configuration: what this version's reconcilers read", () => {
  const evacuation = { ...DEFAULT_SETTINGS.evacuation, maxAttempts: 1, backoffSeconds: 2 };
  const own = { evacuation, disruptionBudgets: "Never" } as const;
  expect(merged({}, own)).toMatchObject(own);
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
