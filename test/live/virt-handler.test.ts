/**
 * Runs the disruptions of infra/sandbox/test/disruptions/naive.test.ts with Lifeboat, while virt-handlers are pods of
 * KubeVirt's DaemonSet. The tests cover a taint that virt-handler tolerates, a preemption, and a taint that evicts
 * virt-handler.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createNode,
  createPod,
  createPriorityClass,
  KUBEVIRT,
  kubeVirts,
  nodes,
  pods,
} from "../../infra/sandbox/index.ts";
import { GUARD_FILES } from "../../infra/lab/stage/apply.ts";
import { NAMESPACE, startSimulatedStage, type SimulatedStage } from "./stage.ts";
import { createVm } from "./vm.ts";

const TAINT = [{ key: "maintenance", effect: "NoExecute" }];
const DEADLINE_SECONDS = 75;
const TIMEOUT_MS = 240_000;

let stage: SimulatedStage;
beforeAll(async () => {
  stage = await startSimulatedStage({
    relay: true,
    optional: GUARD_FILES,
    virtHandlerPods: true,
    configuration: {
      featureGates: { NoExecuteTaintEvictionLiveMigration: true, PreemptionEvictionLiveMigration: true },
      guard: { deadlineSeconds: { NoExecuteTaint: DEADLINE_SECONDS } },
    },
  });
});
afterAll(() => stage.stop());

const taint = (name: string, taints: readonly object[]) =>
  stage.client.patch(nodes, { name }, { type: "merge", body: { spec: { taints } } });

const handlersOn = async (node: string) => {
  const { items } = await stage.client.list(pods, "kubevirt", { labelSelector: "kubevirt.io=virt-handler" });
  return items.filter(({ spec }) => spec?.nodeName === node).length;
};

async function createVmOn(node: string) {
  await createNode(stage.client, node, { memory: "16Gi" });
  await expect.poll(() => handlersOn(node)).toBe(1);
  return await createVm(stage, `vm-of-${node}`, { node });
}

const CRITICAL_ADDONS = [{ key: "CriticalAddonsOnly", value: "true", effect: "NoExecute" }];

test("given a taint that KubeVirt's own virt-handler tolerates, the VM moves, and virt-handler stays", async () => {
  const vm = await createVmOn("critical");
  await taint("critical", CRITICAL_ADDONS);
  expect((await vm.untilMoved()).status?.phase).toBe("Running");
  expect(await handlersOn("critical")).toBe(1);
});

test("when a pod of a higher PriorityClass preempts a VM, the VM moves, and the pod runs", async () => {
  const { client } = stage;
  await createPriorityClass(client, "urgent", 100_000);
  const vm = await createVmOn("wanted");
  const nodeSelector = { "kubernetes.io/hostname": "wanted" };
  const preemptor = { namespace: NAMESPACE, name: "preemptor" };
  await createPod(client, { ...preemptor, priorityClassName: "urgent", requests: { memory: "16Gi" }, nodeSelector });
  expect((await vm.untilMoved()).status?.phase).toBe("Running");
  const phase = async () => (await client.get(pods, preemptor))?.status?.phase;
  await expect.poll(phase, { timeout: TIMEOUT_MS }).toBe("Running");
  expect(await handlersOn("wanted")).toBe(1);
});

test(
  "without virt-handler a VM cannot migrate, and its pod is not deleted after the guard's deadline",
  { tags: ["nightly"], timeout: TIMEOUT_MS },
  async () => {
    const vm = await createVmOn("tainted");
    const began = Date.now();
    await taint("tainted", TAINT);
    await expect.poll(() => handlersOn("tainted")).toBe(0);
    const isLate = () => Promise.resolve(Date.now() - began > (DEADLINE_SECONDS + 15) * 1000);
    await expect.poll(isLate, { timeout: TIMEOUT_MS, interval: 1000 }).toBe(true);
    await stage.tick();
    expect(await vm.evacuations()).toMatchObject([{ status: { phase: "Blocked", reason: "NoVirtHandler" } }]);
    await vm.until("stays", ({ status }) => status?.phase === "Running" && status.nodeName === "tainted");
    expect((await vm.pod()).metadata.deletionTimestamp).toBeUndefined();
  },
);

test("given a virt-handler configured to tolerate a taint, the VM moves", async () => {
  const tolerations = [{ operator: "Exists", effect: "NoExecute" }];
  const body = { spec: { workloads: { nodePlacement: { tolerations } } } };
  await stage.client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body });
  const vm = await createVmOn("tolerated");
  await taint("tolerated", TAINT);
  expect((await vm.untilMoved()).status?.phase).toBe("Running");
  expect(await handlersOn("tolerated")).toBe(1);
});
