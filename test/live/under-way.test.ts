/** Evictions of VMs with which something else is under way: beside KubeVirt, none is moved twice or shut down on its way. */
import { expect, test } from "vitest";
import { kubevirt, ownerReferenceTo, pods } from "../../infra/sandbox/index.ts";
import { NAMESPACE, type Stage } from "./stage.ts";
import { useStages } from "./stages.ts";
import { createVm, evict, type Vm } from "./vm.ts";

const startStage = useStages();
let stage: Stage;

const VIRT_CONTROLLER = "system:serviceaccount:kubevirt:kubevirt-controller";
const key = { namespace: NAMESPACE, name: "begun-before" };

async function begin(vmiName: string, more: object, annotations: Record<string, string> = {}): Promise<void> {
  const draft = { metadata: { ...key, annotations }, spec: { vmiName, ...more } };
  await stage.client.as(VIRT_CONTROLLER).create(kubevirt.migrations, draft);
}

/** virt-controller writes into the VMI's status. */
async function say({ name }: Vm, status: Readonly<Record<string, unknown>>): Promise<void> {
  const vmi = { namespace: NAMESPACE, name };
  const body = { status };
  await stage.client.as(VIRT_CONTROLLER).patch(kubevirt.virtualMachineInstances, vmi, { type: "merge", body });
}

const sendTo = { migrationID: "move-1", connectURL: "10.0.0.1:9185" };

test("a VM that is sent to another cluster is waited for, and moved once that has been given up", async () => {
  stage = await startStage();
  const vm = await createVm(stage, "sent");
  await begin(vm.name, { sendTo });
  await expect.poll(vm.migrations).toMatchObject([{ status: { phase: "Synchronizing" } }]);
  expect(await vm.evict()).toMatchObject({
    code: 429,
    message: expect.stringContaining("Eviction triggered evacuation"),
  });
  await expect.poll(vm.evacuations).toMatchObject([{ status: { phase: "Migrating", reason: "Synchronizing" } }]);
  await stage.tick();
  expect(await vm.migrations()).toHaveLength(1);
  await stage.client.delete(kubevirt.migrations, key);
  await vm.untilMoved();
  await expect.poll(vm.evacuations).toMatchObject([{ status: { phase: "Moved", attempts: 0 } }]);
});

test("… which succeeds: the VM has moved, although its VMI here has ended", async () => {
  stage = await startStage();
  const vm = await createVm(stage, "arrived");
  await begin(vm.name, { sendTo });
  await vm.evict();
  await expect.poll(vm.evacuations).toMatchObject([{ status: { phase: "Migrating" } }]);
  await vm.until("telling the other end", ({ status }) => status?.migrationState !== undefined);
  // Until the VMI ends, too, it says that it is being moved: the evacuation controller makes no other migration meanwhile.
  await say(vm, { migrationState: { startTimestamp: "2026-01-01T00:00:00Z" } });
  const virtController = stage.client.as(VIRT_CONTROLLER);
  const ended = { type: "merge", body: { status: { phase: "Succeeded" } } } as const;
  await virtController.patch(kubevirt.migrations, key, ended, { subresource: "status" });
  await say(vm, { phase: "Succeeded" });
  await expect.poll(vm.phases).toEqual(["Moved"]);
  expect(await vm.migrations()).toHaveLength(1);
});

test("a volume that is being hotplugged keeps its pod, and its VM moves", async () => {
  stage = await startStage();
  const vm = await createVm(stage, "growing");
  const launcher = await vm.pod();
  const volume = await stage.client.create(pods, {
    metadata: {
      namespace: NAMESPACE,
      name: "hp-volume-7c9qd",
      labels: { "kubevirt.io": "hotplug-disk" },
      // As its controller virt-controller would delete it: no such volume is in the VMI.
      ownerReferences: [Object.assign(ownerReferenceTo(launcher, pods), { controller: false })],
    },
    spec: { nodeName: vm.node, containers: [{ name: "hotplug-disk", image: "none" }] },
  });
  expect(await evict(stage.client, volume)).toMatchObject({
    code: 429,
    message: expect.stringContaining("hotplug pod"),
  });
  await vm.evict();
  expect((await vm.untilMoved()).status?.phase).toBe("Running");
});
