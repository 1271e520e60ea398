/**
 * Tests the shield, which delays the shutdown of a guest after Lifeboat's webhook has allowed the deletion of its pod.
 * With the shield, a VM moves after SIGTERM. Without the shield, the guest shuts down.
 */
import { GUARD_FILES } from "../../infra/lab/stage/apply.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { events, type Pod } from "../../infra/sandbox/index.ts";
import { ALONE, closeQueue, NAMESPACE, openQueue, type Stage, startStage } from "./stage.ts";
import { createVm, setDisrupted, type Vm } from "./vm.ts";

const SCHEDULER = "system:kube-scheduler";
/**
 * The tests set a DisruptionTarget condition that is twice as old as the deadline. The condition must be younger than
 * two minutes, because kube-controller-manager resets an older condition.
 */
const DEADLINE_SECONDS = 30;

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({
    ...ALONE,
    relay: true,
    featureGates: ["Plugins"],
    optional: [...GUARD_FILES, "optional/shield/shield.yaml"],
    configuration: {
      featureGates: { PreemptionEvictionLiveMigration: true, NodePressureEvictionLiveMigration: true },
      guard: { deadlineSeconds: { Preemption: DEADLINE_SECONDS } },
      shield: { maxPodGracePeriodSeconds: 600 },
      evacuation: { maxAttempts: 1, backoffSeconds: 300, maxBackoffSeconds: 600, adoptSeconds: 0 },
    },
  });
});
afterAll(() => stage.stop());

const createVictim = (name: string) => createVm(stage, name, { terminationGracePeriodSeconds: 300 });

/**
 * Deletes the pod as the scheduler does after Lifeboat's deadline. Lifeboat allows the deletion, and the launcher gets
 * SIGTERM.
 */
async function preemptAtLast(pod: Pod): Promise<void> {
  const longAgo = new Date(Date.now() - 2 * DEADLINE_SECONDS * 1000);
  await setDisrupted(stage.client, pod, "PreemptionByScheduler", longAgo);
  const scheduler = stage.client.as(SCHEDULER, ["system:authenticated"]);
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${pod.metadata.name}`;
  // Lifeboat can delete the pod itself first. It then refuses the scheduler's request, and the scheduler retries.
  expect([200, 429]).toContain((await scheduler.raw({ method: "DELETE", path })).code);
}

async function beginToMove(vm: Vm): Promise<void> {
  await vm.evict();
  await expect.poll(vm.phases).toEqual(["Migrating"]);
}

const refusals = async ({ uid }: Vm) => {
  const fieldSelector = `involvedObject.uid=${uid},reason=SyncFailed`;
  return (await stage.client.list(events, NAMESPACE, { fieldSelector })).items.length;
};
/** Omits the preemption's Evacuation. It has the phase Duplicate, because the eviction already has an Evacuation. */
const ends = async (vm: Vm) => (await vm.phases()).filter((phase) => phase !== "Duplicate");
const labelOf = async (vm: Vm) => (await vm.vmi()).metadata.labels?.["lifeboat.dev/shield"];
const phaseOf = async (vm: Vm) => (await vm.vmi()).status?.phase;

test("a preempted VM whose migration is still queued at the guard's deadline waits after SIGTERM and moves", async () => {
  const vm = await createVictim("queued");
  await closeQueue(stage.client);
  await beginToMove(vm);
  await preemptAtLast(await vm.pod());
  await expect.poll(() => refusals(vm)).toBeGreaterThan(0);
  await openQueue(stage.client);
  expect((await vm.untilMoved()).status?.phase).toBe("Running");
  // Compares sets, because a reconcile with outdated facts can create a second Evacuation, which also reaches Moved.
  await expect.poll(async () => new Set(await ends(vm))).toEqual(new Set(["Moved"]));
  await expect.poll(() => labelOf(vm)).toBeUndefined();
});

test("when an Evacuation is abandoned after SIGTERM, the shield is removed, and the VM shuts down gracefully", async () => {
  stage.sandbox.migrations.configure({ seconds: 1.5, outcome: () => "Failed" });
  const vm = await createVictim("abandoned");
  await beginToMove(vm);
  await vm.until("moving", ({ status }) => status?.migrationState?.startTimestamp !== undefined);
  await preemptAtLast(await vm.pod());
  expect(await labelOf(vm)).toBeDefined();
  await expect.poll(() => ends(vm)).toEqual(["Abandoned"]);
  expect((await vm.phases()).length).toBeLessThanOrEqual(2);
  // The phase Failed would mean that the launcher has destroyed the guest.
  await expect.poll(() => phaseOf(vm)).toBe("Succeeded");
});
