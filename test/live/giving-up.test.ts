/** Evacuations that do not succeed: back-off, giving up, what keeps a migration from beginning. */
import { describe, expect, test } from "vitest";
import { createNode, nodes, virtualMachineInstances } from "../../infra/sandbox/index.ts";
import { createFastClock } from "./fast-clock.ts";
import { ALONE, type Stage } from "./stage.ts";
import { useStages } from "./stages.ts";
import { createVm } from "./vm.ts";

const startStage = useStages();
let stage: Stage;

describe("a migration that always fails", () => {
  const failing = { outcome: () => "Failed" as const };

  test("is backed off, abandoned after maxAttempts, said so, and the VM runs on unmarked", async () => {
    const evacuation = { maxAttempts: 3, backoffSeconds: 1.1, maxBackoffSeconds: 600, adoptSeconds: 0 };
    stage = await startStage({ ...ALONE, configuration: { evacuation } });
    stage.sandbox.migrations.configure(failing);
    const vm = await createVm(stage, "stuck");
    await vm.evict();
    await expect.poll(vm.phases).toEqual(["Abandoned"]);
    const [ended] = await vm.evacuations();
    expect(ended?.status).toMatchObject({ attempts: 3, message: expect.stringContaining("Live migration failed") });
    expect(await vm.migrations()).toHaveLength(3);
    expect((await vm.untilUnmarked()).status?.phase).toBe("Running");
    const warnings = async () => (await vm.story()).filter((told) => told.startsWith("Warning"));
    const failed = "Warning MigrationFailed";
    await expect.poll(warnings).toEqual([failed, failed, failed, "Warning EvacuationAbandoned"]);
  });
});

test("a target pod without room fails no attempt while an autoscaler may still bring a node, and the VM moves to that", async () => {
  stage = await startStage({ nodes: ["node01"] });
  const vm = await createVm(stage, "roomless");
  await stage.client.patch(nodes, { name: "node01" }, { type: "merge", body: { spec: { unschedulable: true } } });
  const message = expect.stringContaining("cannot be scheduled: 0/1 nodes are available");
  const status = async () => {
    await vm.evict();
    return (await vm.evacuations())[0]?.status;
  };
  await expect.poll(status).toMatchObject({ phase: "Migrating", reason: "NoRoom", attempts: 0, message });
  await createNode(stage.client, "node02");
  await vm.untilMoved();
  await stage.reconcile();
  expect((await vm.evacuations()).map((one) => one.status)).toMatchObject([{ phase: "Moved", attempts: 0 }]);
  expect(await vm.migrations()).toHaveLength(1);
});

test("the last of three attempts has the urgent policy", { tags: ["backoff"] }, async () => {
  const evacuation = { maxAttempts: 3, backoffSeconds: 0.2, maxBackoffSeconds: 60 };
  const simulated = await startStage.simulated({
    clock: createFastClock(30),
    optional: ["optional/migration-policy/migration-policy.yaml"],
    configuration: { evacuation },
  });
  stage = simulated;
  simulated.sandbox.migrations.configure({ outcome: ({ attempt }) => (attempt < 3 ? "Failed" : "Succeeded") });
  const policies = new Map<string, string>();
  const enough = new AbortController();
  const watching = (async () => {
    for await (const { object } of stage.client.watch(virtualMachineInstances, {}, enough.signal)) {
      const { migrationUid, migrationPolicyName = "none" } = object.status?.migrationState ?? {};
      if (migrationUid !== undefined) policies.set(migrationUid, migrationPolicyName);
    }
  })();
  watching.catch(() => undefined);
  const vm = await createVm(stage, "busy");
  const phases = async () => {
    if ((await vm.vmi()).status?.nodeName === vm.node) await vm.evict();
    return await vm.phases();
  };
  await expect.poll(phases, { timeout: 60_000 }).toEqual(["Moved"]);
  expect((await vm.evacuations())[0]?.status).toMatchObject({ attempts: 2 });
  await expect.poll(() => [...policies.values()]).toEqual(["none", "none", "lifeboat-urgent"]);
  enough.abort();
});
