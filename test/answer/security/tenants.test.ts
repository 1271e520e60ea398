/** What tenants leave in their namespace, in an API server: the VMs of others are looked after as if it were not there. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createBareNode } from "../../support/bare-node.ts";
import * as core from "../../../infra/sandbox/actors/resources.ts";
import { asWebhook, type Doors, openDoors } from "../../support/doors.ts";
import { allowance, evictionOf, review } from "../../support/reviews.ts";
import { NAMESPACE, startTestCluster, type TestCluster } from "../../support/test-cluster.ts";

const TENANT = "tenant";
let cluster: TestCluster;
let doors: Doors;
beforeAll(async () => {
  cluster = await startTestCluster();
  await cluster.client.create(core.namespaces, { metadata: { name: TENANT } });
  await cluster.configure({ featureGates: { NodePressureEvictionLiveMigration: true } });
  doors = openDoors({ CLUSTERS: { prod: cluster.entry } });
});
afterAll(() => cluster.stop());

async function reconcile(): Promise<void> {
  const answer = await doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  expect(answer).toMatchObject({ code: 200, body: { failures: 0 } });
  await doors.settle();
}

/** Budgets of the VM's namespace, by name. */
async function budgets(): Promise<readonly string[]> {
  return (await cluster.client.list(core.podDisruptionBudgets, NAMESPACE)).items.map(({ metadata }) => metadata.name);
}

test("a budget elsewhere that claims the VM as its controller does not pass for KubeVirt's: ours stays", async () => {
  await cluster.createVm({ name: "protected", strategy: "LiveMigrate" });
  await reconcile();
  const [ours = ""] = await budgets();
  const uid = (await cluster.getVmi("protected"))?.metadata.uid ?? "";
  const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: "protected", uid };
  await cluster.client.create(core.podDisruptionBudgets, {
    metadata: { namespace: TENANT, name: "forged", ownerReferences: [{ ...owner, controller: true }] },
    spec: { minAvailable: 0, selector: { matchLabels: { a: "b" } } },
  });
  await reconcile();
  expect(await budgets()).toEqual([ours]);
});

test("pods elsewhere that look like launchers take no place of a node under pressure", async () => {
  const labels = { "kubevirt.io/nodeName": "node01" };
  await cluster.createVm({ name: "pressed", strategy: "LiveMigrate", metadata: { labels } });
  for (const name of ["virt-launcher-a-aaaaa", "virt-launcher-b-bbbbb", "virt-launcher-c-ccccc"])
    await cluster.client.create(core.pods, {
      metadata: {
        namespace: TENANT,
        name,
        labels: { "kubevirt.io": "virt-launcher" },
        annotations: { "kubevirt.io/domain": "gone" },
      },
      spec: { nodeName: "node01", containers: [{ name: "c", image: "example.com/c" }] },
    });
  await setConditions("node01", "MemoryPressure");
  await createBareNode(cluster.client, "node02");
  await setConditions("node02", "Ready");
  await reconcile();
  expect((await cluster.getVmi("pressed"))?.status?.evacuationNodeName).toBe("node01");
});

describe("a pod that says it is a launcher, of a VM that", () => {
  // prettier-ignore
  test.each([
    ["has no name that an object can have",    "a,status.phase!=Moved"],
    ["is in another namespace",                "protected"],
    ["is nowhere",                             "nobody"],
  ])("%s, is evicted like any other", async (title, domain) => {
    const key = { namespace: TENANT, name: `forged-${title.length}` };
    const labels = { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "of-nobody" };
    const metadata = { ...key, labels, annotations: { "kubevirt.io/domain": domain } };
    const spec = { nodeName: "node01", containers: [{ name: "c", image: "example.com/c" }] };
    await cluster.client.create(core.pods, { metadata, spec });
    expect((await review(doors, evictionOf(key))).body).toEqual(allowance());
  });
});

async function setConditions(name: string, type: string): Promise<void> {
  const body = { status: { conditions: [{ type, status: "True" }], allocatable: { memory: "64Gi" } } };
  await cluster.client.patch(core.nodes, { name }, { type: "merge", body }, { subresource: "status" });
}
