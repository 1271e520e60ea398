/** The relay between a cluster and the Worker: what happens in the one is told to the other. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { kubevirt, nodes, pods } from "../../../infra/sandbox/index.ts";
import { evacuations } from "../../../infra/lab/stage/evacuations.ts";
import { brief, NAMESPACE, soon, type Stage, startStage } from "./stage.ts";

let stage: Stage;
beforeEach(async () => {
  stage = await startStage();
});
afterEach(() => stage.stop());

const told = () => brief(stage.worker.taken());
/** What is not urgent waits a moment for more. */
const soonAfter = (assertion: () => void) =>
  soon(() => {
    stage.clock.advance(100);
    assertion();
  });
const untilTold = (...expected: readonly string[]) =>
  soonAfter(() => expect(told()).toEqual(expect.arrayContaining([...expected])));

const STATUS = { subresource: "status" };
const TAINT = { key: "maintenance", effect: "NoExecute" };
const named = (name: string) => ({ namespace: NAMESPACE, name });

describe("the relay tells of", () => {
  test("a preempted launcher pod, once, and of its deletion", async () => {
    const pod = await stage.createPod("virt-launcher-a");
    await stage.startRelay();
    await stage.preempt(pod);
    await untilTold("pod.disrupted vms/virt-launcher-a");
    const { metadata } = await stage.client.patch(pods, pod.metadata, {
      type: "merge",
      body: { metadata: { labels: { a: "b" } } },
    });
    await stage.client.delete(pods, metadata);
    await soon(() =>
      expect(told()).toEqual(["pod.disrupted vms/virt-launcher-a", "pod.disrupted vms/virt-launcher-a"]),
    );
    const [first, second] = stage.worker.taken();
    expect(first?.data).toEqual({
      namespace: NAMESPACE,
      name: "virt-launcher-a",
      uid: pod.metadata.uid,
      node: "node01",
    });
    expect(first?.id).toMatch(new RegExp(`^${pod.metadata.uid}\\.\\d+\\.dev\\.lifeboat\\.pod\\.disrupted\\.v1$`));
    expect(second?.id).not.toBe(first?.id);
  });

  test("what the kubelet ends by itself, not of what was deleted", async () => {
    const [alive, deleted] = [await stage.createPod("virt-launcher-a"), await stage.createPod("virt-launcher-b")];
    const { stores } = await stage.startRelay({ isLeader: () => true });
    await stage.client.delete(pods, deleted.metadata);
    await soon(() => expect(stores?.pods.get(named("virt-launcher-b"))?.deleting ?? true).toBe(true));
    await stage.tell(deleted, "Killing");
    await stage.tell(alive, "Evicted");
    await untilTold("pod.killing vms/virt-launcher-a");
    expect(told()).toEqual(["pod.killing vms/virt-launcher-a"]);
    expect(stage.worker.taken().at(-1)?.data).toMatchObject({ uid: alive.metadata.uid, reason: "Evicted" });
  });

  // prettier-ignore
  test.each<[string, () => Promise<unknown>, string]>([
    ["VMIs",                   () => stage.createVmi("web-1"),                                                   "vmi.changed vms/web-1"],
    ["nodes that are tainted", () => stage.client.patch(nodes, { name: "node01" }, { type: "merge", body: { spec: { taints: [TAINT] } } }), "node.changed node01"],
  ])("%s", async (_, change, expected) => {
    await stage.createNode("node01");
    await stage.startRelay();
    await change();
    await untilTold(expected);
    expect(told()).toEqual([expected]);
  });

  test("Evacuations that a person asks for and cancels, and of nothing that Lifeboat writes", async () => {
    await stage.startRelay();
    const spec = { virtualMachineInstance: { name: "web-1" } };
    const { metadata } = await stage.client.create(evacuations, { metadata: named("by-hand"), spec });
    await untilTold("evacuation.changed vms/web-1");
    const phase = (name: string) =>
      stage.client.patch(evacuations, metadata, { type: "merge", body: { status: { phase: name } } }, STATUS);
    await phase("Pending");
    await stage.client.patch(evacuations, metadata, { type: "merge", body: { spec: { intent: "Withdrawn" } } });
    await soonAfter(() => expect(told()).toHaveLength(2));
    await phase("Withdrawn");
    await stage.client.delete(evacuations, metadata);
    await stage.createVmi("web-2");
    await untilTold("vmi.changed vms/web-2");
    expect(told()).toEqual(["evacuation.changed vms/web-1", "evacuation.changed vms/web-1", "vmi.changed vms/web-2"]);
  });
});

describe("nothing is missed", () => {
  test("when the relay starts: what is already so is told", async () => {
    const [preempted, deleted] = [await stage.createPod("virt-launcher-a"), await stage.createPod("virt-launcher-b")];
    const [killed] = [await stage.createPod("virt-launcher-c"), await stage.createPod("virt-launcher-d")];
    await stage.preempt(preempted);
    await stage.preempt(deleted);
    await stage.client.delete(pods, deleted.metadata);
    await stage.tell(killed, "Preempting");
    await stage.createVmi("web-1");
    await stage.startRelay();
    await soonAfter(() => expect(told()).toHaveLength(4));
    expect(told().toSorted()).toEqual([
      "pod.disrupted vms/virt-launcher-a",
      "pod.disrupted vms/virt-launcher-b",
      "pod.killing vms/virt-launcher-c",
      "vmi.changed vms/web-1",
    ]);
  });

  test("while the API server is away, or restarts", async () => {
    const [a, b] = [await stage.createPod("virt-launcher-a"), await stage.createPod("virt-launcher-b")];
    const relay = await stage.startRelay();
    stage.proxy.cut();
    await stage.preempt(a);
    await stage.preempt(b);
    await stage.client.delete(pods, b.metadata);
    await soon(() => expect(relay.metrics()).toContain('lifeboat_relay_watch_failures_total{watch="pods"} 1'));
    stage.clock.advance(60_000);
    await soon(() => expect(relay.metrics()).toContain('lifeboat_relay_watch_failures_total{watch="pods"} 2'));
    stage.proxy.mend();
    stage.clock.advance(60_000);
    await untilTold("pod.disrupted vms/virt-launcher-a", "pod.disrupted vms/virt-launcher-b");
    expect(relay.isReady()).toBe(true);
  });

  test.each(["event"] as const)("when the API server has forgotten where a watch was: 410 as %s", async (how) => {
    const [a, b] = [await stage.createPod("virt-launcher-a"), await stage.createPod("virt-launcher-b")];
    const vmi = await stage.createVmi("web-1");
    await stage.startRelay();
    await untilTold("vmi.changed vms/web-1");
    stage.proxy.cut();
    stage.proxy.forget(how);
    await stage.preempt(a);
    await stage.client.delete(kubevirt.virtualMachineInstances, vmi.metadata);
    const { length } = stage.proxy.asked;
    stage.proxy.mend();
    await soon(() => {
      stage.clock.advance(1_000);
      expect(told()).toContain("pod.disrupted vms/virt-launcher-a");
      expect(stage.worker.taken().map(({ id }) => id)).toContainEqual(expect.stringContaining(".gone."));
    });
    const asked = () => stage.proxy.asked.slice(length).filter((path) => path.startsWith("/api/v1/pods"));
    await soon(() =>
      expect(asked().map((path) => (path.includes("watch=true") ? "watch" : "list"))).toEqual([
        "watch",
        "list",
        "watch",
      ]),
    );
    await stage.preempt(b);
    await untilTold("pod.disrupted vms/virt-launcher-b");
  });
});
