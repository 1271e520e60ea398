/**
 * Tests `NoExecute` taints, node pressure and the termination of a node, with Lifeboat and its relay. Without Lifeboat,
 * each of these disruptions kills a VM. The Worker's cron trigger fires only when a test calls `tick`. victims.test.ts
 * tests preemptions.
 */
import { GUARD_FILES } from "../../infra/lab/stage/apply.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  asNode,
  createKubeletRecorder,
  createNode,
  createPod,
  events,
  nodes,
  type Pod,
  pods,
  systemClock,
  taintDeviceOf,
  terminateNode,
  USERS,
} from "../../infra/sandbox/index.ts";
import { IS_REAL } from "../../infra/lab/stage/control-plane.ts";
import { NAMESPACE, type Stage, startStage } from "./stage.ts";
import { createVm, messageOf, setDisrupted, type Vm } from "./vm.ts";

const TAINT_MANAGER = "system:serviceaccount:kube-system:node-controller";
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
const CAUSES = ["Preemption", "NoExecuteTaint", "NodePressure", "NodeTermination"];

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({
    relay: true,
    ticking: false,
    optional: GUARD_FILES,
    configuration: {
      featureGates: Object.fromEntries(CAUSES.map((cause) => [`${cause}EvictionLiveMigration`, true])),
      guard: { deadlineSeconds: { NoExecuteTaint: IS_REAL ? 20 : 5 } },
    },
    eviction: {
      evictionSoft: { "memory.available": "2Gi" },
      evictionSoftGracePeriod: { "memory.available": "90s" },
      evictionMaxPodGracePeriod: 300,
      nodeStatusUpdateFrequency: "1s",
    },
  });
});
afterAll(() => stage.stop());

async function createVmOn(node: string, tweak: Parameters<typeof createVm>[2] = {}): Promise<Vm> {
  await createNode(stage.client, node, { memory: "16Gi" });
  return await createVm(stage, `vm-of-${node}`, { node, ...tweak });
}

const taint = (name: string, taints: readonly object[]) =>
  stage.client.patch(nodes, { name }, { type: "merge", body: { spec: { taints } } });

const failLivenessProbe = ({ metadata: { namespace, name } }: Pod) =>
  stage.sandbox.kubelets.failLivenessProbe(`${namespace}/${name}`);

async function isDeleted({ metadata }: Pod): Promise<boolean> {
  const found = await stage.client.get(pods, metadata);
  return found === undefined || found.metadata.deletionTimestamp !== undefined;
}

async function expectMoved(vm: Vm, cause: string): Promise<void> {
  expect((await vm.untilMoved()).status?.phase).toBe("Running");
  await expect.poll(vm.evacuations).toMatchObject([{ spec: { cause }, status: { phase: "Moved" } }]);
}

test("given a NoExecute taint, the VM moves, and a pod that tolerates the taint stays", async () => {
  const vm = await createVmOn("tainted");
  const tolerations = [{ key: "maintenance", operator: "Exists" }];
  const daemon = await createPod(stage.client, { namespace: NAMESPACE, name: "daemon", node: "tainted", tolerations });
  await taint("tainted", [MAINTENANCE]);
  await expectMoved(vm, "NoExecuteTaint");
  expect(await isDeleted(daemon)).toBe(false);
});

test("given a device taint, the device taint manager retries until the VM has moved, and Lifeboat does not delete the pod", async () => {
  const vm = await createVmOn("device");
  const { user, groups } = USERS.deviceTaintManager;
  const manager = taintDeviceOf({ client: stage.client.as(user, groups), clock: systemClock, pod: await vm.pod() });
  try {
    await expectMoved(vm, "DeviceTaint");
    await expect.poll(vm.events).toContain("Normal DeletionRefused");
    expect(await vm.events()).not.toContain("Warning DeadlineKept");
  } finally {
    await manager.stop();
  }
});

test("given a NoExecute taint that is removed, the VM stays and loses evacuationNodeName; a VM whose taint remains is deleted", async () => {
  const spared = await createVmOn("spared", { evictionStrategy: "External" });
  const other = await createVmOn("other", { evictionStrategy: "External" });
  const [pod, otherPod] = await Promise.all([spared.pod(), other.pod()]);
  await taint("spared", [MAINTENANCE]);
  await spared.until("marked", ({ status }) => status?.evacuationNodeName === "spared");
  await taint("spared", []);
  // Taints `other` after `spared`. When the VM on `other` is deleted at its deadline, the earlier deadline of the VM on
  // `spared` has also passed.
  await taint("other", [MAINTENANCE]);
  await expect.poll(other.events).toContain("Normal DeletionRefused");
  const { namespace, name } = otherPod.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const refused = await stage.client.as(TAINT_MANAGER).raw({ method: "DELETE", path });
  expect([refused.code, messageOf(refused.body)]).toEqual([403, expect.stringContaining("lifeboat-hold-taints")]);
  const reported = async () => {
    await stage.tick();
    return await other.events();
  };
  await expect.poll(reported).toContain("Warning DeadlineKept");
  expect([await isDeleted(otherPod), await isDeleted(pod)]).toEqual([true, false]);
  expect((await spared.untilUnmarked()).status).toMatchObject({ phase: "Running", nodeName: "spared" });
  expect(await spared.events()).toContain("Normal EvacuationCancelled");
});

test("given memory pressure, the VM leaves before the kubelet evicts it", async () => {
  const vm = await createVmOn("pressed", { memory: "2Gi" });
  stage.sandbox.stats.setAvailable("pressed", "memory.available", "1Gi");
  await expectMoved(vm, "NodePressure");
});

test("given memory pressure, an External VM gets an evacuationNodeName before the kubelet evicts it", async () => {
  const vm = await createVmOn("external", { memory: "2Gi", evictionStrategy: "External" });
  stage.sandbox.stats.setAvailable("external", "memory.available", "1Gi");
  await vm.until("marked", ({ status }) => status?.evacuationNodeName === "external");
  await expect
    .poll(vm.evacuations)
    .toMatchObject([{ spec: { cause: "NodePressure" }, status: { phase: "WaitingForExternalController" } }]);
  expect((await vm.vmi()).status?.phase).toBe("Running");
});

/** Records an Event as a kubelet does when it starts an eviction. */
async function beginEviction(vm: Vm): Promise<void> {
  const recorder = createKubeletRecorder(asNode(stage.client, vm.node), systemClock, vm.node);
  const message = "The node was low on resource: memory.";
  await recorder.record(await vm.pod(), pods, { type: "Warning", reason: "Evicted", message });
  await expect.poll(vm.evacuations).toMatchObject([{ spec: { cause: "NodePressure" } }]);
}

test("when the kubelet starts to evict the pod, the VM moves", async () => {
  const vm = await createVmOn("killing");
  await beginEviction(vm);
  await vm.untilMoved();
});

test(
  "when the kubelet's Events about a pod are lost, the node's condition makes the VM move",
  { tags: ["images"] },
  async () => {
    const vm = await createVmOn("unheard", { memory: "2Gi", image: "registry.example.com/disk:1" });
    const { uid } = (await vm.pod()).metadata;
    const fieldSelector = `involvedObject.uid=${uid}`;
    const counts = async () => (await stage.client.list(events, NAMESPACE, { fieldSelector })).items;
    await expect
      .poll(async () => (await counts()).map(({ reason, count }) => `${reason} ${count}`))
      .toContain("Pulled 25");
    stage.sandbox.stats.setAvailable("unheard", "memory.available", "1Gi");
    await expectMoved(vm, "NodePressure");
    expect((await counts()).map(({ reason }) => reason)).not.toContain("Killing");
  },
);

test.each([
  ["a liveness probe fails", "probed", (pod: Pod) => failLivenessProbe(pod)],
  ["its node shuts down gracefully", "off", () => stage.sandbox.kubelets.shutDown("off")],
])("when %s, the kubelet ends the pod, and no VM moves because of node pressure", async (_, node, end) => {
  const [vm, next] = [await createVmOn(node), await createVmOn(`beside-${node}`)];
  const pod = await vm.pod();
  end(pod);
  const fieldSelector = `involvedObject.uid=${pod.metadata.uid},reason=Killing`;
  await expect.poll(async () => (await stage.client.list(events, NAMESPACE, { fieldSelector })).items).not.toEqual([]);
  // Records an Event about the pod of `next` after the Event Killing about the pod of `vm`. When Lifeboat has handled
  // the second Event, it has also handled the first Event.
  await beginEviction(next);
  expect(await vm.evacuations()).toEqual([]);
  stage.sandbox.kubelets.start(node);
});

test("given a preemption that bypassed the guard, the VM of the terminating pod gets an evacuationNodeName", async () => {
  stage.sandbox.migrations.configure({ seconds: 600 });
  const vm = await createVmOn("unseen");
  const pod = await vm.pod();
  await setDisrupted(stage.client, pod, "PreemptionByScheduler");
  stage.sandbox.kubelets.stop(vm.node);
  await stage.client.delete(pods, pod.metadata);
  const { uid } = pod.metadata;
  await expect.poll(vm.evacuations).toMatchObject([{ spec: { cause: "Preemption", pod: { uid } } }]);
  await vm.until("marked", ({ status }) => status?.evacuationNodeName === vm.node);
  stage.sandbox.kubelets.start(vm.node);
  stage.sandbox.migrations.configure({ seconds: 0.1 });
});

test("given a node that Karpenter terminates, Karpenter's forced deletion of a pod waits until the VM has moved", async () => {
  // The pod's grace period is longer than the node's remaining time, so Karpenter deletes the pod without an eviction.
  const vm = await createVmOn("ending", { terminationGracePeriodSeconds: 600 });
  const client = stage.client.as(USERS.karpenter.user, USERS.karpenter.groups);
  const endsAt = new Date(Date.now() + 300_000);
  const termination = terminateNode({ client, clock: systemClock, node: "ending", endsAt });
  try {
    await expectMoved(vm, "NodeTermination");
    await expect.poll(vm.events).toContain("Normal DeletionRefused");
  } finally {
    await termination.stop();
  }
});
