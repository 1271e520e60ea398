/** Tests that a reconcile reads only the facts that the rules need. */
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { ClusterError } from "../../../shared/kube/failures.ts";
import { readPressure } from "../../../shared/reconcile/pressure.ts";
import { reconcileVmi } from "../../../shared/reconcile/reconcile.ts";
import { reconcileWithin } from "../../../functions/reconcile.ts";
import { openApp } from "../../support/app.ts";
import { evictionOf } from "../../support/reviews.ts";
import { kindOf } from "../../support/cluster/request-info.ts";
import type { Phase } from "../../../shared/kube/evacuation.ts";
import { FakeCluster } from "../../support/cluster.ts";
import { connectTo } from "../../support/client.ts";
import { at, evacuation, marked, migration, NODE, node, NOW, pod, settings, vmi } from "../../support/fixtures.ts";

const WEB = { namespace: "apps", name: "web" };

function observer(fake: FakeCluster) {
  const featureGates = ["NodePressureEvictionLiveMigration"] as const;
  return { cluster: connectTo(fake), settings: settings({ featureGates }), now: NOW };
}

async function reconcile(fake: FakeCluster): Promise<readonly string[]> {
  fake.configure({ disruptionBudgets: "Never" });
  await reconcileWithin(openApp(fake).target, 20, (deps) => reconcileVmi(WEB, deps));
  return fake.requests.map(kindOf);
}

test.each<[Phase, migrations: number]>([
  ["Pending", 1],
  ["Duplicate", 0],
  ["Moved", 0],
  ["Abandoned", 0],
])("the migrations of a VM whose only Evacuation is %s are read %d times", async (phase, count) => {
  const fake = new FakeCluster();
  fake.vmis.put(phase === "Pending" ? marked() : vmi());
  fake.evacuations.put(evacuation({ status: { phase } }));
  fake.migrations.put(migration());
  const requests = await reconcile(fake);
  expect(requests.filter((kind) => kind === "list virtualmachineinstancemigrations")).toHaveLength(count);
});

test.each([
  [
    "with the limit of its node reached, a migration is queued",
    NODE,
    "migration migration waits in KubeVirt's queue: KubeVirt's limits are reached",
    undefined,
  ],
  [
    "with room for one more from its node, a migration is stalled",
    "node02",
    "KubeVirt has not created the target pod of migration migration yet",
    "True",
  ],
])("KubeVirt's queue is read for an old migration: %s", async (_, second, message, stalled) => {
  const fake = new FakeCluster();
  const others = [
    { name: "same-node", nodeName: NODE, isMigrating: true },
    { name: "second", nodeName: second, isMigrating: true },
    { name: "another-node", nodeName: "node02", isMigrating: true },
    { name: "at-rest", nodeName: NODE, isMigrating: false },
  ];
  for (const tweak of [{}, ...others]) fake.vmis.put(marked({ ...tweak }));
  fake.evacuations.put(evacuation());
  fake.migrations.put(migration({ phase: "Pending", evacuates: NODE, createdAt: at(-3600).getTime() }));
  await reconcile(fake);
  const [status] = fake.evacuations.list().map((one) => one.status);
  expect(status).toMatchObject({ phase: "Migrating", message });
  expect(status?.conditions.find(({ type }) => type === "Stalled")?.status).toBe(stalled);
});

test("an Evacuation continues if the evacuationNodeName of its VMI was removed and an eviction sets it again", async () => {
  const fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Never" });
  fake.nodes.put(node());
  fake.pods.put(pod());
  // The Evacuation has recorded an evacuationNodeName, but this VMI has none. The eviction below sets it again.
  fake.vmis.put(vmi());
  fake.evacuations.put(evacuation());
  const app = openApp(fake);
  await app.evict(evictionOf(pod()));
  await app.settle();
  expect(fake.vmis.get(WEB)?.evacuationNodeName).toBe(NODE);
  expect(fake.evacuations.list().map(({ status }) => status.phase)).toEqual(["Pending"]);
});

function sized(memory: number) {
  return { ...node({ name: `node-${memory}` }), allocatable: { memory } };
}

function putPressed(fake: FakeCluster): void {
  fake.nodes.put(node({ name: "full", pressures: ["MemoryPressure"] }));
  fake.vmis.put(vmi({ nodeName: "full" }));
  fake.pods.put(pod({ nodeName: "full" }));
}

test("pods of candidate nodes are read one node after another, and a node that answers too late is skipped", async () => {
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
  const nodes = fake.nodes.list(({ name }) => name === "full");
  const { candidateNodes } = await readPressure(
    { requests: [], pods: [], vmis: [], evacuations: [], nodes },
    { ...observer(fake), cluster: connectTo(fake, before) },
  );
  expect(candidateNodes.map((candidateNode) => candidateNode.node.name)).toEqual(["node-9", "node-5"]);
  expect(asked).toEqual([1, 1, 1, 1]);
});

test.each([
  ["still runs", {}, 1],
  ["is being deleted", { deleting: true }, 0],
  ["has ended", { phase: "Succeeded" }, 0],
])("a node is read when its kubelet ends a pod that %s", async (_, tweak, count) => {
  const fake = new FakeCluster();
  const ending = pod(tweak);
  fake.vmis.put(vmi());
  fake.pods.put(ending);
  fake.nodes.put(node({ pressures: ["DiskPressure"] }));
  const requests = [{ kind: "EndingPod", namespace: ending.namespace, name: ending.name, by: "Killing" }] as const;
  const reported = { requests, pods: [ending], vmis: [vmi()], evacuations: [], nodes: [] };
  const { signals, pressured } = await readPressure(reported, observer(fake));
  const said = { reason: "Killing", node: expect.objectContaining({ name: NODE, pressures: ["DiskPressure"] }) };
  expect(signals).toEqual(Array(count).fill(expect.objectContaining(said)));
  expect(pressured.map((one) => one.node.name)).toEqual([NODE]);
});
