/** What only a preflight reads, from JSON to facts. */
import { expect, test } from "vitest";
import { KubeVirt } from "../../shared/cluster/kinds/kubevirt.ts";
import { PersistentVolume } from "../../shared/cluster/kinds/preflight.ts";

const CLAIM = { namespace: "apps", name: "root" };
const terms = [{ matchExpressions: [{ key: "zone", operator: "In", values: ["1"] }] }];
const LOCAL = { required: { nodeSelectorTerms: terms } };
const BOUND = { phase: "Bound" };
const reachedFrom = [{ matchExpressions: [{ key: "zone", operator: "In", values: ["1"] }], matchFields: [] }];

// prettier-ignore
test.each<[string, object, object | undefined]>([
  ["that some nodes reach",           { spec: { claimRef: CLAIM, nodeAffinity: LOCAL }, status: BOUND },                  { namespace: "apps", claim: "root", reachedFrom }],
  ["that every node reaches",         { spec: { claimRef: CLAIM }, status: BOUND },                                       undefined],
  ["… with nulls",                    { spec: { claimRef: CLAIM, nodeAffinity: null }, status: BOUND },                   undefined],
  ["of no claim",                     { spec: { nodeAffinity: LOCAL }, status: { phase: "Available" } },                  undefined],
  ["whose claim is gone",             { spec: { claimRef: CLAIM, nodeAffinity: LOCAL }, status: { phase: "Released" } },  undefined],
])("a PersistentVolume %s", (_, volume, expected) => {
  expect(PersistentVolume.parse(volume)).toEqual(expected);
});

// prettier-ignore
test.each<[unknown, number | undefined]>([
  ["64Mi",    64 * 1024 ** 2],
  ["1G",      1e9],
  [1000,      1000],
  ["0Mi",     undefined],
  [null,      undefined],
  [undefined, undefined],
])("bandwidthPerMigration %j is %j bytes per second", (bandwidthPerMigration, expected) => {
  const metadata = { namespace: "kubevirt", name: "kubevirt", uid: "u", resourceVersion: "1" };
  const { bandwidthPerMigration: read } = KubeVirt.parse({ metadata, spec: { configuration: { migrations: { bandwidthPerMigration } } } });
  expect(read).toBe(expected);
});
