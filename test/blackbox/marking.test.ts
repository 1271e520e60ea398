/** Where no impersonation is granted, KubeVirt's own eviction webhook does the marking. */
import { afterEach, expect, test } from "vitest";
import { pods } from "../../infra/sandbox/actors/resources.ts";
import { ROLES } from "../functions/support/roles.ts";
import { ALONE, type Stage, type StageOptions, startStage } from "./stage.ts";
import { createVm } from "./vm.ts";

let stage: Stage;
afterEach(() => stage.stop());

async function start(marking: "Evict" | "Auto" | "Impersonate", options: StageOptions = {}) {
  stage = await startStage({
    ...options,
    optional: ["optional/guard/guard.yaml", "optional/marking-by-eviction/marking-by-eviction.yaml"],
    configuration: { marking, featureGates: { PreemptionEvictionLiveMigration: true } },
  });
  await stage.client.delete(ROLES, { namespace: "kubevirt", name: "lifeboat-impersonation" });
  return await createVm(stage, "vm");
}

test.each(["Evict", "Auto"] as const)(
  "%s: KubeVirt marks an evicted VM, an Evacuation follows it, and it moves",
  async (marking) => {
    const vm = await start(marking);
    const { code, message } = await vm.evict();
    expect(code).toBe(429);
    expect(message).toContain('Eviction triggered evacuation of VMI "vms/vm"');
    await vm.untilMoved();
    await expect.poll(vm.evacuations).toMatchObject([{ spec: { cause: "ApiEviction" }, status: { phase: "Moved" } }]);
    expect((await vm.evacuations()).length).toBe(1);
  },
);

test("another cause asks for an eviction that cannot succeed, and KubeVirt's webhook marks", async () => {
  const vm = await start("Evict");
  const { metadata } = await vm.pod();
  const condition = { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler" };
  const body = { status: { conditions: [{ ...condition, lastTransitionTime: new Date().toISOString() }] } };
  await stage.client.patch(pods, metadata, { type: "strategic", body }, { subresource: "status" });
  const scheduler = stage.client.as("system:kube-scheduler", ["system:authenticated"]);
  await expect(scheduler.delete(pods, metadata)).rejects.toThrow("waits until VMI");
  expect((await vm.untilMoved()).status?.phase).toBe("Running");
  await expect.poll(vm.evacuations).toMatchObject([{ spec: { cause: "Preemption" }, status: { phase: "Moved" } }]);
});

test("Evict without KubeVirt's webhook: 429, and the Evacuation goes on", async () => {
  const vm = await start("Evict", ALONE);
  const { code, message } = await vm.evict();
  expect(code).toBe(429);
  expect(message).toContain("its VMI keeps changing, or KubeVirt does not mark it");
  expect(await vm.evacuations()).toMatchObject([{ spec: { requestedBy: "kubernetes-admin" } }]);
});

test("Impersonate without the permission: 429 that says so", async () => {
  const vm = await start("Impersonate", ALONE);
  const { code, message } = await vm.evict();
  expect(code).toBe(429);
  expect(message).toContain("403 Forbidden: the service account lacks a permission");
  expect(await vm.story()).toEqual([]);
});
