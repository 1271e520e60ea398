/**
 * Tests an upgrade from 0.3 with objects in every phase, and a downgrade. LIFEBOAT_FORM=in-cluster runs the tests in
 * the cluster.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { applyAsCommand } from "../../infra/lab/stage/apply.ts";
import { evacuations, nodeEvacuations } from "../../infra/lab/stage/evacuations.ts";
import { core, createNode, createVirtualMachine, kubevirt, USERS } from "../../infra/sandbox/index.ts";
import { LIFEBOAT } from "../answer/manifests/stage.ts";
import { PATIENCE } from "../support/setup/simulated-only.ts";
import {
  BEFORE,
  type Draining,
  EVACUATIONS,
  kindsOf03,
  type Leaving,
  NODE_EVACUATIONS,
  RELEASED,
} from "../support/upgrade/objects.ts";
import { until } from "./in-cluster-form.ts";
import { MAINTENANCE, PINNED } from "./maintenance-stage.ts";
import { closeQueue, NAMESPACE, openQueue, type Stage, startStage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ relay: true, optional: MAINTENANCE });
  await stage.stopWorker();
  await installKindsOf03();
  await closeQueue(stage.client);
  for (const one of EVACUATIONS) await createLeaving(one);
  for (const one of NODE_EVACUATIONS) await createDraining(one);
  await stage.reinstall(MAINTENANCE);
  await stage.restartWorker();
  await openQueue(stage.client);
}, 240_000 * PATIENCE);
afterAll(() => stage.stop());

async function installKindsOf03(): Promise<void> {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rollingmaintenances.lifeboat.dev";
  await stage.client.raw({ method: "DELETE", path });
  await applyAsCommand(stage.client, kindsOf03());
}

const MOVABLE = { evictionStrategy: "LiveMigrate" };
const STATUS = { subresource: "status" } as const;
const lifeboat = () => stage.client.as(LIFEBOAT, ["system:masters"]);

async function createLeaving({ name, spec, isMarked, vm = MOVABLE, status }: Leaving): Promise<void> {
  await createNode(stage.client, name);
  const vmi = await stage.createVm({ name, node: name, ...vm });
  if (isMarked === true) {
    const virtApi = stage.client.as(USERS.virtApi.user, USERS.virtApi.groups);
    const body = [{ op: "add", path: "/status/evacuationNodeName", value: name }];
    await virtApi.patch(kubevirt.virtualMachineInstances, vmi.metadata, { type: "json", body });
  }
  await createEvacuation(name, vmi.metadata.uid, { cause: "Operator", requestedBy: "jane", ...spec }, status);
}

async function createEvacuation(name: string, uid: string, spec: object, status?: object): Promise<void> {
  const metadata = { namespace: NAMESPACE, name };
  await lifeboat().create(evacuations, { metadata, spec: { virtualMachineInstance: { name }, ...spec } });
  if (status === undefined) return;
  const known = { virtualMachineInstanceUID: uid, sourceNode: name, startTime: BEFORE, ...status };
  await lifeboat().patch(evacuations, metadata, { type: "merge", body: { status: known } }, STATUS);
}

async function createDraining(one: Draining): Promise<void> {
  const { name, spec, status, isCordoned, own = [] } = one;
  if (status?.phase !== "Gone") await createNode(stage.client, name);
  await createVmOf(one);
  const created = await stage.client.create(nodeEvacuations, { metadata: { name }, spec: { nodeName: name, ...spec } });
  const { uid } = created.metadata;
  if (status !== undefined) {
    await lifeboat().patch(nodeEvacuations, { name }, { type: "merge", body: { status } }, STATUS);
  }
  for (const phase of own) await createOwn({ name, uid }, phase);
  if (isCordoned === true) await cordon(name, { "lifeboat.dev/cordoned-by": `${name}/${uid}` });
  // After an evacuation, the node stays cordoned, but no longer has Lifeboat's annotation.
  if (status?.phase === "Evacuated") await cordon(name, {});
}

async function cordon(name: string, annotations: Readonly<Record<string, string>>): Promise<void> {
  const body = { metadata: { annotations }, spec: { unschedulable: true } };
  await stage.client.patch(core.nodes, { name }, { type: "merge", body });
}

async function createVmOf({ name, here }: Draining): Promise<void> {
  if (here === undefined) return;
  const vm = { ...MOVABLE, ...(here === "Pinned" && PINNED), namespace: NAMESPACE, name: `${name}-vm`, node: name };
  await createVirtualMachine(stage.client, "Always", vm);
}

type Own = NonNullable<Draining["own"]>[number];
const OFF: readonly Own[] = ["Stopping", "Stopped"];
const BY: Readonly<Record<Own, string | undefined>> = {
  Moved: undefined,
  Restarted: "Restart",
  Restarting: "Restart",
  Stopping: "ShutDown",
  Stopped: "ShutDown",
};

/**
 * Creates a VM that runs on another node or is stopped. Also creates its Evacuation, which belongs to the
 * NodeEvacuation.
 */
async function createOwn(nodeEvacuation: { readonly name: string; readonly uid: string }, phase: Own): Promise<void> {
  const name = `${nodeEvacuation.name}-${phase.toLowerCase()}`;
  const vm = { namespace: NAMESPACE, name, node: "node01", evictionStrategy: "LiveMigrate" };
  await createVirtualMachine(stage.client, "Always", vm);
  const vmi = await stage.client.get(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name });
  const uid = phase === "Moved" ? (vmi?.metadata.uid ?? "") : `uid-of-${name}`;
  if (OFF.includes(phase)) await turnOff(name);
  const by = BY[phase];
  const spec = {
    cause: "NodeEvacuation",
    requestedBy: `NodeEvacuation ${nodeEvacuation.name}`,
    nodeEvacuation,
    ...(by !== undefined && { by, runStrategy: "Always" }),
  };
  const isOver = phase === "Moved" || phase === "Restarted" || phase === "Stopped";
  const ended = { completionTime: BEFORE, reason: "x", conditions: phase === "Stopped" ? RELEASED : [] };
  await createEvacuation(name, uid, spec, { phase, sourceNode: nodeEvacuation.name, ...(isOver && ended) });
}

async function turnOff(name: string): Promise<void> {
  const key = { namespace: NAMESPACE, name };
  await stage.client.patch(kubevirt.virtualMachines, key, { type: "merge", body: { spec: { runStrategy: "Halted" } } });
  await until("has turned a VM off", async () => {
    return (await stage.client.get(kubevirt.virtualMachineInstances, key)) === undefined;
  });
}

const evacuation = (name: string) => stage.client.get(evacuations, { namespace: NAMESPACE, name });
const nodeEvacuation = (name: string) => stage.client.get(nodeEvacuations, { name });

describe("after the upgrade", () => {
  test.each(EVACUATIONS)("Evacuation $name has the phase $becomes", async ({ name, becomes }) => {
    await expect
      .poll(async () => (await evacuation(name))?.status?.phase, { timeout: 60_000 * PATIENCE })
      .toBe(becomes);
  });

  test.each(NODE_EVACUATIONS)("NodeEvacuation $name has the phase $becomes", async ({ name, becomes, outcomes }) => {
    const said = async () => {
      const { phase, outcomes: all = [] } = (await nodeEvacuation(name))?.status ?? {};
      const listed = all.map(({ name: vm, outcome }) => `${vm} ${outcome}`).toSorted();
      return [phase, ...(outcomes === undefined ? [] : listed)];
    };
    await expect.poll(said, { timeout: 60_000 * PATIENCE }).toEqual([becomes, ...(outcomes ?? [])]);
  });

  test.each(["n-evacuated", "n-stopping"])(
    "the VM that was stopped for %s starts once its node is back",
    async (node) => {
      const name = `${node}-${node === "n-stopping" ? "stopping" : "stopped"}`;
      await expect.poll(async () => (await nodeEvacuation(node))?.status?.phase).toBe("Evacuated");
      await stage.client.patch(core.nodes, { name: node }, { type: "merge", body: { spec: { unschedulable: null } } });
      const phase = async () =>
        (await stage.client.get(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name }))?.status?.phase;
      await expect.poll(phase, { timeout: 60_000 * PATIENCE }).toBe("Running");
    },
  );

  test("a VM whose NodeEvacuation had ended, or does not start, stays where it is", async () => {
    for (const name of ["n-scheduled", "n-chained", "n-paused", "n-blocked", "n-refused", "n-expired", "n-withdrawn"]) {
      const key = { namespace: NAMESPACE, name: `${name}-vm` };
      expect([name, (await stage.client.get(kubevirt.virtualMachineInstances, key))?.status?.nodeName]).toEqual([
        name,
        name,
      ]);
    }
  });
});

test("a downgrade to 0.3 keeps every object and phase and accepts the writes of 0.3, and a new upgrade changes no phase", async () => {
  await stage.stopWorker();
  const seen = async () => {
    const all = [...(await stage.client.list(evacuations)).items, ...(await stage.client.list(nodeEvacuations)).items];
    return all.map(({ metadata: { name }, status }) => `${name} ${status?.phase}`).toSorted();
  };
  const before = await seen();
  expect(before.length).toBeGreaterThanOrEqual(EVACUATIONS.length + NODE_EVACUATIONS.length);
  await applyAsCommand(stage.client, kindsOf03());
  for (const { metadata } of (await stage.client.list(evacuations)).items) {
    await lifeboat().patch(
      evacuations,
      metadata,
      { type: "merge", body: { status: { message: "as 0.3 says" } } },
      STATUS,
    );
  }
  for (const { metadata } of (await stage.client.list(nodeEvacuations)).items) {
    await lifeboat().patch(
      nodeEvacuations,
      metadata,
      { type: "merge", body: { status: { lastUpdateTime: BEFORE } } },
      STATUS,
    );
  }
  expect(await seen()).toEqual(before);
  await stage.reinstall(MAINTENANCE);
  await stage.restartWorker();
  await stage.reconcile();
  expect(await seen()).toEqual(before);
});
