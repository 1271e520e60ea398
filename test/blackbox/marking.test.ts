/**
 * Where no impersonation is granted, KubeVirt's own eviction webhook does the marking.
 */
import { afterEach, expect, test } from "vitest";
import { pods } from "../../infra/sandbox/actors/resources.ts";
import { ROLES } from "../functions/support/roles.ts";
import {
  causesOf,
  ALONE,
  evacuationsOf,
  evict,
  hasSettledAwayFrom,
  launcherOf,
  type Stage,
  type StageOptions,
  startStage,
  storyOf,
  untilVmi,
} from "./stage.ts";

let stage: Stage;

afterEach(() => stage.stop());

async function start(marking: "Evict" | "Auto" | "Impersonate", options: StageOptions = {}): Promise<void> {
  stage = await startStage({
    ...options,
    optional: ["optional/guard.yaml", "optional/marking-by-eviction.yaml"],
    configuration: {
      marking,
      featureGates: { PreemptionEvictionLiveMigration: true },
    },
  });
  await stage.client.delete(ROLES, { namespace: "kubevirt", name: "lifeboat-impersonation" });
}

async function createVm(name: string) {
  const vmi = await stage.createVm({ name, evictionStrategy: "LiveMigrate" });
  await stage.reconcile();
  const pod = await launcherOf(stage.client, name);
  return { pod, node: vmi.status?.nodeName ?? "" };
}

test.each(["Evict", "Auto"] as const)(
  "%s: an eviction is marked by KubeVirt, recorded by us, and the VM moves",
  async (marking) => {
    await start(marking);
    const { pod, node } = await createVm("evicted");
    const { code, message } = await evict(stage.client, pod);
    expect(code).toBe(429);
    expect(message).toContain('Eviction triggered evacuation of VMI "vms/evicted"');
    await untilVmi(stage.client, "evicted", "moved", hasSettledAwayFrom(node));
    await expect.poll(() => causesOf(stage.client, "evicted")).toEqual(["ApiEviction"]);
  },
);

test("another cause asks for an eviction that cannot succeed, and KubeVirt's webhook marks", async () => {
  await start("Evict");
  const { pod, node } = await createVm("preempted");
  const condition = { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler" };
  const body = { status: { conditions: [{ ...condition, lastTransitionTime: new Date().toISOString() }] } };
  await stage.client.patch(pods, pod.metadata, { type: "strategic", body }, { subresource: "status" });
  const scheduler = stage.client.as("system:kube-scheduler", ["system:authenticated"]);
  await scheduler.delete(pods, pod.metadata);
  const moved = await untilVmi(stage.client, "preempted", "moved", hasSettledAwayFrom(node));
  expect(moved.status?.phase).toBe("Running");
  await expect.poll(() => causesOf(stage.client, "preempted")).toEqual(["Preemption"]);
});

test("Evict without KubeVirt's webhook: 429, and the Evacuation goes on", async () => {
  await start("Evict", ALONE);
  const { pod } = await createVm("unmarked");
  const { code, message } = await evict(stage.client, pod);
  expect(code).toBe(429);
  expect(message).toContain("its VMI keeps changing, or KubeVirt does not mark it");
  expect(await evacuationsOf(stage.client, "unmarked")).toMatchObject([{ spec: { requestedBy: "kubernetes-admin" } }]);
});

test("Impersonate without the permission: 429 that says so, and /readyz names it", async () => {
  await start("Impersonate", ALONE);
  const { pod } = await createVm("forbidden");
  const { code, message } = await evict(stage.client, pod);
  expect(code).toBe(429);
  expect(message).toContain("403 Forbidden: the service account lacks a permission");
  expect(await storyOf(stage.client, "forbidden")).toEqual([]);
  const { code: ready, body } = await stage.ask("GET", "/readyz");
  expect(ready).toBe(503);
  expect(body["checks"]).toContainEqual(expect.objectContaining({ name: "marking", ok: false }));
});
