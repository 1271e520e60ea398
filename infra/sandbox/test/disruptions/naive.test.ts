/**
 * Tests that each disruption in this file stops virtual machines if Lifeboat does not run. This is true for every
 * eviction strategy, even if virt-handler still runs.
 */
import { beforeAll, expect, test } from "vitest";
import { events, nodes, pods, type Pod } from "../../actors/resources.ts";
import { createNode, createVirtualMachineInstance } from "../../fleet.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { createPod, createPriorityClass } from "../../workloads.ts";
import { useSandbox } from "../with-sandbox.ts";
import { disruptionTarget } from "./gate.ts";

const namespace = "guests";
const MIGRATION = 600;
const world = useSandbox({
  terminationSeconds: 5,
  migrationSeconds: MIGRATION,
  evacuationController: true,
  virtHandlerPods: true,
});

beforeAll(async () => {
  await createPriorityClass(world.sandbox.client, "important", 1_000);
  await createNode(world.sandbox.client, "refuge");
});

type Vm = kubevirt.VirtualMachineInstance;
const vmiOf = (name: string, condition: (vmi: Vm) => boolean = () => true) =>
  world.until(kubevirt.virtualMachineInstances, { namespace, name }, condition);

async function launcherOf({ metadata }: Vm): Promise<Pod> {
  const labelSelector = `${kubevirt.LABEL.createdBy}=${metadata.uid}`;
  const [launcher] = (await world.sandbox.client.list(pods, namespace, { labelSelector })).items;
  if (launcher === undefined) throw new Error("no launcher");
  return launcher;
}

/** Creates VMs on an additional node. They use almost all of the node's memory, so the preemptor must preempt them. */
async function createGuests(node: string, ...strategies: readonly string[]): Promise<readonly Guest[]> {
  await createNode(world.sandbox.client, node, { memory: `${strategies.length * 3 + 1}Gi` });
  return await Promise.all(
    strategies.map(async (evictionStrategy) => {
      const name = `${node}-${evictionStrategy}`.toLowerCase();
      const vm = { namespace, name, node, memory: "3Gi", evictionStrategy };
      const launcher = await launcherOf(await createVirtualMachineInstance(world.sandbox.client, vm));
      expect(launcher.spec?.nodeName).toBe(node);
      return { name, launcher };
    }),
  );
}

interface Guest {
  readonly name: string;
  readonly launcher: Pod;
}

const CRITICAL_ADDONS = { key: "CriticalAddonsOnly", value: "true", effect: "NoExecute" };

// prettier-ignore
const DISRUPTIONS = {
  PreemptionByScheduler: (node: string, memory: string) => createPod(world.sandbox.client, { namespace, name: `on-${node}`, nodeSelector: { "kubernetes.io/hostname": node }, requests: { memory }, priorityClassName: "important" }),
  DeletionByTaintManager: (node: string) => world.sandbox.client.patch(nodes, { name: node }, { type: "merge", body: { spec: { taints: [CRITICAL_ADDONS] } } }),
  TerminationByKubelet: async (node: string) => world.sandbox.stats.setAvailable(node, "memory.available", "50Mi"),
} as const satisfies Record<string, (node: string, memory: string) => Promise<unknown>>;

type Disruption = keyof typeof DISRUPTIONS;
const ALL = Object.keys(DISRUPTIONS) as readonly Disruption[];
const STRATEGIES = ["None", "LiveMigrate", "LiveMigrateIfPossible", "External"];
const isFinal = ({ status }: Vm) => kubevirt.isFinal(status);

async function isTerminated({ metadata }: Pod): Promise<boolean> {
  const fieldSelector = `involvedObject.uid=${metadata.uid},reason=Killing`;
  return (await world.sandbox.client.list(events, namespace, { fieldSelector })).items.length > 0;
}

test.each(ALL)("%s ends VMs of every strategy", async (reason) => {
  const node = reason.toLowerCase();
  const guests = await createGuests(node, ...STRATEGIES);
  await DISRUPTIONS[reason](node, "12Gi");
  expect(await handlersOn(node)).toBe(1);
  for (const { name, launcher } of guests) {
    await world.pass(async () => isFinal(await vmiOf(name)));
    const pod = () => world.sandbox.client.get(pods, launcher.metadata);
    // A kubelet does not delete the pods that it evicts.
    if (reason !== "TerminationByKubelet") await world.pass(async () => (await pod()) === undefined);
    else {
      const { status } = await world.until(pods, launcher.metadata, ({ status }) => status?.phase === "Failed");
      expect(status).toMatchObject({ reason: "Evicted" });
      expect(disruptionTarget(await pod())).toMatchObject({ status: "True", reason });
    }
  }
});

async function handlersOn(node: string): Promise<number> {
  const { items } = await world.sandbox.client.list(pods, "kubevirt", { labelSelector: "kubevirt.io=virt-handler" });
  return items.filter(({ spec, metadata }) => spec?.nodeName === node && metadata.deletionTimestamp === undefined)
    .length;
}

test("a taint that virt-handler does not tolerate ends virt-handler and VMs of every strategy", async () => {
  const node = "maintained";
  const guests = await createGuests(node, ...STRATEGIES);
  await world.pass(async () => (await handlersOn(node)) === 1);
  const taints = [{ key: "maintenance", effect: "NoExecute" }];
  await world.sandbox.client.patch(nodes, { name: node }, { type: "merge", body: { spec: { taints } } });
  await world.pass(async () => (await handlersOn(node)) === 0);
  for (const { name, launcher } of guests) {
    await world.pass(async () => (await world.sandbox.client.get(pods, launcher.metadata)) === undefined);
    await world.pass(async () => isFinal(await vmiOf(name)));
  }
});

const reaches = (key: { name: string; namespace?: string }, phase: string) =>
  world.until(kubevirt.migrations, key, ({ status }) => status?.phase === phase);

async function migrate(vmiName: string) {
  const draft = { metadata: { namespace, generateName: `${vmiName}-` }, spec: { vmiName } };
  const { metadata } = await world.sandbox.client.create(kubevirt.migrations, draft);
  await reaches(metadata, "Running");
  return metadata;
}

// virt-handler does not shut down a guest during a migration. The launcher destroys the guest 15 s after the grace
// period.
test.each(ALL)("a migration longer than the grace period saves no VM from %s", async (reason) => {
  const node = `moving-${reason}`.toLowerCase();
  const [guest] = await createGuests(node, "LiveMigrate");
  if (guest === undefined) throw new Error("no guest");
  const migration = await migrate(guest.name);
  await DISRUPTIONS[reason](node, "2Gi");
  await expect.poll(() => isTerminated(guest.launcher)).toBe(true);
  await world.pass(async () => isFinal(await vmiOf(guest.name)));
  expect((await vmiOf(guest.name)).status?.nodeName).toBe(node);
  await reaches(migration, "Failed");
});
