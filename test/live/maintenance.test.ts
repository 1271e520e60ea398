/** NodeEvacuations as they are shipped: a node has to be empty. */
import { afterEach, expect, test } from "vitest";
import { type NodeEvacuation, nodeEvacuations } from "../../infra/lab/stage/evacuations.ts";
import {
  core,
  createPod,
  createVirtualMachine,
  DEPLOYED,
  KUBEVIRT,
  kubevirt,
  kubeVirts,
  waitFor,
} from "../../infra/sandbox/index.ts";
import { PATIENCE } from "../support/setup/simulated-only.ts";
import { NAMESPACE, type Stage, type StageOptions, startStage } from "./stage.ts";
import { evacuationsOf, getVmi, migrationsOf } from "./vm.ts";

const NODE = "node01";
let stage: Stage;
afterEach(() => stage.stop());

async function start(options: StageOptions = {}): Promise<void> {
  stage = await startStage({ optional: ["optional/maintenance/maintenance.yaml"], relay: true, ...options });
}

async function empty(spec: object = {}): Promise<NodeEvacuation> {
  return await stage.client.create(nodeEvacuations, {
    metadata: { name: "kernel" },
    spec: { nodeName: NODE, ...spec },
  });
}

function until(phase: string, is: (one: NodeEvacuation) => boolean = () => true): Promise<NodeEvacuation> {
  return waitFor(stage.client, {
    resource: nodeEvacuations,
    key: { name: "kernel" },
    what: phase,
    until: (one) => one.status?.phase === phase && is(one),
    timeoutMs: 40_000 * PATIENCE,
  });
}

async function change(spec: object): Promise<void> {
  await stage.client.patch(nodeEvacuations, { name: "kernel" }, { type: "merge", body: { spec } });
}

/** As a person does. */
async function setCordon(unschedulable: boolean): Promise<void> {
  await stage.client.patch(core.nodes, { name: NODE }, { type: "merge", body: { spec: { unschedulable } } });
}

const isCordoned = async () => (await stage.client.get(core.nodes, { name: NODE }))?.spec?.unschedulable === true;

/** As virt-operator does. */
async function rollOut(targetDeploymentID: string): Promise<void> {
  const body = { status: { targetDeploymentID } };
  await stage.client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body }, { subresource: "status" });
}

/** The first look at what is blocked was a minute ago. */
async function letAMinutePass(): Promise<void> {
  const found = await stage.client.get(nodeEvacuations, { name: "kernel" });
  const since = new Date(Date.now() - 61_000).toISOString();
  const blockers = (found?.status?.blockers ?? []).map((blocker) => ({ ...blocker, since }));
  const body = { status: { blockers } };
  await stage.client.patch(nodeEvacuations, { name: "kernel" }, { type: "merge", body }, { subresource: "status" });
}

const vm = (name: string, more: object = {}) => ({
  namespace: NAMESPACE,
  name,
  evictionStrategy: "LiveMigrate",
  node: NODE,
  ...more,
});
const PINNED = { migratable: false };

test("its VMs migrate, twice as many at a time as KubeVirt lets go; its other pods are evicted; the node is empty; uncordoned, they return", async () => {
  await start();
  const names = ["vm-1", "vm-2", "vm-3", "vm-4", "vm-5"];
  for (const name of names) await createVirtualMachine(stage.client, "Always", vm(name));
  await createPod(stage.client, { name: "daemon", node: NODE, tolerations: [{ operator: "Exists" }] });
  const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "uid-of-d", controller: true };
  await stage.client.patch(
    core.pods,
    { namespace: "default", name: "daemon" },
    { type: "merge", body: { metadata: { ownerReferences: [owner] } } },
  );
  await empty({ afterwards: { returnVMs: "WhenUncordoned" } });
  const { status } = await until("Evacuated");
  expect(status).toMatchObject({
    verdict: "WillSucceed",
    virtualMachines: { total: 5, left: 0, moving: 0, blocked: 0 },
    blockers: [],
  });
  expect(status?.conditions?.map(({ type, status: is }) => `${type} ${is}`)).toEqual([
    "DrainInProgress False",
    "Drained True",
  ]);
  const node = await stage.client.get(core.nodes, { name: NODE });
  expect(node?.spec?.unschedulable).toBe(true);
  // From now on the cordon is a person's.
  expect(node?.metadata.annotations).not.toHaveProperty("lifeboat.dev/cordoned-by");
  for (const name of names) {
    expect((await getVmi(stage.client, name)).status?.nodeName).not.toBe(NODE);
    expect(await evacuationsOf(stage.client, name)).toMatchObject([
      { spec: { cause: "NodeEvacuation", requestedBy: "NodeEvacuation kernel" }, status: { phase: "Moved" } },
    ]);
    expect(await migrationsOf(stage.client, name)).toHaveLength(1);
  }
  await setCordon(false);
  await until("Evacuated", (one) => one.status?.conditions?.some(({ type }) => type === "Returned") === true);
  for (const name of names)
    await expect.poll(async () => (await getVmi(stage.client, name)).status?.nodeName, { timeout: 30_000 }).toBe(NODE);
});

test("what cannot migrate blocks, and is named; it is restarted or stopped where that is asked for", async () => {
  await start();
  await createVirtualMachine(stage.client, "Always", vm("moves"));
  await createVirtualMachine(stage.client, "Always", vm("ledger", PINNED));
  await createVirtualMachine(stage.client, "Manual", vm("desk", PINNED));
  await createVirtualMachine(stage.client, "RerunOnFailure", vm("batch", PINNED));
  await stage.createVm(vm("bare", PINNED));
  const uids = new Map<string, string>();
  for (const name of ["ledger", "desk", "batch"]) uids.set(name, (await getVmi(stage.client, name)).metadata.uid);
  const body = { metadata: { annotations: { "lifeboat.dev/when-blocked": "ShutDown" } } };
  await stage.client.patch(kubevirt.virtualMachines, { namespace: NAMESPACE, name: "batch" }, { type: "merge", body });
  await empty({ virtualMachines: { whenBlocked: "Restart" } });
  await until("Evacuating", ({ status }) => status?.blockers?.length === 4);
  expect((await getVmi(stage.client, "ledger")).metadata.uid).toBe(uids.get("ledger"));
  await letAMinutePass();
  const { status } = await until("Blocked");
  expect(status?.blockers).toMatchObject([{ name: "bare", reason: "NotMigratable" }]);
  expect(status?.virtualMachines).toMatchObject({ total: 5, left: 1, blocked: 1, restarted: 2, stopped: 1 });
  for (const name of ["ledger", "desk"]) {
    const vmi = await getVmi(stage.client, name);
    expect(vmi.status?.phase).toBe("Running");
    expect(vmi.status?.nodeName).not.toBe(NODE);
    expect(vmi.metadata.uid).not.toBe(uids.get(name));
    expect(await evacuationsOf(stage.client, name)).toMatchObject([
      { spec: { by: "Restart" }, status: { phase: "Restarted" } },
    ]);
  }
  expect(
    await stage.client.get(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name: "batch" }),
  ).toBeUndefined();
  expect(await evacuationsOf(stage.client, "batch")).toMatchObject([
    { spec: { by: "ShutDown" }, status: { phase: "Stopped" } },
  ]);
  await stage.client.delete(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name: "bare" });
  await until("Evacuated");
  await setCordon(false);
  // It is started again.
  await expect
    .poll(() =>
      getVmi(stage.client, "batch").then(
        ({ status: is }) => is?.phase,
        () => "none",
      ),
    )
    .toBe("Running");
});

test("paused, nothing new begins; withdrawn, the rest stays and the node is schedulable again", async () => {
  await start({ migrationSeconds: 0.5 });
  const names = Array.from({ length: 12 }, (_, index) => `vm-${index}`);
  for (const name of names) await createVirtualMachine(stage.client, "Always", vm(name));
  await empty({ virtualMachines: { concurrency: 1 } });
  // A status is written every two seconds at most: some counts are never seen.
  await until("Evacuating", ({ status }) => (status?.virtualMachines?.["left"] ?? names.length) < names.length);
  await change({ progress: "Paused" });
  await until("Paused", ({ status }) => status?.virtualMachines?.["moving"] === 0);
  const { status } = await until("Paused");
  const left = status?.virtualMachines?.["left"] ?? 0;
  expect(left).toBeGreaterThan(0);
  for (let i = 0; i < 3; i++) await stage.tick();
  expect((await until("Paused")).status?.virtualMachines).toMatchObject({ left, moving: 0 });
  await change({ intent: "Withdrawn" });
  await until("Withdrawn");
  expect(await isCordoned()).toBe(false);
  const vmis = (await stage.client.list(kubevirt.virtualMachineInstances, NAMESPACE)).items;
  expect(vmis.filter((one) => one.status?.nodeName === NODE)).toHaveLength(left);
});

test("another party uncordons the node: it pauses and says so, and continues when the node is cordoned", async () => {
  await start();
  for (const name of ["vm-1", "vm-2"]) await createVirtualMachine(stage.client, "Always", vm(name, PINNED));
  await empty();
  await until("Blocked");
  await setCordon(false);
  const { status } = await until("Paused");
  expect(status?.message).toContain("kubectl cordon node01");
  await setCordon(true);
  await until("Blocked");
  await change({ intent: "Withdrawn" });
  await until("Withdrawn");
  // The cordon is that of the person.
  expect(await isCordoned()).toBe(true);
});

test("scheduled, it says what will happen; at its hour it waits for the end of a rollout, and starts if the verdict is good enough", async () => {
  await start();
  await createVirtualMachine(stage.client, "Always", vm("ledger", PINNED));
  await empty({ startIf: "WillSucceed", schedule: { notBefore: new Date(Date.now() + 3_600_000).toISOString() } });
  await until("Scheduled", ({ status }) => status?.verdict === "WillBlock");
  expect(await isCordoned()).toBe(false);
  await rollOut("another");
  await change({ schedule: { notBefore: new Date(Date.now() - 1000).toISOString() } });
  await until(
    "Scheduled",
    ({ status }) => status?.message?.startsWith("waits until KubeVirt has been rolled out") === true,
  );
  expect(await isCordoned()).toBe(false);
  await rollOut(DEPLOYED.observedDeploymentID);
  const { status } = await until("Refused");
  expect(status?.message).toContain("startIf is WillSucceed, and the verdict is WillBlock");
  // Another function may be just about to cordon it.
  await expect.poll(isCordoned).toBe(false);
});

test("without the component it says what is missing", async () => {
  await start({ optional: [] });
  await createVirtualMachine(stage.client, "Always", vm("vm-1"));
  await empty();
  const { status } = await until("Scheduled", (one) => one.status?.message?.includes("lacks") === true);
  expect(status?.message).toContain("lifeboat install --with maintenance");
});
