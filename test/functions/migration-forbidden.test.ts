/** Migrations that the API server does not let us create (a quota, a policy, a permission): tried, counted, given up. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type * as core from "../../infra/sandbox/actors/resources.ts";
import { asWebhook, openDoors } from "./support/doors.ts";
import { startTestCluster, type TestCluster } from "./support/test-cluster.ts";

interface Role extends core.KubeObject {
  readonly rules: readonly { readonly resources?: readonly string[]; readonly verbs: readonly string[] }[];
}

const CLUSTER_ROLES: core.Resource<Role> = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
};

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
  await cluster.configure({ reconcilers: { evacuation: true, budget: false }, evacuation: { maxAttempts: 2 } });
  const role = await cluster.client.get(CLUSTER_ROLES, { name: "lifeboat" });
  const rules = role?.rules.map((rule) => {
    const migrations = rule.resources?.includes("virtualmachineinstancemigrations") === true;
    return migrations ? { ...rule, verbs: rule.verbs.filter((verb) => verb !== "create") } : rule;
  });
  await cluster.client.patch(CLUSTER_ROLES, { name: "lifeboat" }, { type: "merge", body: { rules } });
});
afterEach(() => cluster.stop());

test("each is an attempt, with its back-off; after the last one the mark goes, and Events say why", async () => {
  const doors = openDoors({ CLUSTERS: { prod: cluster.entry } });
  await cluster.createVm({ name: "web", strategy: "LiveMigrate", status: { evacuationNodeName: "node01" } });
  for (const _ of [1, 2, 3]) {
    await doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
    await doors.settle();
  }
  expect((await cluster.getVmi("web"))?.status?.evacuationNodeName).toBeUndefined();
  const story = await cluster.storyOf("web");
  expect(story.filter((reason) => reason === "MigrationRefused")).toHaveLength(2);
  expect(story).toContain("EvacuationAbandoned");
});
