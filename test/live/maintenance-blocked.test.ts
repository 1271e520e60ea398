/** Tests NodeEvacuations with VMs that cannot leave the node, and paused NodeEvacuations. */
import { expect, test } from "vitest";
import { nodeEvacuations } from "../../infra/lab/stage/evacuations.ts";
import { createNode, createVirtualMachine, kubevirt } from "../../infra/sandbox/index.ts";
import { PINNED, useMaintenance, vm } from "./maintenance-stage.ts";
import { NAMESPACE } from "./stage.ts";
import { evacuationsOf, getVmi } from "./vm.ts";

const on = useMaintenance();

async function letAMinutePass(name: string): Promise<void> {
  const found = await on.stage.client.get(nodeEvacuations, { name });
  const since = new Date(Date.now() - 61_000).toISOString();
  const blockers = (found?.status?.blockers ?? []).map((blocker) => ({ ...blocker, since }));
  const body = { status: { blockers } };
  await on.stage.client.patch(nodeEvacuations, { name }, { type: "merge", body }, { subresource: "status" });
}

test("a VM that can neither migrate nor restart blocks the drain and is named; with forceShutdowns the other VMs are restarted or stopped", async () => {
  const node = "blocked";
  await createNode(on.stage.client, node);
  await createVirtualMachine(on.stage.client, "Always", vm("moves", node));
  await createVirtualMachine(on.stage.client, "Always", vm("ledger", node, PINNED));
  await createVirtualMachine(on.stage.client, "Manual", vm("desk", node, PINNED));
  await createVirtualMachine(on.stage.client, "RerunOnFailure", vm("batch", node, PINNED));
  await on.stage.createVm(vm("bare", node, PINNED));
  const uids = new Map<string, string>();
  for (const name of ["ledger", "desk", "batch"]) uids.set(name, (await getVmi(on.stage.client, name)).metadata.uid);
  const body = { metadata: { annotations: { "lifeboat.dev/when-blocked": "ShutDown" } } };
  await on.stage.client.patch(
    kubevirt.virtualMachines,
    { namespace: NAMESPACE, name: "batch" },
    { type: "merge", body },
  );
  await on.empty(node, { virtualMachines: { whenBlocked: "Restart" } });
  await on.until(node, "Evacuating", ({ status }) => status?.blockers?.length === 4);
  expect((await getVmi(on.stage.client, "ledger")).metadata.uid).toBe(uids.get("ledger"));
  await letAMinutePass(node);
  // The VMI without a VirtualMachine blocks the drain, so Lifeboat stops no other guest.
  await on.until(
    node,
    "Blocked",
    ({ status }) => status?.message?.startsWith("VMs or pods that cannot leave: 1; the first: vms/bare") === true,
  );
  for (const [name, uid] of uids) expect((await getVmi(on.stage.client, name)).metadata.uid).toBe(uid);
  await on.change(node, { forceShutdowns: true });
  const { status } = await on.until(node, "Blocked", (one) => one.status?.virtualMachines?.["left"] === 1);
  expect(status?.blockers).toMatchObject([{ name: "bare", reason: "NotMigratable" }]);
  expect(status?.virtualMachines).toMatchObject({ total: 5, left: 1, blocked: 1, restarted: 2, stopped: 1 });
  for (const name of ["ledger", "desk"]) {
    const vmi = await getVmi(on.stage.client, name);
    expect(vmi.status?.phase).toBe("Running");
    expect(vmi.status?.nodeName).not.toBe(node);
    expect(vmi.metadata.uid).not.toBe(uids.get(name));
    expect(await evacuationsOf(on.stage.client, name)).toMatchObject([
      { spec: { by: "Restart" }, status: { phase: "Restarted" } },
    ]);
  }
  expect(
    await on.stage.client.get(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name: "batch" }),
  ).toBeUndefined();
  expect(await evacuationsOf(on.stage.client, "batch")).toMatchObject([
    { spec: { by: "ShutDown" }, status: { phase: "Stopped" } },
  ]);
  await on.stage.client.delete(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name: "bare" });
  await on.until(node, "Evacuated");
  await on.setCordon(node, false);
  await expect
    .poll(() =>
      getVmi(on.stage.client, "batch").then(
        ({ status: is }) => is?.phase,
        () => "none",
      ),
    )
    .toBe("Running");
});

test("a paused NodeEvacuation starts no migration; a withdrawn NodeEvacuation leaves the VMs and uncordons the node", async () => {
  const node = "paused";
  await createNode(on.stage.client, node);
  on.stage.sandbox.migrations.configure({ seconds: 0.5 });
  const names = Array.from({ length: 8 }, (_, index) => `paused-${index}`);
  await Promise.all(names.map((name) => on.stage.createVm(vm(name, node))));
  await on.empty(node, { virtualMachines: { concurrency: 1 } });
  // Lifeboat writes the status at most every two seconds, so some counts never appear.
  await on.until(
    node,
    "Evacuating",
    ({ status }) => (status?.virtualMachines?.["left"] ?? names.length) < names.length,
  );
  await on.change(node, { progress: "Paused" });
  const { status } = await on.until(node, "Paused", (one) => one.status?.virtualMachines?.["moving"] === 0);
  const left = status?.virtualMachines?.["left"] ?? 0;
  expect(left).toBeGreaterThan(0);
  for (let i = 0; i < 3; i++) await on.stage.tick();
  expect((await on.until(node, "Paused")).status?.virtualMachines).toMatchObject({ left, moving: 0 });
  await on.change(node, { intent: "Withdrawn" });
  await on.until(node, "Withdrawn");
  expect(await on.isCordoned(node)).toBe(false);
  const nodes = await Promise.all(names.map(on.nodeOf));
  expect(nodes.filter((one) => one === node)).toHaveLength(left);
  on.stage.sandbox.migrations.configure({ seconds: 0.1 });
});
