/** Tests the phases and results of migrations, and the objects that remain after a migration. */
import { beforeAll, describe, expect, test } from "vitest";
import { pods, type Pod } from "../../actors/resources.ts";
import { createNode, createVirtualMachineInstance } from "../../fleet.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { eventually, useSandbox } from "../with-sandbox.ts";

const NAMESPACE = "guests";
const SECONDS = 600;
const PHASES = ["Pending", "Scheduling", "Scheduled", "PreparingTarget", "TargetReady", "Running", "Succeeded"];

const world = useSandbox({ migrationSeconds: SECONDS });

beforeAll(async () => {
  await Promise.all(["node-1", "node-2", "node-3"].map((name) => createNode(world.sandbox.client, name)));
});

function createGuest(name: string) {
  const vm = { namespace: NAMESPACE, name, evictionStrategy: "LiveMigrate", node: "node-1" };
  return createVirtualMachineInstance(world.sandbox.client, vm);
}

async function migrate(vmiName: string) {
  const metadata = { generateName: `${vmiName}-`, namespace: NAMESPACE };
  return (await world.sandbox.client.create(kubevirt.migrations, { metadata, spec: { vmiName } })).metadata;
}

const vmi = (name: string) => world.until(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name }, () => true);
const reaches = (key: { name: string; namespace?: string }, phase: string) =>
  world.until(kubevirt.migrations, key, ({ status }) => status?.phase === phase);

async function listedPods(name: string): Promise<readonly string[]> {
  return Object.keys((await vmi(name)).status?.activePods ?? {});
}

async function launchersOf(name: string): Promise<readonly Pod[]> {
  const { metadata } = await vmi(name);
  const labelSelector = `${kubevirt.LABEL.createdBy}=${metadata.uid}`;
  return (await world.sandbox.client.list(pods, NAMESPACE, { labelSelector })).items;
}

async function targetOf({ uid }: { readonly uid: string }): Promise<Pod> {
  const labelSelector = `${kubevirt.LABEL.migrationJobUID}=${uid}`;
  const [target] = (await world.sandbox.client.list(pods, NAMESPACE, { labelSelector })).items;
  if (target === undefined) throw new Error("there is no target pod");
  return target;
}

async function mark(name: string): Promise<void> {
  const asVirtApi = world.sandbox.client.as("system:serviceaccount:kubevirt:kubevirt-apiserver");
  const metadata = { annotations: { [kubevirt.ANNOTATION.evictionSource]: "descheduler" } };
  const body = { metadata, status: { evacuationNodeName: "node-1" } };
  await asVirtApi.patch(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name }, { type: "merge", body });
}

const isOver = (key: { name: string; namespace?: string }) =>
  world.until(kubevirt.migrations, key, ({ metadata }) => metadata.finalizers === undefined);

async function migrateFully(name: string) {
  const migration = await migrate(name);
  await reaches(migration, "Running");
  world.clock.advance(SECONDS * 1_000);
  return migration;
}

describe("a migration that succeeds", () => {
  test("starts a target pod on another node, while the VMI stays on its node", async () => {
    await createGuest("mover");
    const [source] = await launchersOf("mover");
    await mark("mover");
    const migration = await migrate("mover");
    await reaches(migration, "Running");
    const { status } = await vmi("mover");
    expect(status).toMatchObject({ nodeName: "node-1", evacuationNodeName: "node-1", phase: "Running" });
    expect(await listedPods("mover")).toHaveLength(2);
    const target = await targetOf(migration);
    expect(target.spec?.nodeName).not.toBe("node-1");
    // Go omits false values. The `test` operation of virt-controller's patch would fail if the state contained them.
    expect(JSON.stringify(status?.migrationState)).not.toContain("false");
    expect(target.metadata).toMatchObject({
      labels: { [kubevirt.LABEL.app]: "virt-launcher" },
      annotations: { [kubevirt.ANNOTATION.migrationJobName]: migration.name, [kubevirt.ANNOTATION.domain]: "mover" },
    });

    world.clock.advance(SECONDS * 1_000);
    const done = await isOver(migration);
    expect(done.status?.phaseTransitionTimestamps?.map(({ phase }) => phase)).toEqual(PHASES);
    expect(done.status?.migrationState).toMatchObject({
      migrationUid: migration.uid,
      sourceNode: "node-1",
      sourcePod: source?.metadata.name,
      targetNode: target.spec?.nodeName,
      targetPod: target.metadata.name,
      completed: true,
    });
  });

  test("gives its target pod the VMI's current labels, while the source pod keeps its old labels", async () => {
    const { client } = world.sandbox;
    await createGuest("labelled");
    const late = { labels: { "a.io/late": "l" }, annotations: { "a.io/late": "a" } };
    const key = { namespace: NAMESPACE, name: "labelled" };
    await client.patch(kubevirt.virtualMachineInstances, key, { type: "merge", body: { metadata: late } });
    await mark("labelled");
    // When this condition is true, virt-controller has handled both changes of the VMI.
    await eventually(async () => JSON.stringify((await vmi("labelled")).status)).toContain("EvictionRequested");
    const migration = await migrateFully("labelled");
    const target = await targetOf(migration);
    expect(target.metadata).toMatchObject(late);
    const others = (await launchersOf("labelled")).filter(({ metadata }) => metadata.uid !== target.metadata.uid);
    expect(others).toHaveLength(1);
    expect(others[0]?.metadata).not.toMatchObject(late);
    await isOver(migration);
  });

  test("ends a target pod that has waited 240 s for a guest", async () => {
    const { metadata } = await createGuest("orphan");
    const labels = { [kubevirt.LABEL.app]: "virt-launcher", [kubevirt.LABEL.createdBy]: metadata.uid };
    const annotations = { [kubevirt.ANNOTATION.migrationJobName]: "deleted" };
    const containers = [{ name: "compute", image: "virt-launcher" }];
    const target = await world.sandbox.client.create(pods, {
      metadata: { namespace: NAMESPACE, name: "target-of-none", labels, annotations },
      spec: { nodeName: "node-2", containers, restartPolicy: "Never" },
    });
    await world.until(pods, target.metadata, ({ status }) => status?.phase === "Running");
    world.clock.advance(240_000);
    await world.until(pods, target.metadata, ({ status }) => status?.phase === "Failed");
  });

  test("leaves the VMI on the target's node, and removes evacuationNodeName, the eviction source and the label of the target", async () => {
    const { metadata, status } = await vmi("mover");
    const nodeName = status?.migrationState?.targetNode;
    expect(status).toMatchObject({ nodeName, phase: "Running" });
    expect(status).not.toHaveProperty("evacuationNodeName");
    expect(metadata.annotations ?? {}).not.toHaveProperty([kubevirt.ANNOTATION.evictionSource]);
    expect(metadata.labels).toMatchObject({ [kubevirt.LABEL.nodeName]: nodeName });
    await eventually(async () => (await vmi("mover")).metadata.labels).not.toHaveProperty([
      kubevirt.LABEL.migrationTargetNodeName,
    ]);
  });

  test("leaves a completed source pod, which the VMI's status lists while the pod exists", async () => {
    const [source] = (await launchersOf("mover")).filter(({ spec }) => spec?.nodeName === "node-1");
    await world.until(pods, source?.metadata ?? { name: "" }, ({ status }) => status?.phase === "Succeeded");
    expect(await listedPods("mover")).toHaveLength(2);
    await world.sandbox.client.delete(pods, source?.metadata ?? { name: "" });
    await eventually(() => listedPods("mover")).not.toContain(source?.metadata.uid);
  });

  test("back to a node keeps the guest running, although the guest's former launcher pod is on this node", async () => {
    await createGuest("returner");
    const [first] = await launchersOf("returner");
    await isOver(await migrateFully("returner"));
    await world.until(pods, first?.metadata ?? { name: "" }, ({ status }) => status?.phase === "Succeeded");
    await isOver(await migrateFully("returner"));
    // virt-handler removes this label when it has reconciled the VMI.
    await eventually(async () => (await vmi("returner")).metadata.labels).not.toHaveProperty([
      kubevirt.LABEL.migrationTargetNodeName,
    ]);
    const { status } = await vmi("returner");
    expect(status).toMatchObject({ phase: "Running", nodeName: "node-1" });
    expect(Object.values(status?.activePods ?? {}).filter((node) => node === "node-1")).toHaveLength(2);
  });

  test("leaves the VMI's five newest migrations, their source pods and the current launcher pod", async () => {
    await createGuest("traveller");
    const all: string[] = [];
    for (let trip = 0; trip < 7; trip++) {
      const migration = await migrateFully("traveller");
      all.push(migration.name);
      await isOver(migration);
    }
    const kept = async () => {
      const { items } = await world.sandbox.client.list(kubevirt.migrations, NAMESPACE);
      return items.map(({ metadata }) => metadata.name).filter((name) => all.includes(name));
    };
    await world.pass(async () => (await kept()).length === 5);
    expect((await kept()).toSorted()).toEqual(all.slice(-5).toSorted());
    expect(await launchersOf("traveller")).toHaveLength(6);
  });
});

describe("a migration that does not succeed", () => {
  test("fails if the test configures this attempt to fail, and the VMI stays on its node", async () => {
    await createGuest("stubborn");
    world.sandbox.migrations.configure({
      outcome: ({ name, attempt }) => (name === "stubborn" && attempt === 1 ? "Failed" : "Succeeded"),
    });
    const first = await migrateFully("stubborn");
    const failed = await isOver(first);
    expect(failed.status).toMatchObject({ phase: "Failed", migrationState: { failed: true, completed: true } });
    expect((await vmi("stubborn")).status).toMatchObject({ nodeName: "node-1", phase: "Running" });
    await world.until(
      pods,
      await targetOf(first).then(({ metadata }) => metadata),
      ({ status }) => status?.phase === "Succeeded",
    );

    await reaches(await migrateFully("stubborn"), "Succeeded");
  });

  test("is aborted and removed if it is deleted while it copies memory", async () => {
    await createGuest("undecided");
    const migration = await migrate("undecided");
    await reaches(migration, "Running");
    await world.sandbox.client.delete(kubevirt.migrations, migration);
    await world.pass(async () => (await world.sandbox.client.get(kubevirt.migrations, migration)) === undefined);
    const { status } = await vmi("undecided");
    expect(status).toMatchObject({
      nodeName: "node-1",
      phase: "Running",
      migrationState: { abortRequested: true, abortStatus: "Succeeded", failed: true },
    });
  });

  test("fails after five minutes if its target pod is unschedulable, and the pod is deleted", async () => {
    const { client } = world.sandbox;
    await createGuest("stuck");
    const { metadata: migration } = await client.create(kubevirt.migrations, {
      metadata: { generateName: "stuck-", namespace: NAMESPACE },
      spec: { vmiName: "stuck", addedNodeSelector: { "kubernetes.io/hostname": "nowhere" } },
    });
    await reaches(migration, "Scheduling");
    const { metadata: target } = await targetOf(migration);
    await world.pass(async () => (await client.get(kubevirt.migrations, migration))?.status?.phase === "Failed");
    const seconds = (world.clock.now().getTime() - Date.parse(target.creationTimestamp)) / 1_000;
    expect(seconds).toBeGreaterThanOrEqual(300);
    expect(await client.get(pods, target)).toBeUndefined();
    expect((await vmi("stuck")).status).toMatchObject({ phase: "Running", nodeName: "node-1" });
  });

  test("is removed together with its VMI", async () => {
    const { client } = world.sandbox;
    await createGuest("leaver");
    const migration = await migrateFully("leaver");
    await isOver(migration);
    await client.delete(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name: "leaver" });
    await world.pass(async () => (await client.get(kubevirt.migrations, migration)) === undefined);
  });
});

test("a migration is refused if the VMI's name is too long for a label, because KubeVirt labels migrations with this name", async () => {
  const name = "a".repeat(64);
  await createGuest(name);
  const metadata = { name: "long", namespace: NAMESPACE };
  const created = world.sandbox.client.create(kubevirt.migrations, { metadata, spec: { vmiName: name } });
  await expect(created).rejects.toThrow("must be no more than 63 bytes");
});
