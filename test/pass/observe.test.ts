/** What a look reads of the world: enough for the rules, and no more than they need. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { ClusterError } from "../../shared/cluster/failure.ts";
import { reviewDeletion } from "../../shared/pass/deletion.ts";
import { observeNodes } from "../../shared/pass/observe-nodes.ts";
import { observeVmi } from "../../shared/pass/observe-vmi.ts";
import type { Phase } from "../../shared/policy/evacuation/phase.ts";
import type { EvacuationFacts, PodFacts } from "../../shared/policy/facts.ts";
import { DEFAULT_SETTINGS } from "../../shared/policy/settings.ts";
import { connectTo } from "../fake-cluster/connect.ts";
import { FakeCluster } from "../fake-cluster/fake-cluster.ts";
import { at, evacuation, migration, NODE, node, NOW, pod, settings, time, vmi, VMI_UID } from "../policy/fixtures.ts";

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

test("under pressure the ten largest of the other nodes are asked for their room, the largest first", async () => {
  const fake = new FakeCluster();
  fake.nodes.put(node({ name: "full", pressures: ["MemoryPressure"], allocatableMemory: 99 }));
  const sizes = [5, 12, 1, 9, 3, 11, 7, 2, 10, 4, 8, 6];
  for (const size of sizes) fake.nodes.put(node({ name: `node-${size}`, allocatableMemory: size }));
  const told = { pointers: [{ kind: "Node", name: "full" }], pods: [], vmis: [], evacuations: [] } as const;
  const { takers } = await observeNodes(told, observer(fake));
  expect(takers.map((taker) => taker.node.name)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3].map((n) => `node-${n}`));
});

test("their pods are read one node after another, and a node that takes too long is passed over", async () => {
  const fake = new FakeCluster();
  for (const size of [9, 5, 7]) fake.nodes.put(node({ name: `node-${size}`, allocatableMemory: size }));
  fake.nodes.put(node({ name: "full", pressures: ["MemoryPressure"] }));
  const [asked, open] = [[] as number[], { count: 0 }];
  const before = async (request: string) => {
    if (request !== "listPodsOn") return;
    asked.push((open.count += 1));
    await setImmediate();
    open.count -= 1;
    if (asked.length === 2) throw new ClusterError({ reason: "DeadlineExceeded" });
  };
  const told = { pointers: [{ kind: "Node", name: "full" }], pods: [], vmis: [], evacuations: [] } as const;
  const { takers } = await observeNodes(told, { ...observer(fake), cluster: connectTo(fake, before) });
  expect(takers.map((taker) => taker.node.name)).toEqual(["node-9", "node-5"]);
  expect(asked).toEqual([1, 1, 1]);
});

const OWN = ["getVmi", "getNode", "listEvacuations", "listEvacuations"];

const other = (n: number, tweak: Parameters<typeof evacuation>[0] = {}) => {
  const [name, uid] = [`virt-launcher-${n}`, `pod-${n}`];
  return evacuation({
    name: `vm-${n}-1`,
    uid: `evacuation-${n}`,
    createdAt: at(-n).getTime(),
    ...tweak,
    spec: { vmiName: `vm-${n}`, cause: "Preemption", pod: { name, uid }, ...tweak.spec },
    status: { podName: name, podUID: uid, ...tweak.status },
  });
};
const launcher = (n: number, tweak: Partial<PodFacts> = {}) =>
  pod({ name: `virt-launcher-${n}`, uid: `pod-${n}`, ...tweak });

describe("of the node's other pods, the guard reads those that are evacuated for a preemption", () => {
  const many = Array.from({ length: 10 }, (_, n) => n);

  // prettier-ignore
  test.each<[string, readonly EvacuationFacts[], readonly PodFacts[], read: number, seen: readonly string[]]>([
    ["none, of a first victim",             [],                                        [launcher(1)],                        0, []],
    ["the first, of a second",              [other(1)],                                [launcher(1), launcher(2)],           1, ["pod-1"]],
    ["one that no function has looked at",  [other(1, { status: { podName: undefined, podUID: undefined, sourceNode: undefined, phase: undefined } })], [launcher(1)], 1, ["pod-1"]],
    ["none that leaves for another cause",  [other(1, { spec: { cause: "ApiEviction" } })], [launcher(1)],                   0, []],
    ["none of another node",                [other(1, { status: { sourceNode: "node09" } })], [launcher(1)],                 0, []],
    ["none that has come to another node",  [other(1)],                                [launcher(1, { nodeName: "node09" })], 1, []],
    ["none that is no launcher",            [other(1)],                                [launcher(1, { labels: {} })],        1, []],
    ["none that is gone",                   [other(1)],                                [],                                   1, []],
    ["the oldest, as many as are held",     many.map((n) => other(n)),                 many.map((n) => launcher(n)),         3, ["pod-9", "pod-8", "pod-7"]],
  ])("%s", async (...[, evacuations, pods, read, seen]) => {
    const fake = new FakeCluster();
    const victim = pod({ disruptionTarget: { active: true, reason: "PreemptionByScheduler", since: time(0) } });
    fake.nodes.put(node());
    fake.vmis.put(vmi());
    for (const one of [victim, ...pods]) fake.pods.put(one);
    for (const one of [evacuation({ spec: { cause: "Preemption" } }), ...evacuations]) fake.evacuations.put(one);
    const requests: string[] = [];
    const cluster = connectTo(fake, (request) => requests.push(request));
    const guarded = settings({ featureGates: ["PreemptionEvictionLiveMigration"], guard: { ...DEFAULT_SETTINGS.guard, maxHolds: 3 } });
    const request = { pod: victim, requester: "system:kube-scheduler", patienceSeconds: 25 };
    const { facts } = await reviewDeletion(request, { cluster, settings: guarded, now: NOW });
    expect(facts.neighbours.map(({ uid }) => uid)).toEqual(seen);
    expect(requests.toSorted()).toEqual([...OWN, ...Array.from({ length: read }, () => "getPod")].toSorted());
  });
});

test("a guest that shuts down and a pod that a kubelet ends are signals", async () => {
  const fake = new FakeCluster();
  fake.vmis.put(vmi());
  fake.pods.put(pod());
  const domain = { status: "Shutdown", gracefulShutdown: true } as const;
  const pointers = [
    { kind: "Domain", ...WEB, uid: VMI_UID, domain },
    { kind: "EndingPod", namespace: pod().namespace, name: pod().name, by: "Evicted" },
  ] as const;
  const { signals } = await observeNodes({ pointers, pods: [pod()], vmis: [vmi()], evacuations: [] }, observer(fake));
  expect(signals.map(({ by }) => by)).toEqual(["domain shutdown", "kubelet: Evicted"]);
});
