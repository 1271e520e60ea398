/**
 * Evacuations that do not succeed: back-off, giving up, cancelling; and the clock as the only driver.
 */
import { afterEach, expect, test } from "vitest";
import { nodes, podDisruptionBudgets } from "../../infra/sandbox/actors/resources.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { createFastClock } from "./fast-clock.ts";
import {
  evict,
  getVmi,
  hasSettledAwayFrom,
  launcherOf,
  migrationsOf,
  recordOf,
  type Stage,
  startStage,
  storyOf,
  untilVmi,
} from "./stage.ts";

let stage: Stage;

afterEach(() => stage.stop());

async function evictVm(name: string) {
  return await evict(stage.client, await launcherOf(stage.client, name));
}

test("a migration that always fails: backed off, abandoned after maxAttempts, said so, not begun again at once", async () => {
  const evacuation = { maxAttempts: 3, backoffSeconds: 0.3, maxBackoffSeconds: 600, adoptSeconds: 0 };
  stage = await startStage({
    clock: createFastClock(50),
    configuration: { evacuation },
  });
  stage.sandbox.migrations.configure({ outcome: () => "Failed" });
  await stage.createVm({ name: "stuck", evictionStrategy: "LiveMigrate" });
  await stage.reconcile();
  await evictVm("stuck");
  const abandoned = await untilVmi(stage.client, "stuck", "abandoned", (vmi) => {
    return recordOf(vmi)["outcome"] === "Abandoned";
  });
  expect(abandoned.status?.evacuationNodeName).toBeUndefined();
  expect(abandoned.status?.phase).toBe("Running");
  expect(recordOf(abandoned)).toMatchObject({ attempts: 3, outcome: "Abandoned" });
  const attempts = (await migrationsOf(stage.client, "stuck")).map(
    (m) => m.metadata.annotations?.["lifeboat.dev/attempt"],
  );
  expect(attempts.map(Number).toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
  await untilVmi(stage.client, "stuck", "tidied up", isTidy);
  // Told after it is done.
  const story = await storyOf(stage.client, "stuck");
  expect(story.filter((s) => s === "Warning MigrationFailed")).toHaveLength(3);
  expect(story.filter((s) => s === "Warning EvacuationAbandoned")).toHaveLength(1);
});

test("an eviction during the back-off of an abandoned evacuation is refused in words, and starts nothing", async () => {
  const evacuation = { maxAttempts: 1, backoffSeconds: 300, maxBackoffSeconds: 600, adoptSeconds: 0 };
  stage = await startStage({ configuration: { evacuation } });
  stage.sandbox.migrations.configure({ outcome: () => "Failed" });
  await stage.createVm({ name: "resting", evictionStrategy: "LiveMigrate" });
  await stage.reconcile();
  await evictVm("resting");
  await untilVmi(stage.client, "resting", "abandoned", (vmi) => recordOf(vmi)["outcome"] === "Abandoned");
  for (let retry = 0; retry < 3; retry++) {
    const answer = await evictVm("resting");
    expect(answer.code).toBe(429);
    expect(answer.message).toMatch(
      /the last evacuation of VMI "vms\/resting" was abandoned; a new one can start in \d+ s$/,
    );
  }
  expect((await getVmi(stage.client, "resting")).status?.evacuationNodeName).toBeUndefined();
  expect(await migrationsOf(stage.client, "resting")).toHaveLength(1);
});

test("a migration that fails once is tried again, and the VM moves", async () => {
  stage = await startStage({ clock: createFastClock(50) });
  stage.sandbox.migrations.configure({ outcome: ({ attempt }) => (attempt === 1 ? "Failed" : "Succeeded") });
  const { status } = await stage.createVm({ name: "second", evictionStrategy: "LiveMigrate" });
  await stage.reconcile();
  await evictVm("second");
  await untilVmi(stage.client, "second", "moved", hasSettledAwayFrom(status?.nodeName ?? ""));
  const phases = (await migrationsOf(stage.client, "second")).map((m) => m.status?.phase);
  expect(new Set(phases)).toEqual(new Set(["Failed", "Succeeded"]));
});

function isTidy({ metadata }: kubevirt.VirtualMachineInstance): boolean {
  return metadata.labels?.["lifeboat.dev/evacuation"] === undefined;
}

async function budgetSizes() {
  const { items } = await stage.client.list(podDisruptionBudgets, "vms");
  return items.map(({ spec }) => spec?.minAvailable);
}

test("cancel: the mark goes, the pending migration is deleted, no Warning, and the back-off begins", async () => {
  const configuration = { evacuation: { adoptSeconds: 0, backoffSeconds: 2 } };
  stage = await startStage({ nodes: ["node01"], configuration });
  await stage.createVm({ name: "kept", evictionStrategy: "LiveMigrate" });
  await stage.reconcile();
  await evictVm("kept");
  await expect.poll(() => migrationsOf(stage.client, "kept"), { timeout: 10_000 }).toHaveLength(1);
  expect(await stage.ask("GET", "/evacuations")).toMatchObject({
    code: 200,
    body: { evacuations: [{ name: "kept", stage: "Migrating", record: { cause: "ApiEviction" } }] },
  });
  expect(await stage.ask("DELETE", "/evacuations/vms/kept")).toMatchObject({
    code: 200,
    body: {
      cancelled: { namespace: "vms", name: "kept" },
      deletedMigrations: [expect.stringMatching(/^lifeboat-kept-/)],
    },
  });
  const kept = await getVmi(stage.client, "kept");
  expect(kept.status?.evacuationNodeName).toBeUndefined();
  expect(recordOf(kept)).toMatchObject({ outcome: "Cancelled" });
  // Until the back-off has passed: what was decided on before may still come.
  expect(await budgetSizes()).toEqual([2]);
  await untilVmi(stage.client, "kept", "tidied up", isTidy);
  expect(await budgetSizes()).toEqual([1]);
  const unfinished = (await migrationsOf(stage.client, "kept")).filter((m) => m.status?.phase !== "Failed");
  expect(unfinished).toEqual([]);
  const story = await storyOf(stage.client, "kept");
  expect(story).toContain("Normal EvacuationCancelled");
  expect(story.filter((sentence) => sentence.startsWith("Warning"))).toEqual([]);
  expect(await stage.ask("DELETE", "/evacuations/vms/kept")).toMatchObject({
    code: 404,
    body: { error: { reason: "NotEvacuating" } },
  });
});

test("cancel is refused while the node carries the drain taint", async () => {
  stage = await startStage({ nodes: ["node01"] });
  await stage.createVm({ name: "tainted", evictionStrategy: "LiveMigrate" });
  const taint = { key: "kubevirt.io/drain", effect: "NoSchedule" };
  await stage.client.patch(nodes, { name: "node01" }, { type: "merge", body: { spec: { taints: [taint] } } });
  await evictVm("tainted");
  expect(await stage.ask("DELETE", "/evacuations/vms/tainted")).toMatchObject({
    code: 409,
    body: {
      error: {
        reason: "DrainTaint",
        message: 'node "node01" carries the drain taint kubevirt.io/drain: remove that first',
      },
    },
  });
});

test("the cron trigger alone moves what somebody has marked", async () => {
  stage = await startStage();
  const { status } = await stage.createVm({ name: "marked", evictionStrategy: "LiveMigrate" });
  const from = status?.nodeName ?? "";
  const mark = [{ op: "add", path: "/status/evacuationNodeName", value: from }];
  const kubeVirt = stage.client.as("system:serviceaccount:kubevirt:kubevirt-apiserver");
  const key = { namespace: "vms", name: "marked" };
  await kubeVirt.patch(kubevirt.virtualMachineInstances, key, { type: "json", body: mark });
  await stage.worker().scheduled(new Date("2026-01-01T00:10:00Z"));
  const moved = await untilVmi(stage.client, "marked", "moved", hasSettledAwayFrom(from));
  expect(moved.status?.phase).toBe("Running");
  await expect.poll(() => storyOf(stage.client, "marked")).toContain("Normal EvacuationAdopted");
});
