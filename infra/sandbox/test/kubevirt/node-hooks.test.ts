/** Tests plugins that refuse the shutdown of a guest. */
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { events, pods } from "../../actors/resources.ts";
import { createNode, createVirtualMachineInstance } from "../../fleet.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { eventually, useSandbox } from "../with-sandbox.ts";

const NAMESPACE = "hooks";
const GRACE = 120;
/** The seconds until the launcher destroys the guest. The launcher adds 15 s to the guest's grace period. */
const DESTROYED_AFTER = GRACE + 15;
const world = useSandbox({ terminationSeconds: 5, migrationSeconds: 60 });
const vmis = kubevirt.virtualMachineInstances;

beforeAll(async () => {
  for (const node of ["node-1", "node-2"]) await createNode(world.sandbox.client, node);
});

afterEach(async () => {
  world.sandbox.migrations.configure({ outcome: () => "Succeeded", postCopy: () => false });
  await world.sandbox.client.delete(kubevirt.plugins, { name: "refuser" }).catch(() => undefined);
  const { items } = await world.sandbox.client.list(vmis, NAMESPACE);
  for (const { metadata } of items) await world.sandbox.client.delete(vmis, metadata);
  await world.pass(async () => (await world.sandbox.client.list(vmis, NAMESPACE)).items.length === 0);
});

const keyOf = (name: string) => ({ namespace: NAMESPACE, name });
const get = (name: string) => world.sandbox.client.get(vmis, keyOf(name));
const until = (name: string, condition: (vmi: kubevirt.VirtualMachineInstance) => boolean) =>
  world.until(vmis, keyOf(name), condition);
const now = () => world.clock.now().getTime();

async function setGates(featureGates: readonly string[]): Promise<void> {
  const body = { spec: { configuration: { developerConfiguration: { featureGates } } } };
  const key = { namespace: kubevirt.KUBEVIRT_NAMESPACE, name: "kubevirt" };
  await world.sandbox.client.patch(kubevirt.kubeVirts, key, { type: "merge", body });
}

const LABELLED = "has(vmi.metadata.labels) && 'keep' in vmi.metadata.labels && !has(vmi.metadata.deletionTimestamp)";

async function refuse(condition = LABELLED, more: Partial<kubevirt.NodeHook> = {}): Promise<void> {
  const hook = { socket: "/var/run/none.sock", permittedHooks: ["PreVMStop"], condition, ...more };
  await setGates(["Plugins"]);
  await world.sandbox.client.create(kubevirt.plugins, { metadata: { name: "refuser" }, spec: { nodeHooks: [hook] } });
}

async function run(name: string, labels: Record<string, string> = { keep: "" }) {
  const vm = { ...keyOf(name), labels, node: "node-1", terminationGracePeriodSeconds: GRACE };
  const { metadata } = await createVirtualMachineInstance(world.sandbox.client, vm);
  const labelSelector = `${kubevirt.LABEL.createdBy}=${metadata.uid}`;
  const { items } = await world.sandbox.client.list(pods, NAMESPACE, { labelSelector });
  const [launcher] = items;
  if (launcher === undefined) throw new Error("no launcher");
  return { launcher };
}

async function signal(name: string, labels?: Record<string, string>) {
  const { launcher } = await run(name, labels);
  await world.sandbox.client.delete(pods, launcher.metadata);
  const since = now();
  return { launcher, secondsSince: () => (now() - since) / 1000 };
}

/** Waits until the guest has stopped. Fails after 100 s, long before the launcher would destroy the guest. */
const endsInOrder = (name: string) => world.pass(() => isFinal(name), 100);
const isFinal = async (name: string) => kubevirt.isFinal((await get(name))?.status);
const phaseOf = async (name: string) => (await get(name))?.status?.phase;

async function refusals(name: string): Promise<number> {
  const vmi = await get(name);
  const fieldSelector = `involvedObject.uid=${vmi?.metadata.uid},reason=SyncFailed`;
  const { items } = await world.sandbox.client.list(events, NAMESPACE, { fieldSelector });
  return items.reduce((sum, { count = 0 }) => sum + count, 0);
}

async function migrate(vmiName: string): Promise<void> {
  const metadata = { namespace: NAMESPACE, name: `move-${vmiName}` };
  await world.sandbox.client.create(kubevirt.migrations, { metadata, spec: { vmiName } });
}

const unlabel = (name: string) =>
  world.sandbox.client.patch(vmis, keyOf(name), { type: "merge", body: { metadata: { labels: { keep: null } } } });

describe("whether a Plugin refuses a shutdown:", () => {
  interface Case extends Partial<kubevirt.NodeHook> {
    readonly labels?: Record<string, string>;
    readonly gates?: readonly string[];
  }
  const absent = "vmi.status.nothing == 'there'";
  // prettier-ignore
  const rows: readonly (readonly [when: string, Case, isRefused: boolean])[] = [
    ["yes, if its condition holds",                                              { labels: { keep: "" } },                           true ],
    ["no, if its condition does not hold",                                       { labels: {} },                                     false],
    ["yes, if its condition reads a missing field",                              { condition: absent },                              true ],
    ["yes, if its condition reads a missing field and failures are ignored",     { condition: absent, failureStrategy: "Ignore" },   true ],
    ["no, if the failure of the call is ignored",                                { failureStrategy: "Ignore" },                      false],
    ["no, if it is for another event",                                           { permittedHooks: ["PostVMStop"] },                 false],
    ["no, if the feature gate is off",                                           { gates: [] },                                      false],
  ];
  test.each(rows)("%s", async (_, { labels, condition, gates = ["Plugins"], ...more }, isRefused) => {
    await refuse(condition, more);
    await setGates(gates);
    await signal("guest", labels);
    if (!isRefused) return endsInOrder("guest");
    await world.pass(async () => (await refusals("guest")) > 0);
    expect(await phaseOf("guest")).toBe("Running");
  });
});

describe("a guest whose shutdown is refused", () => {
  test("is destroyed 15 s after its grace period, without a graceful shutdown", async () => {
    await refuse();
    const { secondsSince } = await signal("kept");
    await world.pass(() => isFinal("kept"));
    expect(await phaseOf("kept")).toBe("Failed");
    expect(secondsSince()).toBeGreaterThanOrEqual(DESTROYED_AFTER);
    expect(secondsSince()).toBeLessThanOrEqual(DESTROYED_AFTER + 10);
  });

  test("shuts down as soon as the Plugin allows it", async () => {
    await refuse();
    await signal("released");
    await world.pass(async () => (await refusals("released")) > 0);
    await unlabel("released");
    await endsInOrder("released");
  });

  test("can migrate, and its former launcher pod ends", async () => {
    await refuse();
    const { launcher } = await signal("moved");
    await world.pass(async () => (await refusals("moved")) > 0);
    await migrate("moved");
    await world.pass(async () => (await get("moved"))?.status?.nodeName === "node-2");
    await world.pass(async () => (await world.sandbox.client.get(pods, launcher.metadata)) === undefined, 60);
    expect(await phaseOf("moved")).toBe("Running");
  });

  test("is destroyed during a migration that takes too long", async () => {
    world.sandbox.migrations.configure({ seconds: 1_000 });
    await refuse();
    await signal("slow");
    await world.pass(async () => (await refusals("slow")) > 0);
    await migrate("slow");
    await world.pass(() => isFinal("slow"));
    expect(await phaseOf("slow")).toBe("Failed");
    world.sandbox.migrations.configure({ seconds: 60 });
  });

  test("ends at once if its owner stops it", async () => {
    await refuse();
    await run("stopped");
    const since = now();
    await world.sandbox.client.delete(vmis, keyOf("stopped"));
    await world.pass(async () => (await get("stopped")) === undefined);
    expect((now() - since) / 1000).toBeLessThan(20);
  });
});

describe("a launcher pod that is terminated while its guest migrates", () => {
  test("does not end the guest, because virt-handler ignores a migrating guest", async () => {
    await run("moving");
    await migrate("moving");
    const { status } = await until("moving", (vmi) => kubevirt.isMigrating(vmi.status));
    const [source = ""] = Object.keys(status?.activePods ?? {});
    const { items } = await world.sandbox.client.list(pods, NAMESPACE);
    const launcher = items.find(({ metadata }) => metadata.uid === source);
    await world.sandbox.client.delete(pods, launcher?.metadata ?? keyOf(""));
    await world.pass(async () => (await get("moving"))?.status?.nodeName === "node-2");
    expect(await phaseOf("moving")).toBe("Running");
  });

  test("shuts the guest down when the migration has failed", async () => {
    world.sandbox.migrations.configure({ outcome: () => "Failed" });
    const { launcher } = await run("failing");
    await migrate("failing");
    await until("failing", (vmi) => kubevirt.isMigrating(vmi.status));
    await world.sandbox.client.delete(pods, launcher.metadata);
    await endsInOrder("failing");
  });
});

describe("a guest that a post-copy migration has lost", () => {
  test.each([
    ["is destroyed", "!(has(vmi.status.migrationState) && vmi.status.migrationState.mode == 'PostCopy')", "Failed"],
    ["hangs if a Plugin refuses to destroy the guest", "true", "Running"],
  ])("%s", async (_, condition, phase) => {
    await refuse(condition);
    world.sandbox.migrations.configure({ outcome: () => "Failed", postCopy: () => true });
    await run("lost");
    await migrate("lost");
    await world.pass(async () => (await get("lost"))?.status?.migrationState?.failed === true);
    for (let second = 0; second < 30; second++) {
      world.clock.advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually(() => phaseOf("lost")).toBe(phase);
    await world.sandbox.client.delete(kubevirt.plugins, { name: "refuser" });
  });
});
