/** Evictions of VMs with which something else is under way: beside KubeVirt, none is moved twice or shut down on its way. */
import { afterEach, expect, test } from "vitest";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { closeQueue, NAMESPACE, openQueue, type Stage, startStage } from "./stage.ts";
import { createVm } from "./vm.ts";

let stage: Stage;
afterEach(() => stage.stop());

const VIRT_CONTROLLER = "system:serviceaccount:kubevirt:kubevirt-controller";
const key = { namespace: NAMESPACE, name: "begun-before" };

async function begin(vmiName: string, more: object, annotations: Record<string, string> = {}): Promise<void> {
  const draft = { metadata: { ...key, annotations }, spec: { vmiName, ...more } };
  await stage.client.as(VIRT_CONTROLLER).create(kubevirt.migrations, draft);
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

test("… nor shut down, if only such a migration can move it", async () => {
  stage = await startStage({ configuration: { reconcilers: { budget: "Disabled" } } });
  const vm = await createVm(stage, "disks", { evictionStrategy: "LiveMigrateIfPossible", migratable: false });
  await begin(vm.name, { sendTo });
  await vm.until("telling the other end", ({ status }) => status?.migrationState !== undefined);
  expect(await vm.evict()).toMatchObject({ code: 429, message: expect.stringContaining("is being migrated") });
  await stage.client.delete(kubevirt.migrations, key);
  await expect.poll(async () => (await vm.evict()).code, { timeout: 10_000 }).toBe(201);
});

test("a workload update is adopted, and moves the VM", async () => {
  stage = await startStage();
  const vm = await createVm(stage, "updated");
  await closeQueue(stage.client);
  await begin(vm.name, { priority: "system-critical" }, { "kubevirt.io/workloadUpdateMigration": "" });
  await vm.evict();
  await expect.poll(vm.causes).toEqual(["ApiEviction"]);
  await expect.poll(vm.phases).toEqual(["Migrating"]);
  await openQueue(stage.client);
  await vm.untilMoved();
  await expect.poll(vm.phases).toEqual(["Moved"]);
  expect(await vm.migrations()).toHaveLength(1);
});

test("a backup is aborted by KubeVirt's own migration", async () => {
  stage = await startStage();
  const vm = await createVm(stage, "backed-up");
  const body = { status: { changedBlockTracking: { state: "Enabled", backupStatus: { backupName: "nightly" } } } };
  const vmi = { namespace: NAMESPACE, name: vm.name };
  await stage.client.as(VIRT_CONTROLLER).patch(kubevirt.virtualMachineInstances, vmi, { type: "merge", body });
  await vm.evict();
  const { status } = await vm.untilMoved();
  expect(status?.changedBlockTracking?.backupStatus).toMatchObject({ completed: true, failed: true });
});
