/**
 * Evacuations that do not succeed: back-off, giving up, what keeps a migration from beginning.
 */
import { afterEach, describe, expect, test } from "vitest";
import type { Resource } from "../../infra/sandbox/actors/resources.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { evacuations } from "../../infra/tools/evacuations.ts";
import { createFastClock } from "./fast-clock.ts";
import {
  ALONE,
  evacuationsOf,
  evict,
  getVmi,
  hasSettledAwayFrom,
  launcherOf,
  migrationsOf,
  NAMESPACE,
  phasesOf,
  type Stage,
  type StageOptions,
  startStage,
  storyOf,
  untilVmi,
} from "./stage.ts";

let stage: Stage;

afterEach(() => stage.stop());

const eventually = { timeout: 20_000 };
const LONG = { maxAttempts: 1, backoffSeconds: 300, maxBackoffSeconds: 600 };

/** A VM with its budget. */
async function start(name: string, options: StageOptions = {}): Promise<string> {
  stage = await startStage(options);
  const { status } = await stage.createVm({ name, evictionStrategy: "LiveMigrate" });
  await stage.reconcile();
  return status?.nodeName ?? "";
}

const evictVm = async (name: string) => await evict(stage.client, await launcherOf(stage.client, name));
const untilPhases = (name: string, phases: readonly string[]) =>
  expect.poll(() => phasesOf(stage.client, name), eventually).toEqual(phases);
const isUnmarked = ({ metadata, status }: kubevirt.VirtualMachineInstance) =>
  status?.evacuationNodeName === undefined && metadata.labels?.["lifeboat.dev/evacuation"] === undefined;

describe("a migration that always fails", () => {
  const failing = { outcome: () => "Failed" as const };

  test("is backed off, abandoned after maxAttempts, said so, and the VM runs on unmarked", async () => {
    const evacuation = { maxAttempts: 3, backoffSeconds: 1.1, maxBackoffSeconds: 600, adoptSeconds: 0 };
    await start("stuck", { ...ALONE, configuration: { evacuation } });
    stage.sandbox.migrations.configure(failing);
    await evictVm("stuck");
    await untilPhases("stuck", ["Abandoned"]);
    const [ended] = await evacuationsOf(stage.client, "stuck");
    expect(ended?.status).toMatchObject({ attempts: 3, message: expect.stringContaining("Live migration failed") });
    expect(await migrationsOf(stage.client, "stuck")).toHaveLength(3);
    expect((await untilVmi(stage.client, "stuck", "unmarked", isUnmarked)).status?.phase).toBe("Running");
    const warnings = async () => (await storyOf(stage.client, "stuck")).filter((told) => told.startsWith("Warning"));
    const failed = "Warning MigrationFailed";
    await expect.poll(warnings, eventually).toEqual([failed, failed, failed, "Warning EvacuationAbandoned"]);
  });

  test("during the back-off of an abandoned one an eviction is refused in words, and starts nothing", async () => {
    await start("resting", { ...ALONE, configuration: { evacuation: { ...LONG, adoptSeconds: 0 } } });
    stage.sandbox.migrations.configure(failing);
    await evictVm("resting");
    await untilPhases("resting", ["Abandoned"]);
    for (let retry = 0; retry < 3; retry++) {
      const { code, message } = await evictVm("resting");
      expect(code).toBe(429);
      expect(message).toMatch(
        /the last evacuation of VMI "vms\/resting" was abandoned; Lifeboat begins no new one for \d+ s/,
      );
    }
    await stage.reconcile();
    expect((await getVmi(stage.client, "resting")).status?.evacuationNodeName).toBeUndefined();
    expect(await migrationsOf(stage.client, "resting")).toHaveLength(1);
  });

  test("beside KubeVirt's webhook, which marks again: the answer says so, and the new one inherits", async () => {
    await start("again", { clock: createFastClock(50), configuration: { evacuation: LONG } });
    stage.sandbox.migrations.configure(failing);
    await evictVm("again");
    await untilPhases("again", ["Abandoned"]);
    const answers: string[] = [];
    await expect
      .poll(async () => {
        answers.push((await evictVm("again")).message);
        return (await evacuationsOf(stage.client, "again"))[1];
      }, eventually)
      .toMatchObject({
        spec: {
          requestedBy: "kubernetes-admin",
          inherited: { attempts: 1, notBefore: expect.any(String) },
        },
      });
    expect(answers.join("\n")).toMatch(/KubeVirt has marked the VM again|KubeVirt's own webhook may/);
  });

  test("that fails once is tried again, and the VM moves", async () => {
    const from = await start("second", { clock: createFastClock(50) });
    stage.sandbox.migrations.configure({ outcome: ({ attempt }) => (attempt === 1 ? "Failed" : "Succeeded") });
    await evictVm("second");
    await untilVmi(stage.client, "second", "moved", hasSettledAwayFrom(from));
    const phases = (await migrationsOf(stage.client, "second")).map((m) => m.status?.phase);
    expect(new Set(phases)).toEqual(new Set(["Failed", "Succeeded"]));
    await untilPhases("second", ["Moved"]);
  });
});

const quotas: Resource = { apiVersion: "v1", kind: "ResourceQuota", plural: "resourcequotas", namespaced: true };

test("a quota fails an attempt in KubeVirt's words; what waits in KubeVirt's queue fails none", async () => {
  const evacuation = { backoffSeconds: 300, maxBackoffSeconds: 600, stuckSeconds: 2 };
  stage = await startStage({ configuration: { evacuation } });
  stage.sandbox.migrations.configure({ seconds: 600 });
  const names = Array.from({ length: 40 }, (_, i) => `queued-${i}`);
  const vm = { evictionStrategy: "LiveMigrate", node: "node01" };
  await Promise.all(names.map((name) => stage.createVm({ name, ...vm })));
  await stage.createVm({ name: "full", ...vm, namespace: "full" });
  const hard = { metadata: { name: "few", namespace: "full" }, spec: { hard: { pods: "1" } } };
  await stage.client.create(quotas, hard);
  const launcher = await launcherOf(stage.client, "full", "full");
  // Before the queue is full: KubeVirt asks for a target pod only then.
  expect(await evict(stage.client, launcher)).toMatchObject({ code: 429 });
  await expect
    .poll(async () => (await stage.client.list(evacuations, "full")).items[0]?.status, eventually)
    .toMatchObject({
      phase: "BackingOff",
      attempts: 1,
      message: "a resource quota refuses the target pod (migrationRejectedByResourceQuota)",
    });
  await Promise.all(names.map((name) => evictVm(name)));
  await expect
    .poll(async () => (await stage.client.list(kubevirt.migrations, NAMESPACE)).items.length, eventually)
    .toBe(40);
  const queued = async () => {
    const { items } = await stage.client.list(evacuations, NAMESPACE);
    return items.map(({ status }) => [status?.phase, status?.attempts]);
  };
  const all = names.map(() => ["Migrating", 0]);
  await expect.poll(queued, eventually).toEqual(all);
  await new Promise((resolve) => setTimeout(resolve, 3000));
  await stage.reconcile();
  expect(await queued()).toEqual(all);
});
