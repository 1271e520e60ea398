/** `lifeboat uninstall` takes what is Lifeboat's, and says what is left. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { podDisruptionBudgets, type Resource } from "../../../infra/sandbox/index.ts";
import { nodeEvacuations } from "../../../infra/lab/stage/evacuations.ts";
import { NAMESPACE, startTestCluster, type TestCluster } from "../../support/test-cluster.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

let cluster: TestCluster;
beforeEach(async () => void (cluster = await startTestCluster()));
afterEach(() => cluster.stop());

const uninstall = () => lifeboat("uninstall --yes", { kubeconfig: cluster.kubeconfig });

test("budgets that Lifeboat has made, and no other product's of the same label", async () => {
  const spec = { minAvailable: 1, selector: { matchLabels: { app: "db" } } };
  const create = (name: string, label: string) =>
    cluster.client.create(podDisruptionBudgets, {
      metadata: { namespace: NAMESPACE, name, labels: { "app.kubernetes.io/managed-by": label } },
      spec,
    });
  await create("lifeboat-web", "lifeboat");
  await create("quorum", "lifeboat");
  await create("lifeboat-station", "helm");
  const { code, out } = await uninstall();
  expect({ code, out }).toEqual({ code: 0, out: expect.arrayContaining(["cleaned disruption budgets: 1"]) });
  const { items } = await cluster.client.list(podDisruptionBudgets);
  expect(items.map(({ metadata }) => metadata.name).toSorted()).toEqual(["lifeboat-station", "quorum"]);
});

test("nodes that nothing takes up are named, and it goes on", async () => {
  await cluster.client.create(nodeEvacuations, { metadata: { name: "kernel" }, spec: { nodeName: "node01" } });
  const { code, out, err } = await uninstall();
  expect({ code, out, err }).toEqual({
    code: 0,
    out: expect.arrayContaining(["nodeevacuation.lifeboat.dev/kernel withdrawn"]),
    err: expect.arrayContaining([expect.stringMatching(/^‼ Of these nodes the cordon stays.*: node01$/)]),
  });
});

const definitions: Resource = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};

// prettier-ignore
test.each([
  ["it was interrupted, or of a version that had none", ["nodeevacuations.lifeboat.dev"]],
  ["KubeVirt is gone already",                          ["kubevirts", "virtualmachineinstances", "virtualmachineinstancemigrations"].map((name) => `${name}.kubevirt.io`)],
])("where a kind is missing: %s", async (_, missing) => {
  for (const name of missing) await cluster.client.delete(definitions, { name });
  const { code, err } = await uninstall();
  expect({ code, err }).toEqual({ code: 0, err: expect.arrayContaining([expect.stringMatching(/^Left: /)]) });
  const { items } = await cluster.client.list(definitions);
  expect(items.filter(({ metadata }) => metadata.name?.endsWith(".lifeboat.dev"))).toEqual([]);
});
