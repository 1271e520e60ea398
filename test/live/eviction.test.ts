/**
 * Tests the answer to an eviction, and the outcome for the VM, through a real admission call. KubeVirt's webhook and
 * evacuation controller are off, because a caller reads only the first of two refusals.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { drainNode } from "../../infra/lab/stage/drain-client.ts";
import { createNode, migrations, podDisruptionBudgets, virtualMachineInstances } from "../../infra/sandbox/index.ts";
import { ALONE, NAMESPACE, type Stage, startStage } from "./stage.ts";
import { createVm, evict, launchersOf, type Vm, watchMigrations } from "./vm.ts";

const DENIED = 'admission webhook "evictions.lifeboat.dev" denied the request: ';
const TRIGGERED = "Eviction triggered evacuation of VMI";
const evacuation = { adoptSeconds: 0, maxAttempts: 2, backoffSeconds: 1.1, maxBackoffSeconds: 600 };

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ ...ALONE, configuration: { evacuation }, relay: true });
});
afterAll(() => stage.stop());
afterEach(() => stage.sandbox.migrations.configure({ seconds: 0.1, outcome: () => "Succeeded" }));

async function budgetSizeOf(vmiUID: string) {
  const { items } = await stage.client.list(podDisruptionBudgets, NAMESPACE);
  const [budget] = items.filter((b) => b.metadata.ownerReferences?.some((o) => o.uid === vmiUID));
  // The budget has no controller, because KubeVirt deletes PodDisruptionBudgets whose controller is a VMI.
  expect(budget?.metadata.ownerReferences?.[0]?.controller).toBeUndefined();
  return budget?.spec?.minAvailable;
}

type Word = "allowed" | "shut down" | "refused" | "evacuated" | "in progress";

interface Asked {
  readonly name: string;
  readonly strategy: string;
}

const ANSWERS: Readonly<Record<Word, (of: Asked) => { readonly code: number; readonly message: string }>> = {
  allowed: () => ({ code: 201, message: "" }),
  "shut down": () => ({ code: 201, message: "" }),
  refused: ({ name, strategy }) => {
    const why = "is not live-migratable: DisksNotLiveMigratable (non-shared HostDisk)";
    return {
      code: 429,
      message: `${DENIED}VMI "vms/${name}" is configured with eviction strategy ${strategy} but ${why}`,
    };
  },
  evacuated: ({ name }) => ({ code: 429, message: `${DENIED}${TRIGGERED} "vms/${name}"` }),
  "in progress": ({ name, strategy }) => {
    const who =
      strategy === "External" ? "; eviction strategy External: the VM's external controller has to move the VM" : "";
    return { code: 429, message: `${DENIED}Evacuation in progress: ${TRIGGERED} "vms/${name}"${who}` };
  },
};

// prettier-ignore
const CELLS: readonly (readonly [strategy: string, migratable: boolean, first: Word, repeated: Word | undefined])[] = [
  // strategy               can migrate  first         repeated
  ["None",                  true,        "allowed",    undefined],
  ["None",                  false,       "allowed",    undefined],
  ["LiveMigrate",           true,        "evacuated",  "in progress"],
  ["LiveMigrate",           false,       "refused",    "refused"],
  ["LiveMigrateIfPossible", true,        "evacuated",  "in progress"],
  ["LiveMigrateIfPossible", false,       "shut down",  undefined],
  ["External",              true,        "evacuated",  "in progress"],
  ["External",              false,       "evacuated",  "in progress"],
];

test.each(CELLS)(
  "strategy %s, live-migratable %s: the first eviction is %s, a repeated eviction is %s",
  async (...cell) => {
    const [evictionStrategy, migratable, first, repeated] = cell;
    stage.sandbox.migrations.configure({ seconds: 600 });
    const name = `${evictionStrategy}-${migratable}`.toLowerCase();
    const asked = { name, strategy: evictionStrategy };
    const vm = await createVm(stage, name, { evictionStrategy, migratable });
    const answer = await vm.evict();
    expect(answer).toMatchObject(ANSWERS[first](asked));
    expect(answer.warnings.includes("will be shut down")).toBe(first === "shut down");
    if (repeated === undefined) {
      await vm.until("Succeeded", ({ status }) => status?.phase === "Succeeded");
      return expect((await vm.vmi()).status?.evacuationNodeName).toBeUndefined();
    }
    if (first === "evacuated") await mark(vm);
    await expect.poll(async () => await vm.evict()).toMatchObject(ANSWERS[repeated](asked));
    const { status } = await vm.vmi();
    const marked = first === "evacuated" ? vm.node : undefined;
    expect([status?.phase, status?.nodeName, status?.evacuationNodeName]).toEqual(["Running", vm.node, marked]);
    // Deletes the VM, because its migration would occupy a slot for ten minutes.
    await stage.client.delete(virtualMachineInstances, { namespace: NAMESPACE, name });
  },
);

test("an evicted VM gets an evacuationNodeName, a budget, one migration and Events, and moves", async () => {
  const vm = await createVm(stage, "whole");
  expect(await vm.evict()).toMatchObject({ code: 429, message: `${DENIED}${TRIGGERED} "vms/whole"` });
  expect((await vm.untilMoved()).metadata.uid).toBe(vm.uid);
  await expect.poll(vm.phases).toEqual(["Moved"]);
  expect(await vm.migrations()).toMatchObject([{ status: { phase: "Succeeded" } }]);
  expect(await budgetSizeOf(vm.uid)).toBe(2);
  await expect.poll(vm.events).toEqual(expect.arrayContaining(["Normal EvacuationTriggered", "Normal Evacuated"]));
});

test("while Lifeboat is down, budgets stop a drain; after its restart, Lifeboat migrates two VMs at a time", async () => {
  stage.sandbox.migrations.configure({ seconds: 0.5 });
  await createNode(stage.client, "drained");
  const vms = await Promise.all(["a", "b", "c"].map((name) => createVm(stage, name, { node: "drained" })));
  await stage.stopWorker();
  const lines: string[] = [];
  const to = { client: stage.client, node: "drained", onLine: (line: string) => lines.push(line) };
  const done = drainNode({ ...to, signal: AbortSignal.timeout(100_000), retryMs: 300, pollMs: 50 });
  const refused = () => lines.filter((line) => line.includes("would violate the pod's disruption budget"));
  await expect.poll(() => refused().length).toBeGreaterThanOrEqual(6);
  for (const vm of vms) {
    const { status } = await vm.vmi();
    expect([status?.phase, status?.nodeName, status?.evacuationNodeName]).toEqual(["Running", "drained", undefined]);
  }
  const watched = watchMigrations(stage.client);
  await stage.restartWorker();
  expect(await done).toBe(true);
  for (const vm of vms) {
    expect((await vm.untilMoved()).status?.phase).toBe("Running");
    const [made, ...more] = await vm.migrations();
    expect([made?.metadata.name, more]).toEqual([expect.stringMatching(/^lifeboat-/), []]);
    // Lifeboat does not set this annotation. KubeVirt's evacuation controller counts only migrations with the
    // annotation.
    expect(made?.metadata.annotations).not.toHaveProperty(["kubevirt.io/evacuationMigration"]);
  }
  watched.stop();
  expect(watched.most()).toBe(2);
});

async function evictAndMark(vm: Vm): Promise<void> {
  await vm.evict();
  await mark(vm);
}

async function mark(vm: Vm): Promise<void> {
  const kubeVirt = stage.client.as("system:serviceaccount:kubevirt:kubevirt-apiserver");
  const body = [{ op: "add", path: "/status/evacuationNodeName", value: vm.node }];
  await kubeVirt.patch(virtualMachineInstances, { namespace: NAMESPACE, name: vm.name }, { type: "json", body });
}

test("while a VM moves, a repeated eviction counts as in progress, and an eviction of its target pod is refused", async () => {
  stage.sandbox.migrations.configure({ seconds: 600 });
  const vm = await createVm(stage, "repeat");
  await evictAndMark(vm);
  const vmi = await vm.until("migrating", ({ status }) => status?.migrationState !== undefined);
  const message = `${DENIED}Evacuation in progress: ${TRIGGERED} "vms/repeat"`;
  await expect.poll(() => vm.evict()).toMatchObject({ code: 429, message });
  const joe = stage.client.as("joe", ["system:masters"]);
  const byJoe = async () => await evict(joe, await vm.pod());
  for (let n = 0; n < 2; n++) await expect.poll(byJoe).toMatchObject({ code: 429, message });
  const names = { spec: { requestedBy: "kubernetes-admin" }, status: { requesters: ["joe"] } };
  await expect.poll(vm.evacuations).toMatchObject([names]);
  const target = (await launchersOf(stage.client, vmi)).find((pod) => pod.spec?.nodeName !== vm.node);
  if (target === undefined) throw new Error("no target pod");
  const refused = expect.stringContaining("Eviction request for target Pod");
  expect(await evict(stage.client, target)).toMatchObject({ code: 429, message: refused });
  expect((await vm.vmi()).status?.evacuationNodeName).toBe(vm.node);
});

async function migrateAsOwner({ name }: Vm): Promise<void> {
  const metadata = { generateName: `${name}-migration-`, namespace: NAMESPACE };
  await stage.client.create(migrations, { metadata, spec: { vmiName: name } });
}

test("given an External VM, the answer names the owner's migration, and Lifeboat creates no migration", async () => {
  stage.sandbox.migrations.configure({ seconds: 600 });
  const vm = await createVm(stage, "owned", { evictionStrategy: "External" });
  const answer = async () => (await vm.evict()).message;
  const later = `${DENIED}Evacuation in progress: ${TRIGGERED} "vms/owned"; `;
  await evictAndMark(vm);
  await expect.poll(vm.phases).toEqual(["WaitingForExternalController"]);
  expect(await answer()).toBe(`${later}eviction strategy External: the VM's external controller has to move the VM`);
  await migrateAsOwner(vm);
  const [migration] = await vm.migrations();
  await expect.poll(answer).toBe(`${later}migration ${migration?.metadata.name} moves the VM`);
  expect(await budgetSizeOf(vm.uid)).toBe(2);
  await stage.reconcile();
  expect(await vm.migrations()).toHaveLength(1);
});

test("given migrations that always fail, the Evacuation is abandoned, and the VM runs without evacuationNodeName", async () => {
  stage.sandbox.migrations.configure({ outcome: () => "Failed" });
  const vm = await createVm(stage, "stuck");
  await vm.evict();
  await expect.poll(vm.phases).toEqual(["Abandoned"]);
  const [ended] = await vm.evacuations();
  expect(ended?.status).toMatchObject({ attempts: 2, message: expect.stringContaining("Live migration failed") });
  expect(await vm.migrations()).toHaveLength(2);
  expect((await vm.untilUnmarked()).status?.phase).toBe("Running");
  const warnings = async () => (await vm.events()).filter((reported) => reported.startsWith("Warning"));
  const failed = "Warning MigrationFailed";
  await expect.poll(warnings).toEqual([failed, failed, "Warning EvacuationAbandoned"]);
});
