/**
 * `NoExecute` taints, node pressure and a node's end as a control plane and its kubelets really do them, with Lifeboat in between: the
 * naive outcome of each is a dead VM. Preemptions: victims.test.ts.
 */
import { afterEach, describe, expect, test } from "vitest";
import {
  type Actor,
  createNode,
  createPod,
  nodes,
  type Pod,
  pods,
  systemClock,
  taintDeviceOf,
  terminateNode,
  USERS,
  waitFor,
} from "../../infra/sandbox/index.ts";
import { IS_REAL } from "../../infra/lab/stage/control-plane.ts";
import { NAMESPACE, type Stage, type StageOptions } from "./stage.ts";
import { useStages } from "./stages.ts";
import { createVm, type Vm } from "./vm.ts";

const startStage = useStages();
let stage: Stage;

async function start(gate: string, { configuration, ...options }: StageOptions = {}): Promise<void> {
  stage = await startStage({
    nodes: ["node01", "node02"],
    optional: ["optional/guard/guard.yaml"],
    configuration: { featureGates: { [gate]: true }, ...configuration },
    ...options,
  });
}

const taint = (name: string, taints: readonly object[]) =>
  stage.client.patch(nodes, { name }, { type: "merge", body: { spec: { taints } } });
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };

const isDeleting = ({ metadata }: Pod) => metadata.deletionTimestamp !== undefined;
const untilPod = (key: Pod["metadata"], what: string, until: (pod: Pod) => boolean) =>
  waitFor(stage.client, { resource: pods, key, what, until });

async function expectMoved(vm: Vm, cause: string): Promise<void> {
  expect((await vm.untilMoved()).status?.phase).toBe("Running");
  await expect.poll(vm.evacuations).toMatchObject([{ spec: { cause }, status: { phase: "Moved" } }]);
}

test("a NoExecute taint: the VM moves, what tolerates the taint stays", async () => {
  await start("NoExecuteTaintEvictionLiveMigration");
  const vm = await createVm(stage, "tainted", { node: "node01" });
  const daemon = { namespace: NAMESPACE, name: "daemon" };
  const tolerations = [{ key: "maintenance", operator: "Exists" }];
  await createPod(stage.client, { ...daemon, node: "node01", tolerations });
  await taint("node01", [MAINTENANCE]);
  await expectMoved(vm, "NoExecuteTaint");
  expect((await stage.client.get(pods, daemon))?.metadata.deletionTimestamp).toBeUndefined();
});

test("a device's taint: its manager comes back until the VM has moved; Lifeboat does not finish what it began", async () => {
  await start("NoExecuteTaintEvictionLiveMigration");
  const vm = await createVm(stage, "device", { node: "node01" });
  const { user, groups } = USERS.deviceTaintManager;
  const manager = taintDeviceOf({ client: stage.client.as(user, groups), clock: systemClock, pod: await vm.pod() });
  try {
    await expectMoved(vm, "DeviceTaint");
    await expect.poll(vm.story).toContain("Normal DeletionRefused");
    expect(await vm.story()).not.toContain("Warning DeadlineKept");
  } finally {
    await manager.stop();
  }
});

test("a taint that goes while a deletion is refused: the VM stays, unmarked, past the deadline; its neighbour's does not", async () => {
  const guard = { deadlineSeconds: { NoExecuteTaint: IS_REAL ? 20 : 8 } };
  await start("NoExecuteTaintEvictionLiveMigration", { configuration: { guard } });
  const spared = await createVm(stage, "spared", { evictionStrategy: "External", node: "node01" });
  const other = await createVm(stage, "other", { evictionStrategy: "External", node: "node02" });
  const [pod, otherPod] = await Promise.all([spared.pod(), other.pod()]);
  await taint("node01", [MAINTENANCE]);
  await spared.until("marked", ({ status }) => status?.evacuationNodeName === "node01");
  await taint("node01", []);
  await spared.untilUnmarked();
  // Its deadline comes later.
  await taint("node02", [MAINTENANCE]);
  await untilPod(otherPod.metadata, "deleted at its deadline", isDeleting);
  expect((await stage.client.get(pods, pod.metadata))?.metadata.deletionTimestamp).toBeUndefined();
  expect(await spared.vmi()).toMatchObject({ status: { phase: "Running", nodeName: "node01" } });
  expect(await spared.story()).toContain("Normal EvacuationCancelled");
});

test("memory pressure: VMs leave while the kubelet still has patience", async () => {
  const eviction = {
    evictionSoft: { "memory.available": "2Gi" },
    evictionSoftGracePeriod: { "memory.available": "90s" },
    evictionMaxPodGracePeriod: 300,
  };
  await start("NodePressureEvictionLiveMigration", { nodes: [], eviction });
  await createNode(stage.client, "node01", { memory: "16Gi" });
  await createNode(stage.client, "node02", { memory: "16Gi" });
  const vms = await Promise.all(
    ["a", "b", "c"].map((name) => createVm(stage, name, { memory: "2Gi", node: "node01" })),
  );
  stage.sandbox.stats.setAvailable("node01", "memory.available", "1Gi");
  // What the relay would tell; a full scan sees the node's condition as well.
  for (const vm of vms) await expectMoved(vm, "NodePressure");
});

describe("the end of a node", () => {
  const terminations: Actor[] = [];
  /** Its grace period is longer than its node has left: it is never evicted, only deleted. */
  const DOOMED = { node: "node01", terminationGracePeriodSeconds: 600 };
  afterEach(async () => {
    for (const one of terminations.splice(0)) await one.stop();
  });

  function terminate(node: string, seconds: number): void {
    const client = stage.client.as(USERS.karpenter.user, USERS.karpenter.groups);
    const endsAt = new Date(Date.now() + seconds * 1000);
    terminations.push(terminateNode({ client, clock: systemClock, node, endsAt }));
  }

  test("Karpenter's forced deletion waits until the VM has moved", async () => {
    await start("NodeTerminationEvictionLiveMigration");
    const vm = await createVm(stage, "forced", DOOMED);
    terminate("node01", 300);
    await expectMoved(vm, "NodeTermination");
    await expect.poll(vm.story).toContain("Normal DeletionRefused");
  });
});
