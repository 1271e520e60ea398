/**
 * Virtual machines without protection: each of these disruptions ends them, whatever their eviction strategy is.
 * KubeVirt does not prevent it.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { events, nodes, pods, type Pod } from "../../actors/resources.ts";
import { createNode, createVirtualMachineInstance } from "../../fleet.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { createPod, createPriorityClass } from "../../workloads.ts";
import { useSandbox } from "../with-sandbox.ts";
import { disruptionTarget } from "./gate.ts";

const namespace = "guests";
const MIGRATION = 600;
const world = useSandbox({ terminationSeconds: 5, migrationSeconds: MIGRATION, evacuationController: true });

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

/** A VM on a node of its own, which has room for nothing else. */
async function createGuest(name: string, evictionStrategy: string): Promise<{ vmi: Vm; launcher: Pod }> {
  await createNode(world.sandbox.client, name, { memory: "4Gi" });
  const vm = { namespace, name, node: name, memory: "3Gi", evictionStrategy };
  const vmi = await createVirtualMachineInstance(world.sandbox.client, vm);
  const launcher = await launcherOf(vmi);
  expect(launcher.spec?.nodeName).toBe(name);
  return { vmi, launcher };
}

const CRITICAL_ADDONS = { key: "CriticalAddonsOnly", value: "true", effect: "NoExecute" };

// prettier-ignore
const DISRUPTIONS = {
  PreemptionByScheduler: (node: string) => createPod(world.sandbox.client, { namespace, name: `on-${node}`, nodeSelector: { "kubernetes.io/hostname": node }, requests: { memory: "2Gi" }, priorityClassName: "important" }),
  DeletionByTaintManager: (node: string) => world.sandbox.client.patch(nodes, { name: node }, { type: "merge", body: { spec: { taints: [CRITICAL_ADDONS] } } }),
  TerminationByKubelet: async (node: string) => world.sandbox.stats.setAvailable(node, "memory.available", "50Mi"),
} as const satisfies Record<string, (node: string) => Promise<unknown>>;

type Disruption = keyof typeof DISRUPTIONS;
const ALL = Object.keys(DISRUPTIONS) as readonly Disruption[];
const STRATEGIES = ["None", "LiveMigrate", "LiveMigrateIfPossible", "External"];
const isFinal = ({ status }: Vm) => kubevirt.isFinal(status);

/** The kubelet has sent SIGTERM. */
async function isTerminated({ metadata }: Pod): Promise<boolean> {
  const fieldSelector = `involvedObject.uid=${metadata.uid},reason=Killing`;
  return (await world.sandbox.client.list(events, namespace, { fieldSelector })).items.length > 0;
}

describe.each(ALL)("%s", (reason) => {
  test.each(STRATEGIES)("ends a VM of strategy %s", async (strategy) => {
    const name = `${reason}-${strategy}`.toLowerCase();
    const { launcher } = await createGuest(name, strategy);
    await DISRUPTIONS[reason](name);
    await expect.poll(() => isTerminated(launcher)).toBe(true);
    await world.pass(async () => isFinal(await vmiOf(name)));
    const pod = () => world.sandbox.client.get(pods, launcher.metadata);
    // A pod that a component deleted goes; a pod that the kubelet evicted stays, with the reason in its status.
    if (reason !== "TerminationByKubelet") return world.pass(async () => (await pod()) === undefined);
    const { status } = await world.until(pods, launcher.metadata, ({ status }) => status?.phase === "Failed");
    expect(status).toMatchObject({ reason: "Evicted" });
    expect(disruptionTarget(await pod())).toMatchObject({ status: "True", reason });
  });
});

test("daemons that tolerate the taint stay", async () => {
  await createGuest("tainted", "LiveMigrate");
  const daemon = { namespace, name: "daemon", node: "tainted" };
  await createPod(world.sandbox.client, {
    ...daemon,
    tolerations: [{ key: "CriticalAddonsOnly", operator: "Exists" }],
  });
  await world.until(pods, daemon, ({ status }) => status?.phase === "Running");
  await DISRUPTIONS.DeletionByTaintManager("tainted");
  await world.pass(async () => isFinal(await vmiOf("tainted")));
  expect((await world.sandbox.client.get(pods, daemon))?.status?.phase).toBe("Running");
});

const reaches = (key: { name: string; namespace?: string }, phase: string) =>
  world.until(kubevirt.migrations, key, ({ status }) => status?.phase === phase);

async function migrate(vmiName: string) {
  const draft = { metadata: { namespace, generateName: `${vmiName}-` }, spec: { vmiName } };
  const { metadata } = await world.sandbox.client.create(kubevirt.migrations, draft);
  await reaches(metadata, "Running");
  return metadata;
}

describe("a migration", () => {
  // virt-handler leaves a migrating guest alone, and its launcher destroys it 15 s after its grace period.
  test.each(ALL)("that does not complete within the grace period saves no VM from %s", async (reason) => {
    const name = `moving-${reason}`.toLowerCase();
    const { launcher } = await createGuest(name, "LiveMigrate");
    const migration = await migrate(name);
    await DISRUPTIONS[reason](name);
    await expect.poll(() => isTerminated(launcher)).toBe(true);
    await world.pass(async () => isFinal(await vmiOf(name)));
    expect((await vmiOf(name)).status?.nodeName).toBe(name);
    await reaches(migration, "Failed");
  });

  test.each(ALL)("that has completed saves from %s", async (reason) => {
    const name = `moved-${reason}`.toLowerCase();
    await createGuest(name, "LiveMigrate");
    const migration = await migrate(name);
    world.clock.advance(MIGRATION * 1_000);
    await reaches(migration, "Succeeded");
    await DISRUPTIONS[reason](name);
    world.clock.advance(60_000);
    await createGuest(`${name}-later`, "None");
    expect((await vmiOf(name)).status).toMatchObject({ phase: "Running", nodeName: "refuge" });
  });
});
