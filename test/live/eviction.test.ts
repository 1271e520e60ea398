/**
 * One eviction at a time, through a real admission call: what the caller is told, and what becomes of the VM. KubeVirt's own
 * webhook is not asked: of two refusals the caller reads the one that comes first. The test marks in its place.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrations, podDisruptionBudgets, virtualMachineInstances } from "../../infra/sandbox/index.ts";
import { NAMESPACE, type Stage, startStage } from "./stage.ts";
import { createVm, evict, getVmi, launchersOf, storyOf, type Vm, vmOf } from "./vm.ts";

const DENIED = 'admission webhook "evictions.lifeboat.dev" denied the request: ';

const WAITS = "eviction strategy External: its external controller has to move it";

let stage: Stage;

beforeAll(async () => {
  stage = await startStage({ evictionWebhook: false });
});
afterAll(() => stage.stop());

/** The VM, which KubeVirt's webhook would have marked for the first such eviction. */
async function evicted(vm: Vm): ReturnType<Vm["evict"]> {
  const answer = await vm.evict();
  const { nodeName, evacuationNodeName } = (await vm.vmi()).status ?? {};
  if (!answer.message.includes("triggered") || evacuationNodeName !== undefined || nodeName !== vm.node) return answer;
  const kubeVirt = stage.client.as("system:serviceaccount:kubevirt:kubevirt-apiserver");
  const body = [{ op: "add", path: "/status/evacuationNodeName", value: vm.node }];
  await kubeVirt.patch(virtualMachineInstances, { namespace: NAMESPACE, name: vm.name }, { type: "json", body });
  return answer;
}

type Fate = "moved" | "marked" | "untouched" | "shut down";

function fateOf(strategy: string, code: number, message: string): Fate {
  if (code === 201) return "shut down";
  if (!message.includes("triggered")) return "untouched";
  return strategy === "External" ? "marked" : "moved";
}

async function expectFate(vm: Vm, fate: Fate): Promise<void> {
  if (fate === "moved") await vm.untilMoved();
  else if (fate === "shut down") await vm.until("shut down", ({ status }) => status?.phase !== "Running");
  else expect((await vm.vmi()).status?.evacuationNodeName).toBe(fate === "marked" ? vm.node : undefined);
}

describe("the first eviction", () => {
  // prettier-ignore
  const rows = [
    // strategy               migratable  code  message
    ["None",                  true,       201,  ""],
    ["LiveMigrate",           true,       429,  `${DENIED}Eviction triggered evacuation of VMI "vms/VM"`],
    ["LiveMigrate",           false,      429,  `${DENIED}VMI "vms/VM" is configured with eviction strategy LiveMigrate but is not live-migratable: DisksNotLiveMigratable`],
    ["External",              true,       429,  `${DENIED}Eviction triggered evacuation of VMI "vms/VM"`],
  ] as const;

  test.each(rows)("%s, migratable %s: %d %s", async (evictionStrategy, migratable, code, message) => {
    const name = `first-${evictionStrategy.toLowerCase()}-${migratable}`;
    const vm = vmOf(stage, await stage.createVm({ name, evictionStrategy, migratable }));
    expect(await evicted(vm)).toMatchObject({ code, message: message.replace('VM"', `${name}"`) });
    await expectFate(vm, fateOf(evictionStrategy, code, message));
  });
});

async function budgetSizeOf(vmiUID: string) {
  const { items } = await stage.client.list(podDisruptionBudgets, NAMESPACE);
  const [budget] = items.filter((b) => b.metadata.ownerReferences?.some((o) => o.uid === vmiUID));
  // KubeVirt deletes budgets whose controller is a VMI.
  expect(budget?.metadata.ownerReferences?.[0]?.controller).toBeUndefined();
  return budget?.spec?.minAvailable;
}

test("an evacuation from the eviction to the end: mark, budget, migration, story, nothing left", async () => {
  stage.sandbox.migrations.configure({ seconds: 1 });
  const vm = await createVm(stage, "whole");
  expect((await evicted(vm)).message).toBe(`${DENIED}Eviction triggered evacuation of VMI "vms/whole"`);

  expect((await vm.untilMoved()).metadata.uid).toBe(vm.uid);
  const annotations = { "kubevirt.io/evacuationMigration": vm.node };
  await expect.poll(vm.migrations).toMatchObject([
    {
      metadata: { name: expect.stringMatching(/^kubevirt-evacuation-/), annotations },
      status: { phase: "Succeeded" },
    },
  ]);
  await expect.poll(vm.phases).toEqual(["Moved"]);
  expect(await budgetSizeOf(vm.uid)).toBe(2);
  await expect.poll(vm.story).toEqual(expect.arrayContaining(["Normal EvacuationTriggered", "Normal Evacuated"]));
});

test("while the VM moves, its eviction is in progress, and its target is refused", async () => {
  stage.sandbox.migrations.configure({ seconds: 600 });
  const vm = await createVm(stage, "repeat", { node: "node01" });
  await evicted(vm);
  const vmi = await vm.until("migrating", ({ status }) => status?.migrationState !== undefined);
  const message = `${DENIED}Evacuation in progress: Eviction triggered evacuation of VMI "vms/repeat"`;
  expect(await evicted(vm)).toMatchObject({ code: 429, message });
  const target = (await launchersOf(stage.client, vmi)).find((pod) => pod.spec?.nodeName !== vm.node);
  if (target === undefined) throw new Error("no target pod");
  const refused = expect.stringContaining("Eviction request for target Pod");
  expect(await evict(stage.client, target)).toMatchObject({ code: 429, message: refused });
  expect((await vm.vmi()).status?.evacuationNodeName).toBe(vm.node);
});

test("a dry run gets the same answer and writes nothing", async () => {
  const before = await stage.createVm({ name: "dry", evictionStrategy: "LiveMigrate" });
  const [pod] = await launchersOf(stage.client, before);
  const metadata = { namespace: NAMESPACE, name: pod?.metadata.name };
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${metadata.name}/eviction`;
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata };
  const answer = await stage.client.raw({ method: "POST", path, query: { dryRun: "All" }, body });
  const message = `${DENIED}Eviction triggered evacuation of VMI "vms/dry"`;
  expect(answer).toMatchObject({ code: 429, body: { message } });
  expect((await getVmi(stage.client, "dry")).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  expect(await storyOf(stage.client, "dry")).toEqual([]);
});

async function migrateAsOwner({ name }: Vm): Promise<void> {
  const metadata = { generateName: `${name}-migration-`, namespace: NAMESPACE };
  await stage.client.create(migrations, { metadata, spec: { vmiName: name } });
}

const answer = async (vm: Vm) => (await evicted(vm)).message;
const later = (name: string, more: string) =>
  `${DENIED}Evacuation in progress: Eviction triggered evacuation of VMI "vms/${name}"; ${more}`;

describe("an External VM whose owner migrates it, as Cluster API's provider does", () => {
  test("the drain is told, the budget is 2, and no other migration is created", async () => {
    stage.sandbox.migrations.configure({ seconds: 600 });
    const vm = await createVm(stage, "owned", { evictionStrategy: "External", node: "node02" });
    await evicted(vm);
    await expect.poll(vm.phases).toEqual(["WaitingForExternalController"]);
    expect(await answer(vm)).toBe(later("owned", WAITS));
    await migrateAsOwner(vm);
    const [{ metadata } = { metadata: { name: "" } }] = await vm.migrations();
    await expect.poll(() => answer(vm)).toBe(later("owned", `migration ${metadata.name} moves the VM`));
    expect(await budgetSizeOf(vm.uid)).toBe(2);
    await stage.reconcile();
    expect(await vm.migrations()).toHaveLength(1);
  });
});
