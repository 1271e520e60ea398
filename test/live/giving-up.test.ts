/** Evacuations that do not succeed: back-off, giving up, what keeps a migration from beginning. */
import { describe, expect, test } from "vitest";
import { createNode, nodes, type Resource, virtualMachineInstances } from "../../infra/sandbox/index.ts";
import { evacuations } from "../../infra/lab/stage/evacuations.ts";
import { createFastClock } from "./fast-clock.ts";
import { ALONE, NAMESPACE, type Stage } from "./stage.ts";
import { useStages } from "./stages.ts";
import { createVm, evict, launcherOf } from "./vm.ts";

const startStage = useStages();
let stage: Stage;

/** KubeVirt waits for 20 s after a failure. */
const CLOCK = { tags: ["clock"] };
const ONCE = { maxAttempts: 1, backoffSeconds: 300, maxBackoffSeconds: 600 };

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

  test(
    "beside KubeVirt's webhook, which marks again: the answer says so, and the new one inherits",
    CLOCK,
    async () => {
      // A tick that finds the new mark before the review does would begin one that nobody has asked for.
      const options = { clock: createFastClock(50), ticking: false };
      stage = await startStage.simulated({ ...options, configuration: { evacuation: ONCE } });
      stage.sandbox.migrations.configure(failing);
      const vm = await createVm(stage, "again");
      await vm.evict();
      const phases = async () => {
        await stage.tick();
        return await vm.phases();
      };
      await expect.poll(phases).toEqual(["Abandoned"]);
      // Both webhooks refuse, and the refusal that is shown is that of the faster one; warnings are shown of both.
      const answers: string[] = [];
      const retry = async () => {
        answers.push((await vm.evict()).warnings);
        return (await vm.evacuations())[1];
      };
      const inherited = { attempts: 1, notBefore: expect.any(String) };
      await expect.poll(retry).toMatchObject({ spec: { requestedBy: "kubernetes-admin", inherited } });
      expect(answers.join("\n")).toContain(String.raw`the last evacuation of VMI \"vms/again\" was abandoned`);
    },
  );

  test("that fails once is tried again, and the VM moves", CLOCK, async () => {
    stage = await startStage.simulated({ clock: createFastClock(50) });
    stage.sandbox.migrations.configure({ outcome: ({ attempt }) => (attempt === 1 ? "Failed" : "Succeeded") });
    const vm = await createVm(stage, "second");
    await vm.evictQueued();
    await vm.untilMoved();
    const phases = (await vm.migrations()).map(({ status }) => status?.phase);
    expect(new Set(phases)).toEqual(new Set(["Failed", "Succeeded"]));
    await expect.poll(vm.phases).toEqual(["Moved"]);
  });
});

const quotas: Resource = { apiVersion: "v1", kind: "ResourceQuota", plural: "resourcequotas", namespaced: true };

test("a quota fails an attempt in KubeVirt's words", async () => {
  stage = await startStage({ configuration: { evacuation: { backoffSeconds: 300, maxBackoffSeconds: 600 } } });
  const namespace = "full";
  await stage.createVm({ name: "full", evictionStrategy: "LiveMigrate", namespace });
  const onePod = { metadata: { name: "few", namespace }, spec: { hard: { pods: "1" } } };
  await stage.client.create(quotas, onePod);
  expect(await evict(stage.client, await launcherOf(stage.client, "full", namespace))).toMatchObject({ code: 429 });
  const status = async () => (await stage.client.list(evacuations, namespace)).items[0]?.status;
  const message = "a resource quota refuses the target pod (migrationRejectedByResourceQuota)";
  await expect.poll(status).toMatchObject({ phase: "BackingOff", attempts: 1, message });
});

test("what waits in KubeVirt's queue for longer than stuckSeconds fails no attempt", async () => {
  stage = await startStage();
  stage.sandbox.migrations.configure({ seconds: 600 });
  const names = ["begun-1", "begun-2", "queued-1", "queued-2"];
  const vms = await Promise.all(names.map((name) => createVm(stage, name, { node: "node01" })));
  const migrations = async () => (await Promise.all(vms.map((vm) => vm.migrations()))).flat();
  const phases = async () => (await migrations()).map(({ status }) => status?.phase);
  // As many as may leave one node.
  for (const vm of vms.slice(0, 2)) await vm.evict();
  await expect.poll(phases).toEqual(["Running", "Running"]);
  for (const vm of vms.slice(2)) await vm.evict();
  await expect.poll(phases).toEqual(["Running", "Running", "Pending", "Pending"]);
  await stage.configure({ evacuation: { stuckSeconds: 1 } });
  const youngest = async () => {
    const created = (await migrations()).map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ""));
    return Date.now() - Math.max(...created);
  };
  await expect.poll(youngest).toBeGreaterThan(2_000);
  await stage.reconcile();
  const { items } = await stage.client.list(evacuations, NAMESPACE);
  const all = names.map(() => ["Migrating", 0]);
  expect(items.map(({ status }) => [status?.phase, status?.attempts])).toEqual(all);
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
