/** What a look reads of the world: enough for the rules, and no more than they need. */
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { ClusterError } from "../../../shared/kube/failures.ts";
import { observeNodes } from "../../../shared/reconcile/observe-nodes.ts";
import { observeVmi } from "../../../shared/reconcile/observe-vmi.ts";
import type { Phase } from "../../../shared/kube/evacuation.ts";
import { FakeCluster } from "../../support/cluster.ts";
import { connectTo } from "../../support/client.ts";
import { at, evacuation, migration, NODE, node, NOW, pod, settings, vmi } from "../../support/fixtures.ts";

const WEB = { namespace: "apps", name: "web" };

function observer(fake: FakeCluster) {
  const featureGates = ["NodePressureEvictionLiveMigration"] as const;
  return { cluster: connectTo(fake), settings: settings({ featureGates }), now: NOW };
}

test.each<[Phase, migrations: number]>([
  ["Pending", 1],
  ["Duplicate", 1],
  ["Moved", 0],
  ["Abandoned", 0],
])("of a VM whose only Evacuation is %s, %d migrations are read", async (phase, count) => {
  const fake = new FakeCluster();
  fake.vmis.put(vmi());
  fake.evacuations.put(evacuation({ status: { phase } }));
  fake.migrations.put(migration());
  expect((await observeVmi(WEB, observer(fake))).migrations).toHaveLength(count);
});

test("KubeVirt's queue is read for a migration that may be stuck: what runs, and what leaves the node", async () => {
  const fake = new FakeCluster();
  const others = [
    { name: "same-node", nodeName: NODE, isMigrating: true },
    { name: "same-node-too", nodeName: NODE, isMigrating: true },
    { name: "another-node", nodeName: "node02", isMigrating: true },
    { name: "at-rest", nodeName: NODE, isMigrating: false },
  ];
  for (const tweak of [{}, ...others]) fake.vmis.put(vmi(tweak));
  fake.evacuations.put(evacuation());
  fake.migrations.put(migration({ phase: "Pending", createdAt: at(-3600).getTime() }));
  const { queues } = await observeVmi(WEB, observer(fake));
  expect(queues).toEqual(new Map([[NODE, { running: 3, leaving: 2 }]]));
});

/** With so much memory. */
function sized(memory: number) {
  return { ...node({ name: `node-${memory}` }), allocatable: { memory } };
}

/** A node under pressure, with one VM. */
function putPressed(fake: FakeCluster): void {
  fake.nodes.put(node({ name: "full", pressures: ["MemoryPressure"] }));
  fake.vmis.put(vmi({ nodeName: "full" }));
  fake.pods.put(pod({ nodeName: "full" }));
}

test("their pods are read one node after another, and a node that takes too long is passed over", async () => {
  const fake = new FakeCluster();
  for (const size of [9, 5, 7]) fake.nodes.put(sized(size));
  putPressed(fake);
  const [asked, open] = [[] as number[], { count: 0 }];
  const before = async (request: string) => {
    if (!/^list pods .*spec.nodeName/.test(request)) return;
    asked.push((open.count += 1));
    await setImmediate();
    open.count -= 1;
    if (asked.length === 3) throw new ClusterError({ reason: "DeadlineExceeded" });
  };
  const told = { requests: [{ kind: "Node", name: "full" }], pods: [], vmis: [], evacuations: [] } as const;
  const { candidateNodes } = await observeNodes(told, { ...observer(fake), cluster: connectTo(fake, before) });
  expect(candidateNodes.map((candidateNode) => candidateNode.node.name)).toEqual(["node-9", "node-5"]);
  expect(asked).toEqual([1, 1, 1, 1]);
});

test.each([
  ["runs", {}, 1],
  ["is being deleted", { deleting: true }, 0],
  ["has ended", { phase: "Succeeded" }, 0],
])("a pod that its kubelet ends and that %s: its node is read", async (_, tweak, count) => {
  const fake = new FakeCluster();
  const ending = pod(tweak);
  fake.vmis.put(vmi());
  fake.pods.put(ending);
  fake.nodes.put(node({ pressures: ["DiskPressure"] }));
  const requests = [{ kind: "EndingPod", namespace: ending.namespace, name: ending.name, by: "Killing" }] as const;
  const told = { requests, pods: [ending], vmis: [vmi()], evacuations: [] };
  const { signals, pressured } = await observeNodes(told, observer(fake));
  const said = { reason: "Killing", node: expect.objectContaining({ name: NODE, pressures: ["DiskPressure"] }) };
  expect(signals).toEqual(Array(count).fill(expect.objectContaining(said)));
  expect(pressured.map((one) => one.node.name)).toEqual([NODE]);
});
