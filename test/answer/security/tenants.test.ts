/** What tenants leave in their namespace: the VMs of others are looked after as if it were not there. */
import { describe, expect, test } from "vitest";
import { evictionOf, allowance } from "../../support/reviews.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { type FakeDoors, openFakeDoors } from "../../support/fake-doors.ts";
import { budget, node, NODE, owner, pod, vmi } from "../../support/fixtures.ts";

const TENANT = "tenant";

function open(): [FakeCluster, FakeDoors] {
  const fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Always", featureGates: { NodePressureEvictionLiveMigration: true } });
  fake.pods.put(pod());
  fake.vmis.put(vmi());
  return [fake, openFakeDoors(fake)];
}

async function reconcile(doors: FakeDoors): Promise<void> {
  expect(await doors.reconcile()).toMatchObject({ code: 200, body: { failures: 0 } });
  await doors.settle();
}

test("a budget elsewhere that claims the VM as its controller does not pass for KubeVirt's: ours stays", async () => {
  const [fake, doors] = open();
  const budgets = () => fake.budgets.list(({ namespace }) => namespace === "apps").map(({ name }) => name);
  await reconcile(doors);
  const ours = budgets();
  expect(ours).toHaveLength(1);
  fake.budgets.put(budget({ namespace: TENANT, name: "forged", uid: "forged", managedByUs: false, owners: [owner()] }));
  await reconcile(doors);
  expect(budgets()).toEqual(ours);
});

test("pods elsewhere that look like launchers take no place of a node under pressure", async () => {
  const [fake, doors] = open();
  for (const name of ["a", "b", "c"])
    fake.pods.put(pod({ namespace: TENANT, name: `virt-launcher-${name}-aaaaa`, uid: name, owners: [] }));
  fake.nodes.put(node({ pressures: ["MemoryPressure"] }), node({ name: "node02" }));
  await reconcile(doors);
  expect(fake.vmis.get(vmi())?.evacuationNodeName).toBe(NODE);
});

describe("a pod that says it is a launcher, of a VM that", () => {
  // prettier-ignore
  test.each([
    ["has no name that an object can have",    "a,status.phase!=Moved"],
    ["is in another namespace",                "web"],
    ["is nowhere",                             "nobody"],
  ])("%s, is evicted like any other", async (_, domain) => {
    const [fake, doors] = open();
    const forged = pod({ namespace: TENANT, uid: "forged", annotations: { "kubevirt.io/domain": domain }, owners: [] });
    fake.pods.put(forged);
    expect((await doors.evict(evictionOf(forged))).body).toEqual(allowance());
  });
});
