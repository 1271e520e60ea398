/** What Lifeboat has to be allowed to do in a cluster, for the conditions of the LifeboatConfiguration. */
import { expect, test } from "vitest";
import { missingRights } from "../../../functions/conditions.ts";
import { DEFAULT_SETTINGS, type FeatureGate } from "../../../shared/settings/settings.ts";
import { at, asJson, textOf } from "../../support/json.ts";
import { connectTo, FakeCluster } from "../../support/fake-cluster.ts";

/** What is missing where nothing is granted on one resource. */
async function without(resource: string, gates: readonly FeatureGate[] = []): Promise<readonly string[]> {
  const cluster = connectTo(new FakeCluster(), (label, asked) => {
    if (label !== "create selfsubjectaccessreviews") return undefined;
    const named = textOf(at(asJson(asked?.body ?? {}), "spec", "resourceAttributes", "resource"));
    return Response.json({ status: { allowed: named !== resource } }, { status: 201 });
  });
  return await missingRights(cluster, { ...DEFAULT_SETTINGS, featureGates: gates });
}

const MIGRATIONS = "kubevirt.io/virtualmachineinstancemigrations";

// prettier-ignore
test.each<[string, readonly FeatureGate[], readonly string[]]>([
  ["virtualmachineinstancemigrations", [],                        ["list", "create", "patch", "delete"].map((verb) => `${verb} ${MIGRATIONS}`)],
  ["pods",                             [],                        ["get pods", "list pods", "create pods/eviction"]],
  ["pods",                             ["DeschedulerSupport"],    ["get pods", "list pods", "create pods/eviction", "patch pods"]],
  ["leases",                           [],                        []],
  ["leases",                           ["EvictionsInBackground"], ["get", "patch", "create"].map((verb) => `${verb} coordination.k8s.io/leases`)],
  ["secrets",                          [],                        []],
])("each right that is missing on %s is named, with the gates %j", async (resource, gates, expected) => {
  expect(await without(resource, gates)).toEqual(expected);
});
