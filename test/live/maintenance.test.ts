/** NodeEvacuations as they are shipped: a node has to be empty. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type NodeEvacuation, nodeEvacuations } from "../../infra/lab/stage/evacuations.ts";
import {
  core,
  createNode,
  createPod,
  createVirtualMachine,
  DEPLOYED,
  KUBEVIRT,
  kubevirt,
  kubeVirts,
  waitFor,
} from "../../infra/sandbox/index.ts";
import { PATIENCE } from "../support/setup/simulated-only.ts";
import { NAMESPACE, type Stage, startStage } from "./stage.ts";
import { evacuationsOf, getVmi, migrationsOf } from "./vm.ts";

const MAINTENANCE = ["optional/maintenance/maintenance.yaml"];

/** Each test empties a node of its own; its NodeEvacuation has the node's name. */
let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ relay: true });
});
afterAll(() => stage.stop());

const vm = (name: string, node: string, more: object = {}) => ({
  namespace: NAMESPACE,
  name,
  evictionStrategy: "LiveMigrate",
  node,
  ...more,
});
const PINNED = { migratable: false };

async function empty(name: string, spec: object = {}): Promise<void> {
  await stage.client.create(nodeEvacuations, { metadata: { name }, spec: { nodeName: name, ...spec } });
}

function until(name: string, phase: string, is: (one: NodeEvacuation) => boolean = () => true) {
  return waitFor(stage.client, {
    resource: nodeEvacuations,
    key: { name },
    what: phase,
    until: (one) => one.status?.phase === phase && is(one),
    timeoutMs: 40_000 * PATIENCE,
  });
}

async function change(name: string, spec: object): Promise<void> {
  await stage.client.patch(nodeEvacuations, { name }, { type: "merge", body: { spec } });
}

/** As a person does. */
async function setCordon(name: string, unschedulable: boolean): Promise<void> {
  await stage.client.patch(core.nodes, { name }, { type: "merge", body: { spec: { unschedulable } } });
}

const isCordoned = async (name: string) => (await stage.client.get(core.nodes, { name }))?.spec?.unschedulable === true;
const nodeOf = async (name: string) => (await getVmi(stage.client, name)).status?.nodeName;

/** As virt-operator does. */
async function rollOut(targetDeploymentID: string): Promise<void> {
  const body = { status: { targetDeploymentID } };
  await stage.client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body }, { subresource: "status" });
}

/** The first look at what is blocked was a minute ago. */
async function letAMinutePass(name: string): Promise<void> {
  const found = await stage.client.get(nodeEvacuations, { name });
  const since = new Date(Date.now() - 61_000).toISOString();
  const blockers = (found?.status?.blockers ?? []).map((blocker) => ({ ...blocker, since }));
  const body = { status: { blockers } };
  await stage.client.patch(nodeEvacuations, { name }, { type: "merge", body }, { subresource: "status" });
}

test("without the component it says what is missing; once that is installed, the VM migrates, and the node is empty; uncordoned, the VM returns", async () => {
  await createNode(stage.client, "full");
  await createVirtualMachine(stage.client, "Always", vm("returns", "full"));
  await createPod(stage.client, { name: "daemon", node: "full", tolerations: [{ operator: "Exists" }] });
  const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "uid-of-d", controller: true };
  const body = { metadata: { ownerReferences: [owner] } };
  await stage.client.patch(core.pods, { namespace: "default", name: "daemon" }, { type: "merge", body });
  await empty("full", { afterwards: { returnVMs: "WhenUncordoned" } });
  const lacking = await until("full", "Scheduled", ({ status }) => status?.message?.includes("lacks") === true);
  expect(lacking.status?.message).toContain("lifeboat install --with maintenance");
  await stage.reinstall(MAINTENANCE);
  const { status } = await until("full", "Evacuated");
  expect(status).toMatchObject({
    verdict: "WillSucceed",
    virtualMachines: { total: 1, left: 0, moving: 0, blocked: 0 },
    blockers: [],
  });
  expect(status?.conditions?.map(({ type, status: is }) => `${type} ${is}`)).toEqual([
    "DrainInProgress False",
    "Drained True",
  ]);
  // From now on the cordon is a person's.
  const node = await stage.client.get(core.nodes, { name: "full" });
  expect(node?.spec?.unschedulable).toBe(true);
  expect(node?.metadata.annotations).not.toHaveProperty("lifeboat.dev/cordoned-by");
  expect(await nodeOf("returns")).not.toBe("full");
  expect(await evacuationsOf(stage.client, "returns")).toMatchObject([
    { spec: { cause: "NodeEvacuation", requestedBy: "NodeEvacuation full" }, status: { phase: "Moved" } },
  ]);
  expect(await migrationsOf(stage.client, "returns")).toHaveLength(1);
  await setCordon("full", false);
  await until("full", "Evacuated", (one) => one.status?.conditions?.some(({ type }) => type === "Returned") === true);
  await expect.poll(() => nodeOf("returns"), { timeout: 30_000 }).toBe("full");
  await setCordon("full", true);
});

test("what cannot migrate blocks, and is named; it is restarted or stopped where that is asked for", async () => {
  const node = "blocked";
  await createNode(stage.client, node);
  await createVirtualMachine(stage.client, "Always", vm("moves", node));
  await createVirtualMachine(stage.client, "Always", vm("ledger", node, PINNED));
  await createVirtualMachine(stage.client, "Manual", vm("desk", node, PINNED));
  await createVirtualMachine(stage.client, "RerunOnFailure", vm("batch", node, PINNED));
  await stage.createVm(vm("bare", node, PINNED));
  const uids = new Map<string, string>();
  for (const name of ["ledger", "desk", "batch"]) uids.set(name, (await getVmi(stage.client, name)).metadata.uid);
  const body = { metadata: { annotations: { "lifeboat.dev/when-blocked": "ShutDown" } } };
  await stage.client.patch(kubevirt.virtualMachines, { namespace: NAMESPACE, name: "batch" }, { type: "merge", body });
  await empty(node, { virtualMachines: { whenBlocked: "Restart" } });
  await until(node, "Evacuating", ({ status }) => status?.blockers?.length === 4);
  expect((await getVmi(stage.client, "ledger")).metadata.uid).toBe(uids.get("ledger"));
  await letAMinutePass(node);
  const { status } = await until(node, "Blocked");
  expect(status?.blockers).toMatchObject([{ name: "bare", reason: "NotMigratable" }]);
  expect(status?.virtualMachines).toMatchObject({ total: 5, left: 1, blocked: 1, restarted: 2, stopped: 1 });
  for (const name of ["ledger", "desk"]) {
    const vmi = await getVmi(stage.client, name);
    expect(vmi.status?.phase).toBe("Running");
    expect(vmi.status?.nodeName).not.toBe(node);
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
  await until(node, "Evacuated");
  await setCordon(node, false);
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
  const node = "paused";
  await createNode(stage.client, node);
  stage.sandbox.migrations.configure({ seconds: 0.5 });
  const names = Array.from({ length: 8 }, (_, index) => `paused-${index}`);
  await Promise.all(names.map((name) => stage.createVm(vm(name, node))));
  await empty(node, { virtualMachines: { concurrency: 1 } });
  // A status is written every two seconds at most: some counts are never seen.
  await until(node, "Evacuating", ({ status }) => (status?.virtualMachines?.["left"] ?? names.length) < names.length);
  await change(node, { progress: "Paused" });
  const { status } = await until(node, "Paused", (one) => one.status?.virtualMachines?.["moving"] === 0);
  const left = status?.virtualMachines?.["left"] ?? 0;
  expect(left).toBeGreaterThan(0);
  for (let i = 0; i < 3; i++) await stage.tick();
  expect((await until(node, "Paused")).status?.virtualMachines).toMatchObject({ left, moving: 0 });
  await change(node, { intent: "Withdrawn" });
  await until(node, "Withdrawn");
  expect(await isCordoned(node)).toBe(false);
  const nodes = await Promise.all(names.map(nodeOf));
  expect(nodes.filter((one) => one === node)).toHaveLength(left);
  stage.sandbox.migrations.configure({ seconds: 0.1 });
});

test("another party uncordons the node: it pauses and says so, and continues when the node is cordoned", async () => {
  const node = "uncordoned";
  await createNode(stage.client, node);
  await stage.createVm(vm("stays", node, PINNED));
  await empty(node);
  await until(node, "Blocked");
  await setCordon(node, false);
  const { status } = await until(node, "Paused");
  expect(status?.message).toContain("kubectl cordon uncordoned");
  await setCordon(node, true);
  await until(node, "Blocked");
  await change(node, { intent: "Withdrawn" });
  await until(node, "Withdrawn");
  // The cordon is that of the person.
  expect(await isCordoned(node)).toBe(true);
});

test("scheduled, it says what will happen; at its hour it waits for the end of a rollout, and starts if the verdict is good enough", async () => {
  const node = "scheduled";
  await createNode(stage.client, node);
  await stage.createVm(vm("pinned", node, PINNED));
  await empty(node, {
    startIf: "WillSucceed",
    schedule: { notBefore: new Date(Date.now() + 3_600_000).toISOString() },
  });
  await until(node, "Scheduled", ({ status }) => status?.verdict === "WillBlock");
  expect(await isCordoned(node)).toBe(false);
  await rollOut("another");
  await change(node, { schedule: { notBefore: new Date(Date.now() - 1000).toISOString() } });
  await until(
    node,
    "Scheduled",
    ({ status }) => status?.message?.startsWith("waits until KubeVirt has been rolled out") === true,
  );
  expect(await isCordoned(node)).toBe(false);
  await rollOut(DEPLOYED.observedDeploymentID);
  const { status } = await until(node, "Refused");
  expect(status?.message).toContain("startIf is WillSucceed, and the verdict is WillBlock");
  // Another function may be just about to cordon it.
  await expect.poll(() => isCordoned(node)).toBe(false);
});
