/** Tests migrations that stay Pending because of a quota or a backup. */
import { beforeAll, expect, test } from "vitest";
import { pods } from "../../actors/resources.ts";
import { createNode, createVirtualMachineInstance } from "../../fleet.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { eventually, useSandbox } from "../with-sandbox.ts";
import { VIRT_CONTROLLER } from "./guests.ts";

const quotas = { apiVersion: "v1", kind: "ResourceQuota", plural: "resourcequotas", namespaced: true };

const world = useSandbox({ migrationSeconds: 60 }, /exceeded quota/);

beforeAll(async () => {
  await Promise.all(["node-1", "node-2"].map((name) => createNode(world.sandbox.client, name)));
});

async function migrate(namespace: string, priority?: string) {
  const draft = {
    metadata: { name: "migration", namespace },
    spec: { vmiName: "guest", ...(priority && { priority }) },
  };
  return (await world.sandbox.client.as(VIRT_CONTROLLER).create(kubevirt.migrations, draft)).metadata;
}

const createGuest = (namespace: string) =>
  createVirtualMachineInstance(world.sandbox.client, { namespace, name: "guest", node: "node-1" });
const statusOf = async (key: { readonly name: string }) =>
  (await world.sandbox.client.get(kubevirt.migrations, key))?.status;
const launchers = async (namespace: string) => (await world.sandbox.client.list(pods, namespace)).items.length;

test("a migration whose target pod exceeds a quota has a condition and waits until the quota is raised", async () => {
  const namespace = "full";
  const { client } = world.sandbox;
  await createGuest(namespace);
  await client.create(quotas, { metadata: { name: "few", namespace }, spec: { hard: { pods: "1" } } } as never);
  const migration = await migrate(namespace);
  const overQuota = { type: "migrationRejectedByResourceQuota", status: "True" };
  await eventually(() => statusOf(migration)).toMatchObject({ phase: "Pending", conditions: [overQuota] });
  world.clock.advance(3_600_000);
  expect(await statusOf(migration)).toMatchObject({ phase: "Pending", conditions: [overQuota] });
  expect(await launchers(namespace)).toBe(1);
  await client.patch(quotas, { namespace, name: "few" }, { type: "merge", body: { spec: { hard: { pods: "2" } } } });
  await world.pass(async () => (await statusOf(migration))?.phase === "Running");
  expect(await statusOf(migration)).not.toHaveProperty("conditions");
  await world.pass(async () => (await statusOf(migration))?.phase === "Succeeded");
});

// prettier-ignore
const rows: readonly (readonly [priority: string | undefined, message: string, ends: boolean])[] = [
  [undefined,            "Waiting for backup nightly to complete",                      false],
  ["user-triggered",     "Waiting for backup nightly to complete",                      false],
  ["system-maintenance", "Waiting for backup nightly to complete",                      false],
  ["system-critical",    "Aborting backup nightly for system-critical migration",       true ],
];
test.each(rows)("a migration of priority %s during a backup: %s", async (priority, message, ends) => {
  const namespace = `backup-${rows.findIndex(([other]) => other === priority)}`;
  const { client } = world.sandbox;
  const { metadata: key } = await createGuest(namespace);
  const backup = async () =>
    (await client.get(kubevirt.virtualMachineInstances, key))?.status?.changedBlockTracking?.backupStatus;
  const report = (backupStatus: object) =>
    client.as(VIRT_CONTROLLER).patch(kubevirt.virtualMachineInstances, key, {
      type: "merge",
      body: { status: { changedBlockTracking: { state: "Enabled", backupStatus } } },
    });
  await report({ backupName: "nightly" });
  const seen = world.until(kubevirt.migrations, { namespace, name: "migration" }, ({ status }) =>
    (status?.conditions ?? []).some((condition) => condition.message === message),
  );
  const migration = await migrate(namespace, priority);
  await seen;
  if (!ends) {
    await eventually(() => launchers(namespace)).toBe(2);
    world.clock.advance(3_600_000);
    const blocked = { type: "migrationBlockedByBackup", status: "True", reason: "BackupInProgress", message };
    expect(await statusOf(migration)).toMatchObject({ phase: "Pending", conditions: [blocked] });
    await report({ completed: true });
  } else await eventually(backup).toMatchObject({ backupName: "nightly", completed: true, failed: true });
  await world.pass(async () => (await statusOf(migration))?.phase === "Running");
  expect(await statusOf(migration)).not.toHaveProperty("conditions");
  await world.pass(async () => (await statusOf(migration))?.phase === "Succeeded");
});

test.each([
  ["sent", { sendTo: { migrationID: "1", connectURL: "10.0.0.1:9185" } }, "Synchronizing"],
  ["received", { receive: { migrationID: "1" } }, "WaitingForSync"],
])(
  "a migration between clusters (guest %s) waits as long as the other cluster does not answer, and gets no target pod",
  async (namespace, end, phase) => {
    const { client } = world.sandbox;
    const { metadata: vmi } = await createGuest(namespace);
    const draft = { metadata: { name: "migration", namespace }, spec: { vmiName: "guest", ...end } };
    const { metadata: migration } = await client.create(kubevirt.migrations, draft);
    await eventually(() => statusOf(migration)).toMatchObject({ phase });
    world.clock.advance(3_600_000);
    expect(await statusOf(migration)).toMatchObject({ phase });
    expect(await launchers(namespace)).toBe(1);
    await client.delete(kubevirt.migrations, migration);
    await eventually(async () => (await statusOf(migration))?.phase ?? "gone").toBe("gone");
    expect((await client.get(kubevirt.virtualMachineInstances, vmi))?.status?.phase).toBe("Running");
  },
);

test("a VMI that receives its guest from another VMI waits, and gets no pod until the guest comes", async () => {
  const { client } = world.sandbox;
  await createGuest("receiving");
  const annotations = { "kubevirt.io/create-migration-target": "true" };
  const metadata = { name: "receiver", namespace: "receiving", annotations };
  const { metadata: key } = await client.create(kubevirt.virtualMachineInstances, { metadata, spec: { domain: {} } });
  const phaseOf = async () => (await client.get(kubevirt.virtualMachineInstances, key))?.status?.phase;
  await eventually(phaseOf).toBe("WaitingForSync");
  expect(await launchers("receiving")).toBe(1);
});
