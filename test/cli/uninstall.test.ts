/** `lifeboat uninstall` takes what is Lifeboat's, and says what is left. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { podDisruptionBudgets } from "../../infra/sandbox/actors/resources.ts";
import { NAMESPACE, startTestCluster, type TestCluster } from "../functions/support/test-cluster.ts";
import { lifeboat } from "./lifeboat.ts";

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

test("marks are left: of VMs that run, where they run or where they were, and of none that has ended", async () => {
  await cluster.createVm({ name: "runs", strategy: "LiveMigrate", status: { evacuationNodeName: "node01" } });
  await cluster.createVm({ name: "moved", strategy: "LiveMigrate", status: { evacuationNodeName: "node09" } });
  const ended = { phase: "Succeeded", evacuationNodeName: "node01" };
  await cluster.createVm({ name: "ended", strategy: "LiveMigrate", status: ended });
  const { code, err } = await uninstall();
  expect(code).toBe(0);
  expect(err.filter((line) => line.startsWith("‼"))).toEqual([
    `‼ VM ${NAMESPACE}/moved is still marked, for a node that it has left:`,
    `‼ VM ${NAMESPACE}/runs is still marked: KubeVirt moves it. To keep it on node01:`,
  ]);
  expect(err).toContain(
    `    echo '{"evacuationNodeName":"node01"}' | kubectl replace --raw /apis/subresources.kubevirt.io/v1/namespaces/${NAMESPACE}/virtualmachineinstances/runs/evacuate/cancel -f -`,
  );
});
