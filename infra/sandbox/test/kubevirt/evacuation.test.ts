/** What virt-controller does by itself: migrate marked VMIs, back off after a failure, delete its own budgets. */
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { nodes, podDisruptionBudgets } from "../../actors/resources.ts";
import { createNode, createVirtualMachineInstance, type VirtualMachine } from "../../fleet.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { useSandbox } from "../with-sandbox.ts";

const NAMESPACE = "guests";
const NODE = "node-1";

const world = useSandbox({ migrationSeconds: 60 });

beforeAll(async () => {
  await Promise.all([NODE, "node-2", "node-3"].map((name) => createNode(world.sandbox.client, name)));
});

afterEach(() => {
  world.sandbox.evacuationController.enabled = false;
  world.sandbox.migrations.configure({ outcome: () => "Succeeded" });
});

function createGuest(vm: Omit<VirtualMachine, "namespace" | "node">) {
  return createVirtualMachineInstance(world.sandbox.client, { namespace: NAMESPACE, node: NODE, ...vm });
}

async function mark(name: string, annotations: Record<string, string> = {}) {
  const body = { metadata: { annotations }, status: { evacuationNodeName: NODE } };
  const asVirtApi = world.sandbox.client.as("system:serviceaccount:kubevirt:kubevirt-apiserver");
  await asVirtApi.patch(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name }, { type: "merge", body });
}

async function migrationsOf(name: string) {
  const labelSelector = `${kubevirt.LABEL.vmiName}=${name}`;
  return (await world.sandbox.client.list(kubevirt.migrations, NAMESPACE, { labelSelector })).items;
}

describe("the evacuation controller", () => {
  // prettier-ignore
  const rows: readonly (readonly [strategy: string | undefined, migratable: boolean, migrates: boolean])[] = [
    // strategy               migratable  migrates
    ["LiveMigrate",           true,       true ],
    ["LiveMigrate",           false,      false],
    ["LiveMigrateIfPossible", true,       true ],
    ["LiveMigrateIfPossible", false,      false],
    ["External",              true,       false],
    ["None",                  true,       false],
    [undefined,               true,       false],
  ];
  test.each(rows)("marked, %s, migratable %s: a migration %s", async (evictionStrategy, migratable, migrates) => {
    const name = `${evictionStrategy ?? "nothing"}-${migratable}`.toLowerCase();
    await createGuest({ name, migratable, ...(evictionStrategy && { evictionStrategy }) });
    await createGuest({ name: `witness-of-${name}`, evictionStrategy: "LiveMigrate" });
    world.sandbox.evacuationController.enabled = true;
    await mark(name);
    // Marked later and long finished: the controller has considered the other VMI before that.
    await mark(`witness-of-${name}`);
    await world.pass(async () => (await migrationsOf(`witness-of-${name}`))[0]?.status?.phase === "Succeeded");
    const found = await migrationsOf(name);
    expect(
      found.map(({ spec, metadata }) => ({
        ...spec,
        node: metadata.annotations?.[kubevirt.ANNOTATION.evacuationMigration],
      })),
    ).toEqual(migrates ? [{ vmiName: name, priority: "system-critical", node: NODE }] : []);
    for (const { metadata } of found) expect(metadata.name).toMatch(/^kubevirt-evacuation-.{5}$/);
  });

  test("of all that are marked at once every one gets its migration at once", async () => {
    const names = ["flock-1", "flock-2", "flock-3", "flock-4"];
    await Promise.all(names.map((name) => createGuest({ name, evictionStrategy: "LiveMigrate" })));
    await Promise.all(names.map((name) => mark(name)));
    world.sandbox.evacuationController.enabled = true;
    const phases = async () =>
      (await Promise.all(names.map(migrationsOf))).flat().map(({ status }) => status?.phase ?? "");
    const running = async () => (await phases()).filter((phase) => phase === "Running").length;
    await world.pass(async () => (await running()) === 2);
    expect((await phases()).toSorted()).toEqual(["Pending", "Pending", "Running", "Running"]);
    await world.pass(async () => (await phases()).every((phase) => phase === "Succeeded"));
  });

  test("switched off it leaves marks alone, switched on it finds them", async () => {
    await createGuest({ name: "alone", evictionStrategy: "LiveMigrate" });
    await mark("alone");
    world.clock.advance(60_000);
    await createGuest({ name: "after-alone", evictionStrategy: "LiveMigrate" });
    expect(await migrationsOf("alone")).toEqual([]);
    world.sandbox.evacuationController.enabled = true;
    await world.pass(async () => (await migrationsOf("alone"))[0]?.status?.phase === "Succeeded");
  });

  test("what the descheduler asked for has a lower priority", async () => {
    await createGuest({ name: "low", evictionStrategy: "LiveMigrate" });
    world.sandbox.evacuationController.enabled = true;
    await mark("low", { [kubevirt.ANNOTATION.evictionSource]: "descheduler" });
    await world.pass(async () => (await migrationsOf("low")).length > 0);
    expect((await migrationsOf("low")).map(({ spec }) => spec.priority)).toEqual(["system-maintenance"]);
    await world.pass(async () => (await migrationsOf("low"))[0]?.status?.phase === "Succeeded");
  });

  test("a drain taint moves what is not marked", async () => {
    await createGuest({ name: "drained", evictionStrategy: "LiveMigrate" });
    world.sandbox.evacuationController.enabled = true;
    const taints = (list: readonly object[]) =>
      world.sandbox.client.patch(nodes, { name: NODE }, { type: "merge", body: { spec: { taints: list } } });
    await taints([{ key: "kubevirt.io/drain", effect: "NoSchedule" }]);
    await world.pass(async () => (await migrationsOf("drained"))[0]?.status?.phase === "Succeeded");
    await taints([]);
  });

  test("after a failure it waits 20 s, then 40 s, before the next target pod", async () => {
    await createGuest({ name: "unlucky", evictionStrategy: "LiveMigrate" });
    world.sandbox.migrations.configure({ outcome: ({ attempt }) => (attempt < 3 ? "Failed" : "Succeeded") });
    world.sandbox.evacuationController.enabled = true;
    await mark("unlucky");
    await world.pass(async () => (await migrationsOf("unlucky")).some(({ status }) => status?.phase === "Succeeded"));
    const tries = (await migrationsOf("unlucky"))
      .map(({ status }) =>
        Object.fromEntries(
          (status?.phaseTransitionTimestamps ?? []).map((at) => [at.phase, Date.parse(at.phaseTransitionTimestamp)]),
        ),
      )
      .toSorted((a, b) => (a["Pending"] ?? 0) - (b["Pending"] ?? 0));
    expect(tries).toHaveLength(3);
    const waited = [1, 2].map((n) => ((tries[n]?.["Scheduling"] ?? 0) - (tries[n - 1]?.["Failed"] ?? 0)) / 1_000);
    expect(waited[0]).toBeGreaterThanOrEqual(20);
    expect(waited[1]).toBeGreaterThanOrEqual(40);
  });
});

describe("budgets", () => {
  // prettier-ignore
  const rows: readonly (readonly [owner: string, controller: boolean | undefined, kind: string, stays: boolean])[] = [
    ["a VMI as controller",  true,      "VirtualMachineInstance", false],
    ["a VMI, not controller", undefined, "VirtualMachineInstance", true ],
    ["another controller",   true,      "KubeVirt",               true ],
  ];
  test.each(rows)("owned by %s", async (owner, controller, kind, stays) => {
    const { client } = world.sandbox;
    const kubeVirt = await client.get(kubevirt.kubeVirts, { namespace: "kubevirt", name: "kubevirt" });
    const vmi = await createGuest({ name: `owner-${rows.findIndex(([other]) => other === owner)}` });
    const namespace = kind === "KubeVirt" ? "kubevirt" : NAMESPACE;
    const { name, uid } = (kind === "KubeVirt" ? kubeVirt : vmi)?.metadata ?? { name: "", uid: "" };
    const reference = { apiVersion: "kubevirt.io/v1", kind, name, uid, ...(controller && { controller }) };
    const spec = { minAvailable: 1, selector: { matchLabels: { some: "label" } } };
    const create = (name: string, ownerReferences: (typeof reference)[]) =>
      client.create(podDisruptionBudgets, { metadata: { name, namespace, ownerReferences }, spec });
    const budget = await create("tested", [reference]);
    // This budget always goes; after it, the controller has considered the other one.
    const vmiReference = {
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachineInstance",
      name: vmi.metadata.name,
      uid: vmi.metadata.uid,
      controller: true,
    } as const;
    const witness = await create("witness", [vmiReference]);
    await world.pass(async () => (await client.get(podDisruptionBudgets, witness.metadata)) === undefined);
    expect((await client.get(podDisruptionBudgets, budget.metadata)) !== undefined).toBe(stays);
    await client.delete(podDisruptionBudgets, budget.metadata);
  });

  test("switched off, as before 1.6, it leaves them; switched on again it catches up", async () => {
    const { client, budgetDeletion } = world.sandbox;
    const { metadata } = await createGuest({ name: "old" });
    const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: "old", uid: metadata.uid };
    const ownerReferences = [{ ...owner, controller: true }];
    const spec = { minAvailable: 1, selector: { matchLabels: { some: "label" } } };
    budgetDeletion.enabled = false;
    const draft = { metadata: { name: "kept", namespace: NAMESPACE, ownerReferences }, spec };
    const budget = await client.create(podDisruptionBudgets, draft);
    await createGuest({ name: "meanwhile" });
    expect(await client.get(podDisruptionBudgets, budget.metadata)).toBeDefined();
    budgetDeletion.enabled = true;
    await world.pass(async () => (await client.get(podDisruptionBudgets, budget.metadata)) === undefined);
  });
});
