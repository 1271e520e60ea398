/** Tests that the relay reports the cluster's events to the Worker. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { kubevirt, nodes, type Pod, pods } from "../../../infra/sandbox/index.ts";
import { evacuations, nodeEvacuations } from "../../../infra/lab/stage/evacuations.ts";
import { createBareNode } from "../../support/installed/bare-node.ts";
import { NAMESPACE, soon, type Stage, startStage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterEach(() => stage.reset());
afterAll(() => stage.stop());

const launcher = (name: string) => stage.createPod(`virt-launcher-${name}`);
const disrupted = (name: string) => `pod.disrupted vms/virt-launcher-${name}`;

/** Waits for deliveries. The relay delays events that are not urgent for a moment, and sends them together. */
const untilTold = (...expected: readonly string[]) =>
  soon(() => {
    stage.clock.advance(100);
    expect(stage.reported().toSorted()).toEqual(expected.toSorted());
  });

test("the relay reports launcher pods that are preempted or ended by their kubelet, and no deleted launcher pods", async () => {
  const [a, b] = [await launcher("a"), await launcher("b")];
  await stage.startReady();
  await stage.preempt(a);
  await untilTold(disrupted("a"));
  const labelled = { type: "merge", body: { metadata: { labels: { a: "b" } } } } as const;
  await stage.client.delete(pods, (await stage.client.patch(pods, a.metadata, labelled)).metadata);
  await untilTold(disrupted("a"), disrupted("a"));
  const [first, second] = stage.worker.taken;
  const { uid } = a.metadata;
  expect(first?.data).toEqual({ namespace: NAMESPACE, name: "virt-launcher-a", uid, node: "node01" });
  expect(first?.id).toMatch(new RegExp(`^${uid}\\.\\d+\\.dev\\.lifeboat\\.pod\\.disrupted\\.v1$`));
  expect(second?.id).not.toBe(first?.id);

  // The relay has seen the deletion of `a`, so it reports no Event about `a`.
  await stage.report(a, "Killing");
  await stage.report(b, "Evicted");
  await untilTold(disrupted("a"), disrupted("a"), "pod.killing vms/virt-launcher-b");
  expect(stage.worker.taken.at(-1)?.data).toMatchObject({ uid: b.metadata.uid, reason: "Evicted" });
});

test("a launcher pod that was ended by its kubelet is reported once, even without an Event", async () => {
  const [a, b] = [await launcher("a"), await launcher("b")];
  await stage.startReady();
  const condition = { type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet" };
  const body = { status: { phase: "Succeeded", conditions: [condition] } };
  const ended = await stage.client.patch(pods, a.metadata, { type: "strategic", body }, { subresource: "status" });
  await untilTold("pod.killing vms/virt-launcher-a");
  expect(stage.worker.taken.at(-1)?.data).toMatchObject({ uid: a.metadata.uid, reason: "TerminationByKubelet" });
  await stage.client.delete(pods, ended.metadata);
  await stage.preempt(b);
  await untilTold("pod.killing vms/virt-launcher-a", disrupted("b"));
});

test("the relay reports VMIs, tainted nodes and people's Evacuations, and nothing that Lifeboat writes", async () => {
  await createBareNode(stage.client, "node01");
  await stage.startReady();
  await stage.createVmi("web-1");
  const body = { spec: { taints: [{ key: "maintenance", effect: "NoExecute" }] } };
  await stage.client.patch(nodes, { name: "node01" }, { type: "merge", body });
  const spec = { virtualMachineInstance: { name: "web-1" } };
  const { metadata } = await stage.client.create(evacuations, {
    metadata: { namespace: NAMESPACE, name: "by-hand" },
    spec,
  });
  const reported = ["vmi.changed vms/web-1", "node.changed node01", "evacuation.changed vms/web-1"];
  await untilTold(...reported);
  const write = (phase: string) =>
    stage.client.patch(
      evacuations,
      metadata,
      { type: "merge", body: { status: { phase } } },
      { subresource: "status" },
    );
  await write("Pending");
  await stage.client.patch(evacuations, metadata, { type: "merge", body: { spec: { intent: "Withdrawn" } } });
  await untilTold(...reported, "evacuation.changed vms/web-1");
  await write("Withdrawn");
  await stage.client.delete(evacuations, metadata);
  await stage.createVmi("web-2");
  await untilTold(...reported, "evacuation.changed vms/web-1", "vmi.changed vms/web-2");
});

test("the relay reports a NodeEvacuation when the last launcher pod of its node has ended, and when it is gone", async () => {
  const [a, b] = [await launcher("a"), await launcher("b")];
  await stage.startReady();
  const { metadata } = await stage.client.create(nodeEvacuations, {
    metadata: { name: "of-node01" },
    spec: { nodeName: "node01" },
  });
  await stage.client.create(nodeEvacuations, { metadata: { name: "of-node02" }, spec: { nodeName: "node02" } });
  const [own, other] = ["nodeevacuation.changed of-node01", "nodeevacuation.changed of-node02"];
  await untilTold(own, other);
  const [status, succeeded] = [{ subresource: "status" }, { status: { phase: "Succeeded" } }] as const;
  const end = (pod: Pod) => stage.client.patch(pods, pod.metadata, { type: "merge", body: succeeded }, status);
  await end(a);
  await stage.createVmi("web-1");
  await untilTold(own, other, "vmi.changed vms/web-1");
  await end(b);
  await untilTold(own, own, other, "vmi.changed vms/web-1");
  await stage.client.delete(pods, b.metadata, { gracePeriodSeconds: 0 });
  await untilTold(own, own, own, other, "vmi.changed vms/web-1");
  const ended = { type: "merge", body: { status: { phase: "Evacuated" } } } as const;
  await stage.client.patch(nodeEvacuations, metadata, ended, status);
  await stage.client.delete(pods, a.metadata, { gracePeriodSeconds: 0 });
  await stage.createVmi("web-2");
  await untilTold(own, own, own, other, "vmi.changed vms/web-1", "vmi.changed vms/web-2");
});

test("when the relay starts, it reports existing disruptions", async () => {
  const [a, b, c] = [await launcher("a"), await launcher("b"), await launcher("c"), await launcher("d")];
  await stage.preempt(a);
  await stage.preempt(b);
  await stage.client.delete(pods, b.metadata);
  await stage.report(c, "Preempting");
  await stage.createVmi("web-1");
  await stage.startReady();
  await untilTold(disrupted("a"), disrupted("b"), "pod.killing vms/virt-launcher-c", "vmi.changed vms/web-1");
});

test.each([
  ["is away", false],
  ["is away, and compacts its history", true],
])("while the API server %s, the relay misses no change", async (_, forgets) => {
  const [a, b, c] = [await launcher("a"), await launcher("b"), await launcher("c")];
  const vmi = await stage.createVmi("web-1");
  const relay = await stage.startReady();
  await untilTold("vmi.changed vms/web-1");
  const failures = (count: number) =>
    soon(() => expect(relay.metrics()).toContain(`lifeboat_relay_watch_failures_total{watch="pods"} ${count}`));
  const mend = await stage.cut();
  await failures(1);
  await stage.preempt(a);
  await stage.preempt(b);
  await stage.client.delete(pods, b.metadata);
  await stage.client.delete(kubevirt.virtualMachineInstances, vmi.metadata);
  stage.clock.advance(60_000);
  await failures(2);
  if (forgets) stage.apiServer.compact();
  mend();
  stage.clock.advance(60_000);
  const missed = ["vmi.changed vms/web-1", "vmi.changed vms/web-1", disrupted("a"), disrupted("b")];
  await untilTold(...missed);
  expect(stage.worker.taken.map(({ id }) => id)).toContainEqual(expect.stringContaining(".gone."));
  expect(relay.isReady()).toBe(true);
  await stage.preempt(c);
  await untilTold(...missed, disrupted("c"));
});
