/** Which strategy is in force: the VM's own, else the KubeVirt CR's, else None. */
import { expect, test } from "vitest";
import { EVICTION_STRATEGIES, MIGRATES, mobilityOf, resolveStrategy } from "../../shared/policy/strategy.ts";
import { MOBILITY, vmi } from "./fixtures.ts";

// prettier-ignore
test.each([
  // VMI           KubeVirt CR    in force
  [undefined,      undefined,     "None"],
  ["",             "",            "None"],
  [undefined,      "LiveMigrate", "LiveMigrate"],
  ["",             "External",    "External"],
  ["None",         "LiveMigrate", "None"],
  ["LiveMigrate",  "None",        "LiveMigrate"],
  ["External",     undefined,     "External"],
  ["LiveMigrate",  "Odd",         "LiveMigrate"],
])("VMI %j, KubeVirt CR %j: %s", (ofVmi, ofCluster, strategy) => {
  expect(resolveStrategy(ofVmi, ofCluster)).toEqual({ known: true, strategy });
});

// prettier-ignore
test.each([
  ["Odd",       undefined, "spec.evictionStrategy",                                         "Odd"],
  ["Odd",       "None",    "spec.evictionStrategy",                                         "Odd"],
  [undefined,   "Odd",     "spec.configuration.evictionStrategy of the KubeVirt CR",        "Odd"],
  ["none",      undefined, "spec.evictionStrategy",                                         "none"],
  ["toString",  undefined, "spec.evictionStrategy",                                         "toString"],
])("VMI %j, KubeVirt CR %j: unknown, in %s", (ofVmi, ofCluster, field, value) => {
  expect(resolveStrategy(ofVmi, ofCluster)).toEqual({ known: false, field, value });
});

test.each(EVICTION_STRATEGIES)("%s is known", (s) => {
  expect(resolveStrategy(s, undefined)).toEqual({ known: true, strategy: s });
});

// prettier-ignore
test.each([
  ["None",                  "migratable", false],
  ["None",                  "pinned",     false],
  ["LiveMigrate",           "migratable", true],
  ["LiveMigrate",           "pinned",     false],
  ["LiveMigrateIfPossible", "migratable", true],
  ["LiveMigrateIfPossible", "pinned",     false],
  ["External",              "migratable", false],
  ["External",              "pinned",     false],
] as const)("%s, %s: Lifeboat migrates it away: %s", (strategy, mobility, migrates) => {
  const { liveMigratable } = vmi({ liveMigratable: MOBILITY[mobility] });
  expect(MIGRATES[strategy] && liveMigratable.migratable).toBe(migrates);
  expect(mobilityOf(vmi({ liveMigratable }))).toBe(mobility);
});
