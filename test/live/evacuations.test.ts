/**
 * Tests evacuations that are cancelled, that find no node with free capacity, or whose VM another client moves.
 * KubeVirt's webhook and controller run, too.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import {
  createNode,
  kubevirt,
  nodes,
  ownerReferenceTo,
  podDisruptionBudgets,
  pods,
  systemClock,
} from "../../infra/sandbox/index.ts";
import { evacuations } from "../../infra/lab/stage/evacuations.ts";
import { lifeboat } from "../support/cli/lifeboat.ts";
import { closeQueue, NAMESPACE, openQueue, type Stage, startSimulatedStage, startStage } from "./stage.ts";
import { createVm, evict, type Vm } from "./vm.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.stop());
afterEach(() => openQueue(stage.client));

async function withdraw(vm: Vm): Promise<void> {
  const [active] = await vm.evacuations();
  const body = { spec: { intent: "Withdrawn" } };
  await stage.client.patch(evacuations, active?.metadata ?? { name: "" }, { type: "merge", body });
}

test("a cancelled Evacuation leaves no evacuationNodeName, no pending migration and no Warning", async () => {
  const vm = await createVm(stage, "kept");
  await closeQueue(stage.client);
  await vm.evict();
  await expect.poll(vm.migrations).toHaveLength(1);
  await expect.poll(vm.phases).toEqual(["Migrating"]);
  await withdraw(vm);
  await expect.poll(vm.phases).toEqual(["Withdrawn"]);
  await vm.untilUnmarked();
  await expect.poll(async () => (await vm.migrations()).filter((m) => m.status?.phase !== "Failed")).toEqual([]);
  await expect.poll(vm.events).toContain("Normal EvacuationCancelled");
  expect((await vm.events()).filter((sentence) => sentence.startsWith("Warning"))).toEqual([]);
  const { items } = await stage.client.list(podDisruptionBudgets, NAMESPACE);
  expect(items.map(({ spec }) => spec?.minAvailable)).toEqual([2]);
});

test("given the drain taint, KubeVirt keeps evacuationNodeName after a cancellation, and the condition Released names the taint", async () => {
  await createNode(stage.client, "drained");
  const vm = await createVm(stage, "drained", { node: "drained" });
  await closeQueue(stage.client);
  await vm.evict();
  await expect.poll(vm.phases).toEqual(["Migrating"]);
  const taints = [{ key: "kubevirt.io/drain", effect: "NoSchedule" }];
  await stage.client.patch(nodes, { name: "drained" }, { type: "merge", body: { spec: { taints } } });
  await withdraw(vm);
  const message =
    "KubeVirt does not clear the VMI's evacuationNodeName: node drained carries the drain taint kubevirt.io/drain";
  const released = async () => {
    const [first] = await vm.evacuations();
    return first?.status?.conditions?.find(({ type }) => type === "Released");
  };
  await expect.poll(released).toMatchObject({ status: "True", message });
});

const VIRT_CONTROLLER = "system:serviceaccount:kubevirt:kubevirt-controller";
const toAnotherCluster = ({ name }: Vm) => ({ namespace: NAMESPACE, name: `${name}-sent` });

async function send(vm: Vm): Promise<void> {
  const spec = { vmiName: vm.name, sendTo: { migrationID: "move-1", connectURL: "10.0.0.1:9185" } };
  const draft = { metadata: toAnotherCluster(vm), spec };
  await stage.client.as(VIRT_CONTROLLER).create(kubevirt.migrations, draft);
  await expect.poll(vm.migrations).toMatchObject([{ status: { phase: "Synchronizing" } }]);
}

async function say({ name }: Vm, status: Readonly<Record<string, unknown>>): Promise<void> {
  const vmi = { namespace: NAMESPACE, name };
  const body = { status };
  await stage.client.as(VIRT_CONTROLLER).patch(kubevirt.virtualMachineInstances, vmi, { type: "merge", body });
}

test("a VM that is being sent to another cluster migrates here only after the migration to the other cluster is deleted", async () => {
  const vm = await createVm(stage, "sent");
  await send(vm);
  expect(await vm.evict()).toMatchObject({
    code: 429,
    message: expect.stringContaining("Eviction triggered evacuation"),
  });
  await expect.poll(vm.evacuations).toMatchObject([{ status: { phase: "Migrating", reason: "Synchronizing" } }]);
  await stage.tick();
  expect(await vm.migrations()).toHaveLength(1);
  await stage.client.delete(kubevirt.migrations, toAnotherCluster(vm));
  await vm.untilMoved();
  await expect.poll(vm.evacuations).toMatchObject([{ status: { phase: "Moved", attempts: 0 } }]);
});

test("a VM that arrived in another cluster counts as moved, although its VMI here has ended", async () => {
  const vm = await createVm(stage, "arrived");
  await send(vm);
  await vm.evict();
  await expect.poll(vm.evacuations).toMatchObject([{ status: { phase: "Migrating" } }]);
  await vm.until("telling the other end", ({ status }) => status?.migrationState !== undefined);
  // Leaves the VMI's migration state unfinished, so that KubeVirt creates no second migration.
  await say(vm, { migrationState: { startTimestamp: "2026-01-01T00:00:00Z" } });
  const virtController = stage.client.as(VIRT_CONTROLLER);
  const ended = { type: "merge", body: { status: { phase: "Succeeded" } } } as const;
  await virtController.patch(kubevirt.migrations, toAnotherCluster(vm), ended, { subresource: "status" });
  await say(vm, { phase: "Succeeded" });
  await expect.poll(vm.phases).toEqual(["Moved"]);
  expect(await vm.migrations()).toHaveLength(1);
});

test("given a volume that is being hotplugged, the eviction of its pod is refused, and the VM moves", async () => {
  const vm = await createVm(stage, "growing");
  const launcher = await vm.pod();
  const volume = await stage.client.create(pods, {
    metadata: {
      namespace: NAMESPACE,
      name: "hp-volume-7c9qd",
      labels: { "kubevirt.io": "hotplug-disk" },
      // The launcher is not the pod's controller. Otherwise virt-controller would delete the pod, because the VMI does
      // not have the volume.
      ownerReferences: [Object.assign(ownerReferenceTo(launcher, pods), { controller: false })],
    },
    spec: { nodeName: vm.node, containers: [{ name: "hotplug-disk", image: "none" }] },
  });
  const refused = { code: 429, message: expect.stringContaining("hotplug pod") };
  expect(await evict(stage.client, volume)).toMatchObject(refused);
  await vm.evict();
  expect((await vm.untilMoved()).status?.phase).toBe("Running");
});

test("given no room, no attempt counts as failed, and the VM moves to the node that an autoscaler adds", async () => {
  const vm = await createVm(stage, "roomless");
  const { items } = await stage.client.list(nodes);
  const cordon = { type: "merge", body: { spec: { unschedulable: true } } } as const;
  for (const { metadata } of items) await stage.client.patch(nodes, metadata, cordon);
  const message = expect.stringMatching(/cannot be scheduled: 0\/\d+ nodes are available/);
  const status = async () => {
    await vm.evict();
    return (await vm.evacuations())[0]?.status;
  };
  await expect.poll(status).toMatchObject({ phase: "Migrating", reason: "NoRoom", attempts: 0, message });
  await createNode(stage.client, "late");
  await vm.untilMoved();
  await stage.reconcile();
  expect((await vm.evacuations()).map((one) => one.status)).toMatchObject([{ phase: "Moved", attempts: 0 }]);
  expect(await vm.migrations()).toHaveLength(1);
});

test(
  "given KubeVirt's back-off before the last attempt, the Evacuation names the back-off, and `lifeboat retry` ends the back-off",
  { tags: ["backoff"] },
  async ({ onTestFinished }) => {
    // The cluster's clock is an hour ahead of Lifeboat's clock, so Lifeboat sees a back-off of an hour.
    const clock = { ...systemClock, now: () => new Date(Date.now() + 3_600_000) };
    const optional = ["optional/migration-policy/migration-policy.yaml"];
    const configuration = { evacuation: { maxAttempts: 2, backoffSeconds: 0.2, maxBackoffSeconds: 60 } };
    const delaying = await startSimulatedStage({ clock, optional, configuration, relay: true });
    onTestFinished(() => delaying.stop());
    delaying.sandbox.migrations.configure({
      // A migration takes more than a second, because creation times have whole seconds and decide which migration is
      // the newest.
      seconds: 1.1,
      outcome: ({ attempt }) => (attempt === 1 ? "Failed" : "Succeeded"),
      backoffSeconds: 3_600,
    });
    const vm = await createVm(delaying, "delayed");
    await vm.evict();
    const message = expect.stringMatching(
      /^migration kubevirt-evacuation-\S+ has failed: Live migration failed; KubeVirt's own back-off delays migration kubevirt-evacuation-\S+ until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
    );
    const status = async () => (await vm.evacuations())[0]?.status;
    await expect.poll(status).toMatchObject({ phase: "BackingOff", reason: "KubeVirtBackoff", attempts: 1, message });
    const phases = async () => (await vm.migrations()).map((one) => one.status?.phase ?? "").toSorted();
    expect(await phases()).toEqual(["Failed", "Pending"]);

    const person = { kubeconfig: delaying.sandbox.kubeconfig, meanwhile: () => delaying.tick() };
    expect((await lifeboat(`retry -y delayed -n ${NAMESPACE}`, person)).code).toBe(0);
    const { status: moved } = await vm.untilMoved();
    expect(moved?.migrationState?.migrationPolicyName).toBe("lifeboat-urgent");
    // KubeVirt's pending migration has moved the VM, so no third migration exists.
    await expect.poll(phases).toEqual(["Failed", "Succeeded"]);
    await expect.poll(vm.phases).toEqual(["Moved"]);
  },
);
