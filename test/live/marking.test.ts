/** KubeVirt marks, whatever the cause, and takes its marks back. */
import { afterEach, expect, test } from "vitest";
import { nodes, pods } from "../../infra/sandbox/actors/resources.ts";
import { evacuations } from "../../infra/lab/stage/evacuations.ts";
import { ALONE, closeQueue, NAMESPACE, type Stage, type StageOptions, startStage } from "./stage.ts";
import { createVm, type Vm } from "./vm.ts";

let stage: Stage;
afterEach(() => stage.stop());

async function start(options: StageOptions = {}, vmOptions: Parameters<typeof createVm>[2] = {}): Promise<Vm> {
  const featureGates = { PreemptionEvictionLiveMigration: true };
  const optional = ["optional/guard/guard.yaml"];
  stage = await startStage({ optional, configuration: { featureGates }, ...options });
  return await createVm(stage, "vm", vmOptions);
}

const withdraw = async (vm: Vm) => {
  const [active] = await vm.evacuations();
  const body = { spec: { intent: "Withdrawn" } };
  await stage.client.patch(evacuations, active?.metadata ?? { name: "" }, { type: "merge", body });
};

const released = async (vm: Vm) => {
  const [first] = await vm.evacuations();
  return first?.status?.conditions?.find(({ type }) => type === "Released");
};

test("an evicted VM is marked by KubeVirt, an Evacuation follows it, it moves, and Lifeboat is ready", async () => {
  const vm = await start();
  const { code, message } = await vm.evictQueued();
  expect(code).toBe(429);
  expect(message).toContain('Eviction triggered evacuation of VMI "vms/vm"');
  await vm.untilMoved();
  await expect.poll(vm.evacuations).toMatchObject([{ spec: { cause: "ApiEviction" }, status: { phase: "Moved" } }]);
  expect(await stage.ask("GET", "/readyz")).toMatchObject({ code: 200 });
  expect((await vm.evacuations()).length).toBe(1);
});

test("a preempted VM is marked by KubeVirt on an eviction that cannot happen, and moves", async () => {
  const vm = await start();
  const { metadata } = await vm.pod();
  const condition = { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler" };
  const body = { status: { conditions: [{ ...condition, lastTransitionTime: new Date().toISOString() }] } };
  await stage.client.patch(pods, metadata, { type: "strategic", body }, { subresource: "status" });
  const scheduler = stage.client.as("system:kube-scheduler", ["system:authenticated"]);
  await expect(scheduler.delete(pods, metadata)).rejects.toThrow("waits until VMI");
  expect((await vm.untilMoved()).status?.phase).toBe("Running");
  await expect.poll(vm.evacuations).toMatchObject([{ spec: { cause: "Preemption" }, status: { phase: "Moved" } }]);
});

test("one that a person asks for is marked, and cancelled it has neither mark nor migration", async () => {
  const vm = await start();
  await closeQueue(stage.client);
  const spec = { virtualMachineInstance: { name: "vm" }, cause: "Operator", requestedBy: "kubernetes-admin" };
  await stage.client.create(evacuations, { metadata: { namespace: NAMESPACE, name: "by-hand" }, spec });
  await expect.poll(vm.phases).toEqual(["Migrating"]);
  expect((await vm.evacuations())[0]?.status?.conditions).toContainEqual(
    expect.objectContaining({ type: "Marked", status: "True" }),
  );
  await withdraw(vm);
  await expect.poll(() => released(vm)).toMatchObject({ status: "True", message: "" });
  await vm.untilUnmarked();
  await expect.poll(async () => (await vm.migrations()).filter((m) => m.status?.phase !== "Failed")).toEqual([]);
});

test("with the drain taint KubeVirt keeps the mark, and the end says so", async () => {
  const vm = await start({ nodes: ["node01"] });
  await closeQueue(stage.client);
  await vm.evict();
  await expect.poll(vm.phases).toEqual(["Migrating"]);
  const taints = [{ key: "kubevirt.io/drain", effect: "NoSchedule" }];
  await stage.client.patch(nodes, { name: "node01" }, { type: "merge", body: { spec: { taints } } });
  await withdraw(vm);
  const message = "KubeVirt keeps the mark: node node01 carries the drain taint kubevirt.io/drain";
  await expect.poll(() => released(vm)).toMatchObject({ status: "True", message });
});

test("an eviction during a cancel is a new request: the mark that follows begins anew, with the back-off of the last", async () => {
  const vm = await start({ configuration: { evacuation: { backoffSeconds: 300, maxBackoffSeconds: 600 } } });
  await closeQueue(stage.client);
  await vm.evict();
  await expect.poll(vm.phases).toEqual(["Migrating"]);
  await Promise.all([withdraw(vm), vm.evict()]);
  await expect.poll(() => released(vm)).toMatchObject({ status: "True" });
  const retry = async () => {
    await vm.evict();
    return await vm.evacuations();
  };
  await expect
    .poll(retry)
    .toMatchObject([{ status: { phase: "Withdrawn" } }, { spec: { inherited: { attempts: 0 } } }]);
});

test("without KubeVirt's eviction webhook and controller: nobody marks, and Lifeboat migrates the VM after adoptSeconds", async () => {
  const vm = await start({ ...ALONE, configuration: { evacuation: { adoptSeconds: 0 } } });
  expect(await vm.evict()).toMatchObject({ code: 429 });
  await vm.untilMoved();
  await expect.poll(vm.evacuations).toMatchObject([{ spec: { cause: "ApiEviction" }, status: { phase: "Moved" } }]);
});

test("… an External one is reported", async () => {
  const external = { evictionStrategy: "External" } as const;
  const vm = await start({ ...ALONE, configuration: { evacuation: { adoptSeconds: 0 } } }, external);
  expect(await vm.evict()).toMatchObject({ code: 429 });
  await expect.poll(vm.evacuations).toMatchObject([{ status: { phase: "Blocked", reason: "NotMarked" } }]);
});
