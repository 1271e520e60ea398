/** Which strategy is in force: the VM's own, else the KubeVirt CR's, else None. */
import { expect, test } from "vitest";
import { resolveStrategy } from "../../shared/settings/strategy.ts";

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
  ["LiveMigrateIfPossible", "None",       "LiveMigrateIfPossible"],
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
