/** Tests virt-handlers that run as pods: how a taint evicts them, and how guests behave afterwards. */
import { expect, test } from "vitest";
import { nodes, pods, type Pod } from "../../actors/resources.ts";
import { createNode, createVirtualMachineInstance } from "../../fleet.ts";
import { KUBEVIRT } from "../../kubevirt/manifests.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { eventually, useSandbox } from "../with-sandbox.ts";

const world = useSandbox({ virtHandlerPods: true, migrationSeconds: 1 });
const TAINT = [{ key: "maintenance", effect: "NoExecute" }];
const vm = { namespace: "default", name: "web" };

const taint = (name: string, taints: typeof TAINT) =>
  world.sandbox.client.patch(nodes, { name }, { type: "merge", body: { spec: { taints } } });

async function handlersOn(node: string): Promise<readonly Pod[]> {
  const { items } = await world.sandbox.client.list(pods, "kubevirt", { labelSelector: "kubevirt.io=virt-handler" });
  return items.filter(({ spec }) => spec?.nodeName === node);
}

const isSchedulable = async (name: string) =>
  (await world.sandbox.client.get(nodes, { name }))?.metadata.labels?.["kubevirt.io/schedulable"];

const isTolerant = ({ spec }: Pod) =>
  spec?.tolerations?.some(({ key, operator }) => key === undefined && operator === "Exists");

test("a NoExecute taint that ends virt-handler makes the node unschedulable, and a VM with evacuationNodeName migrates only after virt-handler returns", async () => {
  const { client } = world.sandbox;
  for (const name of ["one", "two"]) await createNode(client, name);
  await eventually(() => isSchedulable("two")).toBe("true");
  await createVirtualMachineInstance(client, {
    ...vm,
    evictionStrategy: "LiveMigrate",
    node: "one",
    tolerations: [{ operator: "Exists" }],
  });
  await world.until(kubevirt.virtualMachineInstances, vm, ({ status }) => status?.phase === "Running");
  await taint("one", TAINT);
  await world.pass(async () => (await handlersOn("one")).length === 0);
  await eventually(() => isSchedulable("one")).toBe("false");
  const body = { status: { evacuationNodeName: "one" } };
  const virtApi = client.as("system:serviceaccount:kubevirt:kubevirt-apiserver");
  await virtApi.patch(kubevirt.virtualMachineInstances, vm, { type: "merge", body });
  for (let second = 0; second < 30; second++) world.clock.advance(1000);
  await eventually(() => handlersOn("one")).toEqual([]);
  expect((await client.get(kubevirt.virtualMachineInstances, vm))?.status).toMatchObject({
    nodeName: "one",
    phase: "Running",
  });
  await taint("one", []);
  await world.pass(async () => {
    const { status } = (await client.get(kubevirt.virtualMachineInstances, vm)) ?? {};
    return status?.nodeName === "two";
  });
});

test("virt-handler survives the taint if the KubeVirt object has a toleration for it", async () => {
  const { client } = world.sandbox;
  const tolerations = [{ operator: "Exists", effect: "NoExecute" }];
  await client.patch(kubevirt.kubeVirts, KUBEVIRT.metadata, {
    type: "merge",
    body: { spec: { workloads: { nodePlacement: { tolerations } } } },
  });
  await world.pass(async () => (await handlersOn("one")).some(isTolerant));
  const [before] = await handlersOn("one");
  await taint("one", TAINT);
  for (let second = 0; second < 30; second++) world.clock.advance(1000);
  expect((await handlersOn("one")).map(({ metadata }) => metadata.uid)).toEqual([before?.metadata.uid]);
});
