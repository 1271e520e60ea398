/** Tests the descheduler's annotations that KubeVirt sets on launcher pods. */
import { afterEach, beforeAll, test } from "vitest";
import { pods, type Pod } from "../../actors/resources.ts";
import { createNode, createVirtualMachineInstance } from "../../fleet.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { eventually, useSandbox } from "../with-sandbox.ts";

const NAMESPACE = "guests";
const ONLY = "descheduler.alpha.kubernetes.io/request-evict-only";
const IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress";

const world = useSandbox({ migrationSeconds: 60 });

beforeAll(async () => {
  await Promise.all(["node-1", "node-2"].map((name) => createNode(world.sandbox.client, name)));
});
afterEach(() => {
  world.sandbox.deschedulerAnnotations.enabled = false;
});

async function launchersOf(name: string): Promise<readonly Pod[]> {
  const { items } = await world.sandbox.client.list(pods, NAMESPACE);
  return items.filter(({ metadata }) => metadata.annotations?.[kubevirt.ANNOTATION.domain] === name);
}

/** Waits until the VMI's launcher pod has exactly these annotations. */
function isAnnotated(name: string, expected: { readonly only?: string; readonly inProgress?: string }) {
  const annotations = async () => {
    const [launcher] = await launchersOf(name);
    const { [ONLY]: only, [IN_PROGRESS]: inProgress } = launcher?.metadata.annotations ?? {};
    return { only, inProgress };
  };
  return eventually(annotations).toEqual({ only: undefined, inProgress: undefined, ...expected });
}

async function inProgress(name: string) {
  const launchers = await launchersOf(name);
  return Object.fromEntries(
    launchers.map(({ spec, metadata }) => [spec?.nodeName, metadata.annotations?.[IN_PROGRESS]]),
  );
}

async function setMark(name: string, mark: string | null) {
  const asVirtApi = world.sandbox.client.as("system:serviceaccount:kubevirt:kubevirt-apiserver");
  const body = { status: { evacuationNodeName: mark } };
  await asVirtApi.patch(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name }, { type: "merge", body });
}

test("while the feature is off, no pod is annotated; while the feature is on, every launcher pod is annotated", async () => {
  await createVirtualMachineInstance(world.sandbox.client, { namespace: NAMESPACE, name: "switched" });
  await isAnnotated("switched", {});
  world.sandbox.deschedulerAnnotations.enabled = true;
  await isAnnotated("switched", { only: "" });
});

test("the launcher pod has eviction-in-progress while the VMI has evacuationNodeName", async () => {
  world.sandbox.deschedulerAnnotations.enabled = true;
  await createVirtualMachineInstance(world.sandbox.client, { namespace: NAMESPACE, name: "marked", node: "node-1" });
  await setMark("marked", "node-1");
  await isAnnotated("marked", { only: "", inProgress: "true" });
  await setMark("marked", null);
  await isAnnotated("marked", { only: "" });
});

test("the source pod of a migration has eviction-in-progress, and the target pod never", async () => {
  world.sandbox.deschedulerAnnotations.enabled = true;
  const key = { namespace: NAMESPACE, name: "moving" };
  await createVirtualMachineInstance(world.sandbox.client, { ...key, evictionStrategy: "LiveMigrate", node: "node-1" });
  await setMark("moving", "node-1");
  const { metadata } = await world.sandbox.client.create(kubevirt.migrations, {
    metadata: { generateName: "moving-", namespace: NAMESPACE },
    spec: { vmiName: "moving" },
  });
  await world.until(kubevirt.migrations, metadata, ({ status }) => status?.phase === "Running");
  await eventually(() => inProgress("moving")).toEqual({ "node-1": "true", "node-2": undefined });
  world.clock.advance(60_000);
  await world.until(kubevirt.virtualMachineInstances, key, ({ status }) => status?.nodeName === "node-2");
  await eventually(async () => (await inProgress("moving"))["node-2"]).toBeUndefined();
});

test("a VMI with evacuationNodeName has the condition EvictionRequested", async () => {
  const key = { namespace: NAMESPACE, name: "condition" };
  await createVirtualMachineInstance(world.sandbox.client, { ...key, node: "node-1" });
  const requested = async () => {
    const vmi = await world.sandbox.client.get(kubevirt.virtualMachineInstances, key);
    return vmi?.status?.conditions?.find(({ type }) => type === "EvictionRequested");
  };
  await setMark("condition", "node-1");
  const condition = { status: "True", reason: "EvictionRequested", message: "VMI is marked for eviction" };
  await eventually(requested).toMatchObject(condition);
  await setMark("condition", null);
  await eventually(requested).toBeUndefined();
});
