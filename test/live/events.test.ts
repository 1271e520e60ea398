/** What the relay tells of is acted on at once: here no minute passes, and nothing else makes Lifeboat look. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  asNode,
  createKubeletRecorder,
  type Pod,
  podDisruptionBudgets,
  pods,
  systemClock,
} from "../../infra/sandbox/index.ts";
import { NAMESPACE, type Stage, startStage } from "./stage.ts";
import { createVm } from "./vm.ts";

let stage: Stage;

beforeAll(async () => {
  stage = await startStage({
    relay: true,
    ticking: false,
    configuration: {
      featureGates: { PreemptionEvictionLiveMigration: true, NodePressureEvictionLiveMigration: true },
    },
  });
});
afterAll(() => stage.stop());

test("a VM that has just been made has its budget", async () => {
  const { metadata } = await stage.createVm({ name: "new", evictionStrategy: "LiveMigrate" });
  const owners = async () => {
    const { items } = await stage.client.list(podDisruptionBudgets, NAMESPACE);
    return items.flatMap((budget) => budget.metadata.ownerReferences?.map(({ uid }) => uid));
  };
  await expect.poll(owners).toEqual([metadata.uid]);
});

async function preempted({ metadata }: Pod): Promise<void> {
  const condition = { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler" };
  const body = { status: { conditions: [{ ...condition, lastTransitionTime: new Date().toISOString() }] } };
  await stage.client.patch(pods, metadata, { type: "strategic", body }, { subresource: "status" });
}

test("the guard did not see it: a pod that terminates by preemption has its VM marked", async () => {
  stage.sandbox.migrations.configure({ seconds: 600 });
  const vm = await createVm(stage, "seen");
  const pod = await vm.pod();
  await preempted(pod);
  stage.sandbox.kubelets.stop(vm.node);
  await stage.client.delete(pods, pod.metadata);
  const { uid } = pod.metadata;
  await expect.poll(vm.evacuations).toMatchObject([{ spec: { cause: "Preemption", pod: { uid } } }]);
  await vm.until("marked", ({ status }) => status?.evacuationNodeName === vm.node);
  stage.sandbox.kubelets.start(vm.node);
});

test("node pressure, and the kubelet begins to kill: the VM is moved", async () => {
  stage.sandbox.migrations.configure({ seconds: 0.1 });
  const vm = await createVm(stage, "killed");
  const recorder = createKubeletRecorder(asNode(stage.client, vm.node), systemClock, vm.node);
  await recorder.record(await vm.pod(), pods, {
    type: "Warning",
    reason: "Evicted",
    message: "The node was low on resource: memory.",
  });
  await expect.poll(vm.evacuations).toMatchObject([{ spec: { cause: "NodePressure" } }]);
  await vm.untilMoved();
});
