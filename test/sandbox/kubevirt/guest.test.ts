/**
 * The life of a guest: how it comes, what it reports, how it ends.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { pods } from "../../../infra/sandbox/actors/resources.ts";
import { createNode, createVirtualMachineInstance } from "../../../infra/sandbox/fleet.ts";
import * as kubevirt from "../../../infra/sandbox/kubevirt/resources.ts";
import { useSandbox } from "../with-sandbox.ts";

const NAMESPACE = "guests";
const world = useSandbox({ terminationSeconds: 20 });

beforeAll(async () => {
  await createNode(world.sandbox.client, "node-1");
});

const keyOf = (name: string) => ({ namespace: NAMESPACE, name });

async function createGuest(name: string, more: { migratable?: boolean; reason?: string } = {}) {
  const vmi = await createVirtualMachineInstance(world.sandbox.client, { ...keyOf(name), ...more });
  const labelSelector = `${kubevirt.LABEL.createdBy}=${vmi.metadata.uid}`;
  const { items } = await world.sandbox.client.list(pods, NAMESPACE, { labelSelector });
  const [launcher] = items;
  if (launcher === undefined) throw new Error("no launcher");
  return { vmi, launcher };
}

test("a running guest has a launcher pod in KubeVirt's conventions", async () => {
  const { vmi, launcher } = await createGuest("conventional");
  expect(launcher.metadata.name).toMatch(/^virt-launcher-conventional-[a-z0-9]{5}$/);
  expect(launcher.metadata).toMatchObject({
    labels: { [kubevirt.LABEL.app]: "virt-launcher", [kubevirt.LABEL.createdBy]: vmi.metadata.uid },
    annotations: { [kubevirt.ANNOTATION.domain]: "conventional" },
    ownerReferences: [
      { kind: "VirtualMachineInstance", uid: vmi.metadata.uid, controller: true, blockOwnerDeletion: true },
    ],
  });
  expect(launcher.spec).toMatchObject({
    nodeName: "node-1",
    restartPolicy: "Never",
    terminationGracePeriodSeconds: 60,
  });
  expect(vmi.metadata.labels).toMatchObject({ [kubevirt.LABEL.nodeName]: "node-1" });
  expect(vmi.status).toMatchObject({
    phase: "Running",
    nodeName: "node-1",
    activePods: { [launcher.metadata.uid]: "node-1" },
  });
  expect(vmi.status?.phaseTransitionTimestamps?.map(({ phase }) => phase)).toEqual([
    "Scheduling",
    "Scheduled",
    "Running",
  ]);
});

test("of a long name the launcher's keeps 58 characters and its suffix", async () => {
  const name = "a".repeat(60);
  const { launcher } = await createGuest(name);
  expect(launcher.metadata.name).toMatch(/^virt-launcher-a{44}[a-z0-9]{5}$/);
  expect(launcher.metadata.annotations).toMatchObject({ [kubevirt.ANNOTATION.domain]: name });
});

describe("LiveMigratable", () => {
  // prettier-ignore
  const rows: readonly (readonly [migratable: boolean, reason: string | undefined, condition: object])[] = [
    [true,  undefined,                     { status: "True" }],
    [false, undefined,                     { status: "False", reason: "DisksNotLiveMigratable" }],
    [false, "HostDeviceNotLiveMigratable", { status: "False", reason: "HostDeviceNotLiveMigratable" }],
    [false, "InterfaceNotLiveMigratable",  { status: "False", reason: "InterfaceNotLiveMigratable" }],
  ];
  test.each(rows)("migratable %s, %s", async (migratable, reason, condition) => {
    const name = `migratable-${rows.findIndex((row) => row[0] === migratable && row[1] === reason)}`;
    const { vmi } = await createGuest(name, { migratable, ...(reason !== undefined && { reason }) });
    expect(vmi.status?.conditions).toContainEqual(expect.objectContaining({ type: "LiveMigratable", ...condition }));
  });
});

describe("the end", () => {
  test("a deleted launcher takes its grace, then the guest has Succeeded and the pod is gone", async () => {
    const { launcher } = await createGuest("evicted");
    await world.sandbox.client.delete(pods, launcher.metadata);
    world.clock.advance(19_000);
    const terminating = await world.until(
      pods,
      launcher.metadata,
      ({ metadata }) => metadata.deletionTimestamp !== undefined,
    );
    expect(terminating.status?.phase).toBe("Running");
    await world.pass(async () => (await world.sandbox.client.get(pods, launcher.metadata)) === undefined);
    const vmi = await world.until(kubevirt.virtualMachineInstances, keyOf("evicted"), ({ status }) =>
      kubevirt.isFinal(status),
    );
    expect(vmi.status?.phase).toBe("Succeeded");
  });

  test("a launcher deleted without grace kills the guest", async () => {
    const { launcher } = await createGuest("killed");
    await world.sandbox.client.delete(pods, launcher.metadata, { gracePeriodSeconds: 0 });
    const vmi = await world.until(kubevirt.virtualMachineInstances, keyOf("killed"), ({ status }) =>
      kubevirt.isFinal(status),
    );
    expect(vmi.status?.phase).toBe("Failed");
  });

  test("a deleted VMI goes after its launcher", async () => {
    const { launcher } = await createGuest("deleted");
    await world.sandbox.client.delete(kubevirt.virtualMachineInstances, keyOf("deleted"));
    await world.until(pods, launcher.metadata, ({ metadata }) => metadata.deletionTimestamp !== undefined);
    expect(await world.sandbox.client.get(kubevirt.virtualMachineInstances, keyOf("deleted"))).toBeDefined();
    await world.pass(
      async () => (await world.sandbox.client.get(kubevirt.virtualMachineInstances, keyOf("deleted"))) === undefined,
    );
    expect(await world.sandbox.client.get(pods, launcher.metadata)).toBeUndefined();
  });
});
