/** Webhooks that say whether evictions pass unreviewed: KubeVirt's own and the guard's, as they are in an API server. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Manifest } from "../../infra/sandbox/actors/rbac.ts";
import type { KubeObject, Resource } from "../../infra/sandbox/actors/resources.ts";
import { webhookConfigurations } from "../../infra/sandbox/kubevirt/webhooks/configurations.ts";
import { applyManifests } from "../../infra/sandbox/manifests.ts";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { areEvictionsCovered } from "../../shared/policy/budget/budget-mode.ts";
import { GUARD_WEBHOOKS, KUBEVIRT_WEBHOOKS } from "../../shared/policy/names.ts";
import { startTestCluster, type TestCluster } from "../functions/support/test-cluster.ts";
import { settings } from "../policy/fixtures.ts";
import { connectTo } from "./connected.ts";

interface Webhook {
  readonly name: string;
}
interface Configuration extends KubeObject {
  readonly webhooks: readonly Webhook[];
}
const CONFIGURATIONS: Resource<Configuration> = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
};
const GUARDED = settings({ featureGates: ["PreemptionEvictionLiveMigration"] });

let world: TestCluster;
let cluster: Cluster;
let kubevirt: Manifest;
beforeAll(async () => {
  world = await startTestCluster(["optional/guard.yaml"]);
  cluster = connectTo(world.entry);
  const [, validating] = webhookConfigurations({ url: "https://127.0.0.1:1", caPem: "" }, { evictionWebhook: true });
  if (validating === undefined) throw new Error("KubeVirt has no webhooks");
  kubevirt = validating;
});
afterAll(() => world.stop());

/** KubeVirt's webhook for launcher pods, changed; the others as they are. */
async function withInterceptor(change: object): Promise<void> {
  await world.client.delete(CONFIGURATIONS, { name: KUBEVIRT_WEBHOOKS });
  await applyManifests(world.client, [kubevirt]);
  const found = await world.client.get(CONFIGURATIONS, { name: KUBEVIRT_WEBHOOKS });
  const webhooks = found?.webhooks.map((one) => (one.name.startsWith("virt-launcher-") ? { ...one, ...change } : one));
  await world.client.patch(CONFIGURATIONS, { name: KUBEVIRT_WEBHOOKS }, { type: "merge", body: { webhooks } });
}

async function areCovered(): Promise<boolean> {
  const [seen, guard] = await Promise.all([
    cluster.getWebhooks(KUBEVIRT_WEBHOOKS),
    cluster.getWebhooks(GUARD_WEBHOOKS),
  ]);
  return areEvictionsCovered({ kubevirt: seen, guard }, GUARDED);
}

// prettier-ignore
test.each<[string, object, boolean]>([
  ["as upstream has it",                      {},                                                             true],
  ["it fails open",                           { failurePolicy: "Ignore" },                                    false],
  ["some namespaces are left out",            { namespaceSelector: { matchLabels: { team: "a" } } },          false],
  ["… by an expression",                      { namespaceSelector: { matchExpressions: [{ key: "team", operator: "Exists" }] } }, false],
  ["some pods are left out",                  { objectSelector: { matchLabels: { app: "a" } } },              false],
  ["selectors that leave nothing out",        { namespaceSelector: {}, objectSelector: {} },                  true],
  ["a condition of another party's",          { matchConditions: [{ name: "x", expression: "request.userInfo.username != 'admin'" }] }, false],
  ["no condition",                            { matchConditions: [] },                                        true],
  ["deletions only",                          { rules: [{ operations: ["DELETE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods/eviction"] }] }, false],
  ["pods, not their evictions",               { rules: [{ operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }] }, false],
])("KubeVirt's webhook: %s", async (_, change, covered) => {
  await withInterceptor(change);
  expect(await areCovered()).toBe(covered);
});

test("none where there is no such configuration, or it may not be read", async () => {
  await withInterceptor({});
  expect(await cluster.getWebhooks("another")).toBeUndefined();
  await world.client.delete(CONFIGURATIONS, { name: GUARD_WEBHOOKS });
  expect(await areCovered()).toBe(false);
});
