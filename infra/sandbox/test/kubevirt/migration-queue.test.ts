/** The migration queue: KubeVirt's limits, its priorities, and the status of waiting migrations. */
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { KubeClient } from "../../actors/client.ts";
import { pods } from "../../actors/resources.ts";
import { createNode, createVirtualMachineInstance } from "../../fleet.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { eventually, useSandbox } from "../with-sandbox.ts";
import { VIRT_CONTROLLER } from "./guests.ts";

const SECONDS = 60;

const world = useSandbox({ migrationSeconds: SECONDS });
let namespace = "";
let used = 0;

beforeAll(async () => {
  await Promise.all(["node-1", "node-2", "node-3", "node-4"].map((name) => createNode(world.sandbox.client, name)));
});
beforeEach(() => {
  namespace = `guests-${++used}`;
});

async function limit(limits: { readonly cluster?: number; readonly outbound?: number }): Promise<void> {
  const { cluster: parallelMigrationsPerCluster, outbound: parallelOutboundMigrationsPerNode } = limits;
  const migrations = {
    parallelMigrationsPerCluster: parallelMigrationsPerCluster ?? null,
    parallelOutboundMigrationsPerNode: parallelOutboundMigrationsPerNode ?? null,
  };
  const body = { spec: { configuration: { migrations } } };
  await world.sandbox.client.patch(
    kubevirt.kubeVirts,
    { namespace: "kubevirt", name: "kubevirt" },
    { type: "merge", body },
  );
}

function createGuests(names: readonly string[], node = "node-1") {
  const { client } = world.sandbox;
  return Promise.all(names.map((name) => createVirtualMachineInstance(client, { namespace, name, node })));
}

interface Wish {
  readonly priority?: string;
  readonly annotations?: Record<string, string>;
  readonly addedNodeSelector?: Record<string, string>;
  readonly client?: KubeClient;
}

/** Named after its VMI. */
async function migrate(vmiName: string, wish: Wish = {}): Promise<void> {
  const { annotations, client = world.sandbox.client.as(VIRT_CONTROLLER), ...more } = wish;
  const metadata = { name: vmiName, namespace, ...(annotations && { annotations }) };
  await client.create(kubevirt.migrations, { metadata, spec: { vmiName, ...more } });
}

async function phases(): Promise<Record<string, string>> {
  const { items } = await world.sandbox.client.list(kubevirt.migrations, namespace);
  return Object.fromEntries(items.map(({ metadata, status }) => [metadata.name, status?.phase ?? ""]));
}

const countOf = async (phase: string) => Object.values(await phases()).filter((other) => other === phase).length;
const phaseOf = async (name: string) => (await phases())[name] ?? "none";
const status = async (name: string) =>
  (await world.sandbox.client.get(kubevirt.migrations, { namespace, name }))?.status;
const finish = () =>
  world.pass(async () => {
    world.clock.advance(30_000);
    return (await countOf("Succeeded")) === Object.keys(await phases()).length;
  });

describe("the limits", () => {
  // prettier-ignore
  const rows: readonly (readonly [cluster: number | undefined, outbound: number | undefined, nodes: number, running: number])[] = [
    // in the cluster  from a node  VMs on  at once
    [undefined,        undefined,   1,      2],
    [undefined,        undefined,   3,      5],
    [1,                undefined,   2,      1],
    [undefined,        1,           3,      3],
    [undefined,        3,           1,      3],
  ];
  test.each(rows)("%s in the cluster, %s from a node, VMs on %i: %i", async (cluster, outbound, nodes, running) => {
    await limit({ ...(cluster !== undefined && { cluster }), ...(outbound !== undefined && { outbound }) });
    const names = Array.from({ length: 2 * running }, (_, index) => `vm-${index}`);
    const nodeOf = (index: number) => `node-${(index % nodes) + 1}`;
    await Promise.all(names.map((name, index) => createGuests([name], nodeOf(index))));
    for (const name of names) await migrate(name);
    await world.pass(async () => (await countOf("Running")) === running);
    world.clock.advance(20_000);
    await eventually(async () => [await countOf("Running"), await countOf("Pending")]).toEqual([running, running]);
    const { items } = await world.sandbox.client.list(pods, namespace);
    expect(items).toHaveLength(names.length + running);
    await finish();
  });
});

test("what waits for its turn says nothing, and is told no target", async () => {
  await limit({ outbound: 1 });
  await createGuests(["first", "second"]);
  await migrate("first");
  await world.pass(async () => (await phaseOf("first")) === "Running");
  await migrate("second");
  await eventually(() => phaseOf("second")).toBe("Pending");
  world.clock.advance(20_000);
  const waiting = await status("second");
  expect(waiting).not.toHaveProperty("conditions");
  expect(waiting?.migrationState).toEqual({ sourcePod: expect.stringMatching(/^virt-launcher-second-/) as string });
  await finish();
});

test("an unschedulable target pod counts as running", async () => {
  await limit({ outbound: 1 });
  await createGuests(["stuck", "behind"]);
  await migrate("stuck", { addedNodeSelector: { "kubernetes.io/hostname": "nowhere" } });
  await world.pass(async () => (await phaseOf("stuck")) === "Scheduling");
  await migrate("behind");
  await eventually(() => phaseOf("behind")).toBe("Pending");
  world.clock.advance(200_000);
  expect(await phases()).toEqual({ stuck: "Scheduling", behind: "Pending" });
  await world.pass(async () => (await phaseOf("stuck")) === "Failed");
  await world.pass(async () => (await phaseOf("behind")) === "Running");
  await world.pass(async () => (await phaseOf("behind")) === "Succeeded");
});

test("a finished one is followed by the pending one of the highest priority", async () => {
  await limit({ outbound: 1 });
  const wishes = {
    unset: {},
    maintenance: { priority: "system-maintenance" },
    user: { priority: "user-triggered" },
    critical: { priority: "system-critical" },
  };
  await createGuests(["blocker", ...Object.keys(wishes)]);
  await migrate("blocker");
  await world.pass(async () => (await phaseOf("blocker")) === "Running");
  for (const [name, wish] of Object.entries(wishes)) await migrate(name, wish);
  await eventually(() => countOf("Pending")).toBe(4);
  for (const next of ["critical", "user", "maintenance", "unset"]) {
    world.clock.advance(SECONDS * 1_000);
    await eventually(() => phaseOf(next)).toBe("Running");
  }
  await finish();
});

test("an unfinished migration in its back-off takes no place, and says nothing", async () => {
  await limit({ outbound: 1 });
  await createGuests(["unlucky", "other"]);
  world.sandbox.migrations.configure({ outcome: ({ name }) => (name === "unlucky" ? "Failed" : "Succeeded") });
  const annotations = { [kubevirt.ANNOTATION.evacuationMigration]: "node-1" };
  await migrate("unlucky", { annotations });
  await world.pass(async () => (await phaseOf("unlucky")) === "Failed");
  const { client } = world.sandbox;
  const again = { metadata: { name: "again", namespace, annotations }, spec: { vmiName: "unlucky" } };
  await client.create(kubevirt.migrations, again);
  await eventually(() => phaseOf("again")).toBe("Pending");
  await migrate("other");
  await world.pass(async () => (await phaseOf("other")) === "Running");
  expect(await status("again")).toMatchObject({ phase: "Pending" });
  expect(await status("again")).not.toHaveProperty("conditions");
  world.sandbox.migrations.configure({ outcome: () => "Succeeded" });
  await world.pass(async () => (await phaseOf("again")) === "Succeeded");
});

// prettier-ignore
const rows: readonly (readonly [failed: string, next: string, phase: string])[] = [
  ["of its own accord", "of its own accord", "Pending"],
  ["of its own accord", "by hand",           "Running"],
  ["by hand",           "of its own accord", "Running"],
];
test.each(rows)("after a migration made %s has failed, one made %s is %s", async (failed, next, phase) => {
  await limit({});
  const { client } = world.sandbox;
  const annotations = { [kubevirt.ANNOTATION.workloadUpdateMigration]: "" };
  const wish = (how: string) => (how === "by hand" ? {} : { annotations });
  await createGuests(["one"]);
  world.sandbox.migrations.configure({ outcome: ({ attempt }) => (attempt === 1 ? "Failed" : "Succeeded") });
  await migrate("one", wish(failed));
  await world.pass(async () => (await phaseOf("one")) === "Failed");
  const { items } = await client.list(pods, namespace, { labelSelector: kubevirt.LABEL.migrationJobUID });
  await world.until(pods, items[0]?.metadata ?? { name: "" }, ({ status }) => status?.phase === "Succeeded");
  const metadata = { name: "next", namespace, ...wish(next) };
  await client.create(kubevirt.migrations, { metadata, spec: { vmiName: "one" } });
  await eventually(() => phaseOf("next")).toBe(phase);
  world.clock.advance(15_000);
  expect(await phaseOf("next")).toBe(phase);
  world.sandbox.migrations.configure({ outcome: () => "Succeeded" });
  await world.pass(async () => (await phaseOf("next")) === "Succeeded");
});

test("of two unfinished migrations of one VMI the second waits until the first has left one pod", async () => {
  await limit({});
  const { client } = world.sandbox;
  await createGuests(["twice"]);
  // Both are created before a cache shows either; virt-api, which would refuse the second, is not asked.
  const key = { name: "virt-api-validator" };
  const validators = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    plural: "validatingwebhookconfigurations",
    namespaced: false,
  };
  const validator = await client.get(validators, key);
  await client.delete(validators, key);
  const create = (name: string) =>
    client.create(kubevirt.migrations, { metadata: { name, namespace }, spec: { vmiName: "twice" } });
  await Promise.all([create("one"), create("two")]);
  await world.pass(async () => (await countOf("Running")) === 1);
  world.clock.advance(20_000);
  expect([await countOf("Running"), await countOf("Pending")]).toEqual([1, 1]);
  await finish();
  if (validator) await client.create(validators, { ...validator, metadata: key });
});
