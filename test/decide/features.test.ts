/**
 * Tests that the list of features is complete. Each feature gate, manifest and Event belongs to a feature, and
 * `lifeboat doctor` examines each feature.
 */
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { FEATURES, featuresOn, notesOn } from "../../shared/features.ts";
import type { Feature } from "../../shared/settings/feature.ts";
import { DEFAULT_SETTINGS, FEATURE_GATES, type FeatureGate } from "../../shared/settings/settings.ts";

const OPTIONAL = new URL("../../infra/kubernetes/optional/", import.meta.url);
const all: readonly Feature[] = FEATURES;

/**
 * Optional manifests that are not features: examples, and network policies that administrators adapt to their network.
 */
const NO_FEATURES = ["configuration", "descheduler-policy", "relay-network-policy", "server-network-policy"];

test("each folder of optional manifests belongs to a feature and has exactly the manifests of this feature", () => {
  const shipped = readdirSync(OPTIONAL)
    .filter((folder) => !NO_FEATURES.includes(folder))
    .flatMap((folder) => readdirSync(new URL(`${folder}/`, OPTIONAL)).map((file) => `${folder}/${file}`))
    .filter((file) => !file.endsWith("/kustomization.yaml"));
  const listed = all.flatMap(({ name, manifests }) => manifests.map((one) => `${name}/${one}.yaml`));
  expect(shipped.toSorted()).toEqual(listed.toSorted());
});

function namesOn(gate: FeatureGate): readonly string[] {
  const shield = { ...DEFAULT_SETTINGS.shield, maxPodGracePeriodSeconds: 300 };
  return featuresOn({ ...DEFAULT_SETTINGS, shield, featureGates: [gate] }).map(({ name }) => name);
}

test("each feature gate switches on a feature, and no feature is on without a gate", () => {
  expect(Object.fromEntries(FEATURE_GATES.map((gate) => [gate, namesOn(gate)]))).toEqual({
    DeschedulerSupport: ["descheduler-support"],
    EvictionsInBackground: ["descheduling"],
    NodePressureEvictionLiveMigration: ["shield", "pressure"],
    PreemptionEvictionLiveMigration: ["guard"],
    NoExecuteTaintEvictionLiveMigration: ["guard"],
    NodeTerminationEvictionLiveMigration: ["guard"],
  });
  expect(featuresOn(DEFAULT_SETTINGS)).toEqual([]);
  expect(notesOn(DEFAULT_SETTINGS)).toEqual([]);
});

test("each Event belongs to one feature", () => {
  const events = all.flatMap(({ events: own = [] }) => own);
  expect(events.toSorted()).toEqual([...new Set(events)].toSorted());
});
