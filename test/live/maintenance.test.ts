/** Tests that Lifeboat evacuates a node at its scheduled time, unless somebody prevents it. */
import { expect, test } from "vitest";
import {
  core,
  createNode,
  createPod,
  createVirtualMachine,
  DEPLOYED,
  KUBEVIRT,
  kubeVirts,
} from "../../infra/sandbox/index.ts";
import { MAINTENANCE, PINNED, useMaintenance, vm } from "./maintenance-stage.ts";
import { evacuationsOf, migrationsOf } from "./vm.ts";

const on = useMaintenance([]);

async function rollOut(targetDeploymentID: string): Promise<void> {
  const body = { status: { targetDeploymentID } };
  await on.stage.client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body }, { subresource: "status" });
}

test("a NodeEvacuation waits for the component maintenance, evacuates the node, and returns the VM after the uncordon", async () => {
  await createNode(on.stage.client, "full");
  await createVirtualMachine(on.stage.client, "Always", vm("returns", "full"));
  await createPod(on.stage.client, { name: "daemon", node: "full", tolerations: [{ operator: "Exists" }] });
  const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "uid-of-d", controller: true };
  const body = { metadata: { ownerReferences: [owner] } };
  await on.stage.client.patch(core.pods, { namespace: "default", name: "daemon" }, { type: "merge", body });
  await on.empty("full", { afterwards: { returnVMs: "WhenUncordoned" } });
  const lacking = await on.until("full", "Scheduled", ({ status }) => status?.message?.includes("lacks") === true);
  expect(lacking.status?.message).toContain("lifeboat install --with maintenance");
  await on.stage.reinstall(MAINTENANCE);
  const { status } = await on.until("full", "Evacuated");
  expect(status).toMatchObject({
    verdict: "WillSucceed",
    virtualMachines: { total: 1, left: 0, moving: 0, blocked: 0 },
    blockers: [],
  });
  expect(status?.conditions?.map(({ type, status: is }) => `${type} ${is}`)).toEqual([
    "DrainInProgress False",
    "Drained True",
  ]);
  // The completed launcher pod has also been deleted.
  const launchers = { fieldSelector: "spec.nodeName=full", labelSelector: "kubevirt.io=virt-launcher" };
  expect((await on.stage.client.list(core.pods, undefined, launchers)).items).toEqual([]);
  // After the evacuation, Lifeboat removes its annotation and leaves the cordon, so that a person decides about it.
  const node = await on.stage.client.get(core.nodes, { name: "full" });
  expect(node?.spec?.unschedulable).toBe(true);
  expect(node?.metadata.annotations).not.toHaveProperty("lifeboat.dev/cordoned-by");
  expect(await on.nodeOf("returns")).not.toBe("full");
  expect(await evacuationsOf(on.stage.client, "returns")).toMatchObject([
    { spec: { cause: "NodeEvacuation", requestedBy: "NodeEvacuation full" }, status: { phase: "Moved" } },
  ]);
  expect(await migrationsOf(on.stage.client, "returns")).toHaveLength(1);
  await on.setCordon("full", false);
  await on.until(
    "full",
    "Evacuated",
    (one) => one.status?.conditions?.some(({ type }) => type === "Returned") === true,
  );
  await expect.poll(() => on.nodeOf("returns"), { timeout: 30_000 }).toBe("full");
  await on.setCordon("full", true);
});

test("when another party uncordons the node, the NodeEvacuation pauses, and a new cordon resumes the NodeEvacuation", async () => {
  const node = "uncordoned";
  await createNode(on.stage.client, node);
  await on.stage.createVm(vm("stays", node, PINNED));
  await on.empty(node);
  await on.until(node, "Blocked");
  await on.setCordon(node, false);
  const { status } = await on.until(node, "Paused");
  expect(status?.message).toContain("kubectl cordon uncordoned");
  await on.setCordon(node, true);
  await on.until(node, "Blocked");
  await on.change(node, { intent: "Withdrawn" });
  await on.until(node, "Withdrawn");
  // The cordon remains because a person has set it.
  expect(await on.isCordoned(node)).toBe(true);
});

test("a scheduled NodeEvacuation reports its forecast, waits for a rollout, and is refused by startIf", async () => {
  const node = "scheduled";
  await createNode(on.stage.client, node);
  await on.stage.createVm(vm("pinned", node, PINNED));
  await on.empty(node, {
    startIf: "WillSucceed",
    schedule: { notBefore: new Date(Date.now() + 3_600_000).toISOString() },
  });
  await on.until(node, "Scheduled", ({ status }) => status?.verdict === "WillBlock");
  expect(await on.isCordoned(node)).toBe(false);
  await rollOut("another");
  await on.change(node, { schedule: { notBefore: new Date(Date.now() - 1000).toISOString() } });
  await on.until(
    node,
    "Scheduled",
    ({ status }) => status?.message?.startsWith("waits until KubeVirt's rollout has ended") === true,
  );
  expect(await on.isCordoned(node)).toBe(false);
  await rollOut(DEPLOYED.observedDeploymentID);
  const { status } = await on.until(node, "Refused");
  expect(status?.message).toContain("startIf is WillSucceed, and the verdict is WillBlock");
  // Polls, because a concurrent reconcile can cordon the node for a moment.
  await expect.poll(() => on.isCordoned(node)).toBe(false);
});
