/**
 * Tests virt-controller without other components: evacuations, the back-off after a failure, and the deletion of
 * budgets.
 */
import { afterEach, beforeAll, expect, test } from "vitest";
import { nodes, podDisruptionBudgets } from "../../actors/resources.ts";
import { createNode, createVirtualMachineInstance, type VirtualMachine } from "../../fleet.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { eventually, useSandbox } from "../with-sandbox.ts";

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

async function untilMigrated(...names: readonly string[]) {
  await world.pass(async () => {
    const found = (await Promise.all(names.map(migrationsOf))).flat().map(({ status }) => status?.phase);
    if (found.includes("Running")) world.clock.advance(60_000);
    return found.length >= names.length && found.every((phase) => phase === "Succeeded");
  });
}

interface Row {
  readonly strategy?: string;
  readonly migratable?: false;
  readonly annotations?: Record<string, string>;
  readonly priority?: string;
}

const BY_DESCHEDULER = { [kubevirt.ANNOTATION.evictionSource]: "descheduler" };
// prettier-ignore
const ROWS: Readonly<Record<string, Row>> = {
  migrates:              { strategy: "LiveMigrate", priority: "system-critical" },
  pinned:                { strategy: "LiveMigrate", migratable: false },
  "if-possible":         { strategy: "LiveMigrateIfPossible", priority: "system-critical" },
  "pinned-if-possible":  { strategy: "LiveMigrateIfPossible", migratable: false },
  external:              { strategy: "External" },
  none:                  { strategy: "None" },
  nothing:               {},
  "of-the-descheduler":  { strategy: "LiveMigrate", annotations: BY_DESCHEDULER, priority: "system-maintenance" },
};

test("each VMI with evacuationNodeName gets a migration at once if it can migrate and its strategy is LiveMigrate or LiveMigrateIfPossible", async () => {
  const rows = Object.entries(ROWS);
  await Promise.all(
    rows.map(([name, { strategy, migratable = true }]) =>
      createGuest({ name, migratable, ...(strategy !== undefined && { evictionStrategy: strategy }) }),
    ),
  );
  await Promise.all(rows.map(([name, { annotations }]) => mark(name, annotations)));
  world.sandbox.evacuationController.enabled = true;
  const moving = rows.filter(([, { priority }]) => priority !== undefined).map(([name]) => name);
  await untilMigrated(...moving);
  for (const [name, { priority }] of rows) {
    const found = await migrationsOf(name);
    expect(
      found.map(({ spec, metadata }) => [spec, metadata.annotations?.[kubevirt.ANNOTATION.evacuationMigration]]),
      name,
    ).toEqual(priority === undefined ? [] : [[{ vmiName: name, priority }, NODE]]);
    for (const { metadata } of found) expect(metadata.name).toMatch(/^kubevirt-evacuation-.{5}$/);
  }
});

test("evacuationNodeName has no effect until the evacuation controller is switched on", async () => {
  await createGuest({ name: "alone", evictionStrategy: "LiveMigrate" });
  await mark("alone");
  world.clock.advance(60_000);
  await createGuest({ name: "after-alone", evictionStrategy: "LiveMigrate" });
  expect(await migrationsOf("alone")).toEqual([]);
  world.sandbox.evacuationController.enabled = true;
  await untilMigrated("alone");
});

test("a drain taint moves VMIs although their evacuationNodeName is not set", async () => {
  await createGuest({ name: "drained", evictionStrategy: "LiveMigrate" });
  world.sandbox.evacuationController.enabled = true;
  const taints = (list: readonly object[]) =>
    world.sandbox.client.patch(nodes, { name: NODE }, { type: "merge", body: { spec: { taints: list } } });
  await taints([{ key: "kubevirt.io/drain", effect: "NoSchedule" }]);
  await untilMigrated("drained");
  await taints([]);
});

test("the next target pod is created 20 s after the first failure, and 40 s after the second", async () => {
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

test("only budgets whose controller is a VMI are deleted", async () => {
  const { client } = world.sandbox;
  const kubeVirt = await client.get(kubevirt.kubeVirts, { namespace: "kubevirt", name: "kubevirt" });
  const vmi = await createGuest({ name: "owner" });
  const create = async (namespace: string, name: string, owner: object) => {
    const metadata = { name, namespace, ownerReferences: [{ apiVersion: "kubevirt.io/v1", ...owner } as never] };
    const spec = { minAvailable: 1, selector: { matchLabels: { some: "label" } } };
    return (await client.create(podDisruptionBudgets, { metadata, spec })).metadata;
  };
  const ofVmi = { kind: "VirtualMachineInstance", name: "owner", uid: vmi.metadata.uid };
  const ofOther = { kind: "KubeVirt", name: "kubevirt", uid: kubeVirt?.metadata.uid, controller: true };
  const staying = [await create(NAMESPACE, "owned", ofVmi), await create("kubevirt", "of-another", ofOther)];
  // The controller handles this budget last. When this budget is gone, the controller has handled all budgets.
  const goes = await create(NAMESPACE, "controlled", { ...ofVmi, controller: true });
  await eventually(() => client.get(podDisruptionBudgets, goes)).toBeUndefined();
  for (const budget of staying) expect(await client.get(podDisruptionBudgets, budget)).toBeDefined();
});
