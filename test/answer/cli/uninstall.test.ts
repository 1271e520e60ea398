/** `lifeboat uninstall` takes what is Lifeboat's, and says what is left. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { podDisruptionBudgets } from "../../../infra/sandbox/index.ts";
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
  expect({ code, out }).toEqual({ code: 0, out: expect.arrayContaining(["1 disruption budgets cleaned"]) });
  const { items } = await cluster.client.list(podDisruptionBudgets);
  expect(items.map(({ metadata }) => metadata.name).toSorted()).toEqual(["lifeboat-station", "quorum"]);
});
