/** A NoExecute taint that ends virt-handler, too, as KubeVirt's own DaemonSet has it; and where the KubeVirt object says otherwise. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createNode, KUBEVIRT, kubeVirts, nodes, pods } from "../../infra/sandbox/index.ts";
import { GUARD_FILES } from "../../infra/lab/stage/apply.ts";
import { startSimulatedStage, type SimulatedStage } from "./stage.ts";
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
      featureGates: { NoExecuteTaintEvictionLiveMigration: true },
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

test(
  "without virt-handler the VM cannot leave, and stays past the deadline; it moves when virt-handler is back",
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

test("virt-handler tolerates the taint: the VM moves", async () => {
  const tolerations = [{ operator: "Exists", effect: "NoExecute" }];
  const body = { spec: { workloads: { nodePlacement: { tolerations } } } };
  await stage.client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body });
  const vm = await createVmOn("tolerated");
  await taint("tolerated", TAINT);
  expect((await vm.untilMoved()).status?.phase).toBe("Running");
  expect(await handlersOn("tolerated")).toBe(1);
});
