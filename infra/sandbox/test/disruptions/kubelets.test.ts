/** Tests a kubelet: its Events, evictions, liveness probes, and a graceful shutdown of the machine. */
import { beforeAll, describe, expect, test } from "vitest";
import { createKubeletRecorder } from "../../actors/kubelet-events.ts";
import { asNode } from "../../actors/kubelet.ts";
import { events, nodes, pods, type Pod } from "../../actors/resources.ts";
import { createNode, createVirtualMachine, createVirtualMachineInstance } from "../../fleet.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { createPod } from "../../workloads.ts";
import { useSandbox } from "../with-sandbox.ts";
import { disruptionTarget } from "./gate.ts";

const namespace = "default";
const world = useSandbox({ terminationSeconds: 5, migrationSeconds: 1 });

beforeAll(async () => {
  for (const name of ["full", "probed", "left", "off", "refuge"]) await createNode(world.sandbox.client, name);
});

type Vm = kubevirt.VirtualMachineInstance;
const vmiOf = (name: string) => world.sandbox.client.get(kubevirt.virtualMachineInstances, { namespace, name });
const isRunning = ({ status }: Pod) => status?.phase === "Running";

async function launcherOf({ metadata }: Vm): Promise<Pod> {
  const labelSelector = `${kubevirt.LABEL.createdBy}=${metadata.uid}`;
  const [launcher] = (await world.sandbox.client.list(pods, namespace, { labelSelector })).items.filter(isRunning);
  if (launcher === undefined) throw new Error("no launcher");
  return launcher;
}

async function messagesOf({ metadata }: Pod, reason: string): Promise<readonly string[]> {
  const fieldSelector = `involvedObject.uid=${metadata.uid},reason=${reason}`;
  const { items } = await world.sandbox.client.list(events, namespace, { fieldSelector });
  return items.map(({ message = "" }) => message).toSorted();
}

async function untilEnded(pod: Pod): Promise<Pod> {
  await world.pass(async () => !isRunning((await get(pod)) ?? pod));
  return (await get(pod)) ?? pod;
}

const get = (pod: Pod) => world.sandbox.client.get(pods, pod.metadata);

describe("a kubelet's Events about a pod", () => {
  test("are limited to 25 and then to one every five minutes, separately for each pod", async () => {
    const { client } = world.sandbox;
    const [noisy, quiet] = await Promise.all(
      ["noisy", "quiet"].map((name) => createPod(client, { namespace, name, node: "full" })),
    );
    if (noisy === undefined || quiet === undefined) throw new Error("no pods");
    const recorder = createKubeletRecorder(asNode(client, "full"), world.clock, "full");
    const tell = (pod: Pod, message: string) => recorder.record(pod, pods, { type: "Normal", reason: "Said", message });
    const all = Array.from({ length: 27 }, (_, i) => `message ${i + 10}`);
    for (const message of all) await tell(noisy, message);
    expect(await messagesOf(noisy, "Said")).toEqual(all.slice(0, 25));
    await tell(quiet, "hello");
    expect(await messagesOf(quiet, "Said")).toEqual(["hello"]);
    world.clock.advance(5 * 60_000);
    for (const message of ["later", "too much"]) await tell(noisy, message);
    expect(await messagesOf(noisy, "Said")).toEqual(["later", ...all.slice(0, 25)]);
  });

  test("are dropped for a new launcher pod with an image volume, and only its status shows the eviction", async () => {
    const { client, stats } = world.sandbox;
    const vm = { namespace, name: "imaged", node: "full", image: "registry.example.com/disk:1" };
    const launcher = await launcherOf(await createVirtualMachineInstance(client, vm));
    const fieldSelector = `involvedObject.uid=${launcher.metadata.uid},reason=Pulled`;
    const pulled = async () =>
      (await client.list(events, namespace, { fieldSelector })).items.map(({ count }) => count);
    await expect.poll(pulled).toEqual([25]);
    stats.setAvailable("full", "memory.available", "50Mi");
    const ended = await untilEnded(launcher);
    stats.setAvailable("full", "memory.available");
    expect(disruptionTarget(ended)).toMatchObject({ status: "True", reason: "TerminationByKubelet" });
    expect([await messagesOf(launcher, "Evicted"), await messagesOf(launcher, "Killing")]).toEqual([[], []]);
  });
});

test("a launcher pod ends when its guest has left, and the kubelet stops the pod's other containers", async () => {
  const { client } = world.sandbox;
  const vmi = await createVirtualMachineInstance(client, { namespace, name: "moving", node: "left" });
  const launcher = await launcherOf(vmi);
  const draft = { metadata: { namespace, name: "moving" }, spec: { vmiName: "moving" } };
  await client.create(kubevirt.migrations, draft);
  const ended = await untilEnded(launcher);
  expect(ended.status).toMatchObject({ phase: "Succeeded" });
  expect(ended.metadata.deletionTimestamp).toBeUndefined();
  expect(disruptionTarget(ended)).toBeUndefined();
  const { items } = await client.list(events, namespace, {
    fieldSelector: `involvedObject.uid=${launcher.metadata.uid},reason=Killing`,
  });
  expect(items.map(({ involvedObject }) => involvedObject?.fieldPath)).toEqual([
    "spec.initContainers{guest-console-log}",
  ]);
});

test("a failing liveness probe stops the container, and the VM restarts", async () => {
  const { client, kubelets } = world.sandbox;
  await createVirtualMachine(client, "Always", { namespace, name: "stuck", node: "probed" });
  const before = await vmiOf("stuck");
  if (before === undefined) throw new Error("no VMI");
  const launcher = await launcherOf(before);
  kubelets.failLivenessProbe(`${namespace}/${launcher.metadata.name}`);
  await expect.poll(() => messagesOf(launcher, "Killing")).toEqual(["Stopping container compute"]);
  await world.pass(async () => {
    const now = await vmiOf("stuck");
    return now?.metadata.uid !== before.metadata.uid && now?.status?.phase === "Running";
  });
});

test("a graceful shutdown makes the node NotReady, and ends all pods, including virt-handler, in the same second", async () => {
  const { client, kubelets } = world.sandbox;
  const vmi = await createVirtualMachineInstance(client, { namespace, name: "guest", node: "off" });
  const daemon = await createPod(client, { namespace, name: "daemon", node: "off" });
  await world.until(pods, daemon.metadata, isRunning);
  const launcher = await launcherOf(vmi);
  kubelets.shutDown("off");
  for (const pod of [launcher, daemon]) await expect.poll(() => messagesOf(pod, "Killing")).not.toEqual([]);
  const node = await client.get(nodes, { name: "off" });
  const ready = { type: "Ready", status: "False", reason: "KubeletNotReady", message: "node is shutting down" };
  expect(node?.status?.conditions).toContainEqual(expect.objectContaining(ready));
  const message = "Pod was terminated in response to imminent node shutdown.";
  for (const pod of [launcher, daemon]) {
    expect(disruptionTarget(await untilEnded(pod))).toMatchObject({ reason: "TerminationByKubelet", message });
  }
  expect((await get(launcher))?.status).toMatchObject({ phase: "Failed", reason: "Terminated", message });
  expect((await get(daemon))?.status).toMatchObject({ phase: "Succeeded" });
  expect((await vmiOf("guest"))?.status?.phase).toBe("Running");
  kubelets.start("off");
  await world.pass(async () => kubevirt.isFinal((await vmiOf("guest"))?.status));
});
