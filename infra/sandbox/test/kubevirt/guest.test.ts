/** Tests how a guest starts, which status virt-handler reports, and how the guest stops. */
import { beforeAll, describe, expect, test } from "vitest";
import { pods } from "../../actors/resources.ts";
import { createNode, createVirtualMachineInstance } from "../../fleet.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { useSandbox } from "../with-sandbox.ts";

const NAMESPACE = "guests";
const world = useSandbox({ terminationSeconds: 20 });

beforeAll(async () => {
  await createNode(world.sandbox.client, "node-1");
});

const keyOf = (name: string) => ({ namespace: NAMESPACE, name });

async function createGuest(name: string) {
  const vmi = await createVirtualMachineInstance(world.sandbox.client, keyOf(name));
  const labelSelector = `${kubevirt.LABEL.createdBy}=${vmi.metadata.uid}`;
  const { items } = await world.sandbox.client.list(pods, NAMESPACE, { labelSelector });
  const [launcher] = items;
  if (launcher === undefined) throw new Error("no launcher");
  return { vmi, launcher };
}

async function mark(name: string, status: object = {}) {
  const body = { status: { evacuationNodeName: "node-1", ...status } };
  const asVirtApi = world.sandbox.client.as("system:serviceaccount:kubevirt:kubevirt-apiserver");
  await asVirtApi.patch(kubevirt.virtualMachineInstances, keyOf(name), { type: "merge", body });
}

test("a running guest has a launcher pod with KubeVirt's names, labels and annotations", async () => {
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

test("a launcher pod's name has at most 58 characters before the suffix, even if the VMI's name is long", async () => {
  const name = "a".repeat(60);
  const { launcher } = await createGuest(name);
  expect(launcher.metadata.name).toMatch(/^virt-launcher-a{44}[a-z0-9]{5}$/);
  expect(launcher.metadata.annotations).toMatchObject({ [kubevirt.ANNOTATION.domain]: name });
});

test("launcher pods have the labels and annotations of their VMI, except those of kubectl and KubeVirt", async () => {
  const labels = { "a.io/label": "l" };
  const annotations = {
    "a.io/annotation": "a",
    "kubectl.kubernetes.io/x": "y",
    "kubevirt.io/latest-observed-api-version": "v1",
  };
  const { client } = world.sandbox;
  const key = keyOf("labelled");
  await client.create(kubevirt.virtualMachineInstances, {
    metadata: { ...key, labels, annotations },
    spec: { domain: {} },
  });
  const { metadata } = await world.until(
    kubevirt.virtualMachineInstances,
    key,
    ({ status }) => status?.phase === "Running",
  );
  const { items } = await client.list(pods, NAMESPACE, {
    labelSelector: `${kubevirt.LABEL.createdBy}=${metadata.uid}`,
  });
  expect(items).toHaveLength(1);
  expect(items[0]?.metadata.labels).toMatchObject(labels);
  expect(Object.keys(items[0]?.metadata.annotations ?? {}).toSorted()).toEqual([
    "a.io/annotation",
    "kubectl.kubernetes.io/default-container",
    "kubevirt.io/domain",
  ]);
});

describe("virt-handler and virt-controller", () => {
  const TIME = expect.stringMatching(/^2026-01-01T/) as string;

  test("write both times of a condition, and null for an unset time", async () => {
    const { vmi, launcher } = await createGuest("timed");
    const ready = launcher.status?.conditions?.find(({ type }) => type === "Ready");
    expect(vmi.status).toMatchObject({
      selinuxContext: "none",
      conditions: [
        { ...ready, type: "Ready", status: "True", lastProbeTime: null, lastTransitionTime: TIME },
        { type: "LiveMigratable", status: "True", lastProbeTime: null, lastTransitionTime: null },
      ],
    });
    await mark("timed");
    await world.until(kubevirt.virtualMachineInstances, keyOf("timed"), ({ status }) =>
      (status?.conditions ?? []).some(
        ({ type, lastProbeTime }) => type === "EvictionRequested" && lastProbeTime != null,
      ),
    );
  });

  test("cannot update conditions whose unset times are missing, because virt-controller's JSON patch tests for null", async () => {
    await createGuest("blocked");
    const vmi = await world.sandbox.client.get(kubevirt.virtualMachineInstances, keyOf("blocked"));
    const conditions = vmi?.status?.conditions ?? [];
    const bare = conditions.map(({ type, status }) => ({ type, status }));
    await mark("blocked", { conditions: bare });
    world.clock.advance(60_000);
    const has = async () =>
      (await world.sandbox.client.get(kubevirt.virtualMachineInstances, keyOf("blocked")))?.status?.conditions;
    expect(await has()).toEqual(bare);
    // A merge patch would remove the fields with the value null.
    const body = [{ op: "replace", path: "/status/conditions", value: conditions }];
    const virtApi = world.sandbox.client.as("system:serviceaccount:kubevirt:kubevirt-apiserver");
    await virtApi.patch(kubevirt.virtualMachineInstances, keyOf("blocked"), { type: "json", body });
    await world.pass(async () => ((await has()) ?? []).some(({ type }) => type === "EvictionRequested"));
  });
});

describe("a guest", () => {
  test("shuts down within the grace period if its launcher pod is deleted, and the VMI is Succeeded", async () => {
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

  test("is killed if its launcher pod is deleted with the grace period 0", async () => {
    const { launcher } = await createGuest("killed");
    await world.sandbox.client.delete(pods, launcher.metadata, { gracePeriodSeconds: 0 });
    const vmi = await world.until(kubevirt.virtualMachineInstances, keyOf("killed"), ({ status }) =>
      kubevirt.isFinal(status),
    );
    expect(vmi.status?.phase).toBe("Failed");
  });

  test("ends before its deleted VMI is gone", async () => {
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
