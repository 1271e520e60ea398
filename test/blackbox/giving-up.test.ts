/**
 * Evacuations that do not succeed: back-off, giving up, cancelling; and those that nobody's eviction begins.
 */
import { afterEach, describe, expect, test } from "vitest";
import { nodes, podDisruptionBudgets, type Resource } from "../../infra/sandbox/actors/resources.ts";
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

/** KubeVirt lets no migration begin. */
async function closeQueue(): Promise<void> {
  const body = { spec: { configuration: { migrations: { parallelMigrationsPerCluster: 0 } } } };
  await stage.client.patch(kubevirt.kubeVirts, { namespace: "kubevirt", name: "kubevirt" }, { type: "merge", body });
}

const evictVm = async (name: string) => await evict(stage.client, await launcherOf(stage.client, name));
const untilPhases = (name: string, phases: readonly string[]) =>
  expect.poll(() => phasesOf(stage.client, name), eventually).toEqual(phases);
const isUnmarked = ({ metadata, status }: kubevirt.VirtualMachineInstance) =>
  status?.evacuationNodeName === undefined && metadata.labels?.["lifeboat.dev/evacuation"] === undefined;

describe("a migration that always fails", () => {
  const failing = { outcome: () => "Failed" as const };

  test("is backed off, abandoned after maxAttempts, said so, and the VM runs on unmarked", async () => {
    const evacuation = { maxAttempts: 3, backoffSeconds: 0.3, maxBackoffSeconds: 600, adoptSeconds: 0 };
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
  await expect.poll(async () => (await stage.client.list(kubevirt.migrations, NAMESPACE)).items.length).toBe(40);
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

async function budgetSizes() {
  const { items } = await stage.client.list(podDisruptionBudgets, "vms");
  return items.map(({ spec }) => spec?.minAvailable);
}

describe("cancel", () => {
  const withdraw = async (name: string) => {
    const [active] = await evacuationsOf(stage.client, name);
    const body = { spec: { intent: "Withdrawn" } };
    await stage.client.patch(evacuations, active?.metadata ?? { name: "" }, { type: "merge", body });
  };
  const post = async (name: string) => {
    expect(await stage.ask("DELETE", `/evacuations/vms/${name}`)).toMatchObject({ code: 200 });
  };

  test.each([
    ["spec.intent: Withdrawn", withdraw, {}],
    ["the operator's door", post, {}],
    ["spec.intent: Withdrawn, KubeVirt's controller off", withdraw, ALONE],
    ["the operator's door, KubeVirt's controller off", post, ALONE],
  ] as const)("by %s: no mark, no pending migration, no Warning, the back-off begins", async (_, cancel, options) => {
    const evacuation = { adoptSeconds: "evacuationController" in options ? 0 : 60, backoffSeconds: 2 };
    await start("kept", { configuration: { evacuation }, ...options });
    await closeQueue();
    await evictVm("kept");
    await expect.poll(() => migrationsOf(stage.client, "kept"), eventually).toHaveLength(1);
    await untilPhases("kept", ["Migrating"]);
    expect(await stage.ask("GET", "/evacuations")).toMatchObject({
      code: 200,
      body: { evacuations: [{ spec: { vmiName: "kept", cause: "ApiEviction" }, status: { phase: "Migrating" } }] },
    });
    await cancel("kept");
    await untilPhases("kept", ["Withdrawn"]);
    await untilVmi(stage.client, "kept", "unmarked", isUnmarked);
    const unfinished = async () =>
      (await migrationsOf(stage.client, "kept")).filter((m) => m.status?.phase !== "Failed");
    await expect.poll(unfinished, eventually).toEqual([]);
    const story = await storyOf(stage.client, "kept");
    expect(story).toContain("Normal EvacuationCancelled");
    expect(story.filter((sentence) => sentence.startsWith("Warning"))).toEqual([]);
    expect(await stage.ask("DELETE", "/evacuations/vms/kept")).toMatchObject({
      code: 404,
      body: { error: { reason: "NotEvacuating" } },
    });
    // KubeVirt may still act on what it has seen: the budget rests.
    expect(await budgetSizes()).toEqual([2]);
  });

  test("beside KubeVirt's webhook the drain's next request begins a new one, which says what it follows", async () => {
    await start("told", { configuration: { evacuation: LONG } });
    await closeQueue();
    await evictVm("told");
    await untilPhases("told", ["Migrating"]);
    await post("told");
    await untilVmi(stage.client, "told", "unmarked", isUnmarked);
    const answers: string[] = [];
    await expect
      .poll(async () => {
        answers.push((await evictVm("told")).message);
        return await evacuationsOf(stage.client, "told");
      }, eventually)
      .toMatchObject([{}, { spec: { requestedBy: "kubernetes-admin", inherited: { attempts: 0 } } }]);
    expect(answers.join("\n")).toMatch(/was withdrawn.*KubeVirt/);
  });

  test("is refused while the node carries the drain taint", async () => {
    await start("tainted", { nodes: ["node01"] });
    const taint = { key: "kubevirt.io/drain", effect: "NoSchedule" };
    await stage.client.patch(nodes, { name: "node01" }, { type: "merge", body: { spec: { taints: [taint] } } });
    await evictVm("tainted");
    const message = 'node "node01" carries the drain taint kubevirt.io/drain: remove that first';
    expect(await stage.ask("DELETE", "/evacuations/vms/tainted")).toMatchObject({
      code: 409,
      body: { error: { reason: "DrainTaint", message } },
    });
  });
});

describe("an Evacuation that a person creates", () => {
  const create = (vmi: string, name = `move-${vmi}`) =>
    stage.client.create(evacuations, {
      metadata: { name, namespace: NAMESPACE },
      spec: { virtualMachineInstance: { name: vmi } },
    });

  test.each([
    ["KubeVirt's", {}],
    ["our own", { evacuationController: false, configuration: { evacuation: { adoptSeconds: 0 } } }],
  ])("with nothing but the VM's name moves it, cause Operator, by %s migration", async (_, options) => {
    const from = await start("asked", options);
    await create("asked");
    await untilVmi(stage.client, "asked", "moved", hasSettledAwayFrom(from));
    await untilPhases("asked", ["Moved"]);
    const [evacuation] = await evacuationsOf(stage.client, "asked");
    expect(evacuation).toMatchObject({ spec: { cause: "Operator" }, status: { sourceNode: from } });
  });

  // prettier-ignore
  test.each([
    ["a VM that does not exist",   "nobody", undefined,                                                          "Gone",      /no VirtualMachineInstance of this name/],
    ["a VM that cannot migrate",   "pinned", { evictionStrategy: "LiveMigrate", migratable: false },             "Abandoned", /not live-migratable/],
    ["eviction strategy None",     "none",   { evictionStrategy: "None" },                                       "Abandoned", /eviction strategy is None/],
  ])("%s ends at once, in words", async (_, name, vm, phase, message) => {
    await start("other");
    if (vm !== undefined) await stage.createVm({ name, ...vm });
    await create(name);
    await untilPhases(name, [phase]);
    expect((await evacuationsOf(stage.client, name))[0]?.status?.message).toMatch(message);
  });

  test("a second one of the same pod ends as Duplicate", async () => {
    await start("twice");
    await closeQueue();
    await create("twice", "first-1");
    await untilPhases("twice", ["Migrating"]);
    await create("twice", "second-2");
    await untilPhases("twice", ["Migrating", "Duplicate"]);
  });
});

test("the cron trigger alone moves what somebody has marked", async () => {
  const from = await start("marked");
  const mark = [{ op: "add", path: "/status/evacuationNodeName", value: from }];
  const kubeVirt = stage.client.as("system:serviceaccount:kubevirt:kubevirt-apiserver");
  const key = { namespace: "vms", name: "marked" };
  await kubeVirt.patch(kubevirt.virtualMachineInstances, key, { type: "json", body: mark });
  const moved = await untilVmi(stage.client, "marked", "moved", hasSettledAwayFrom(from));
  expect(moved.status?.phase).toBe("Running");
});
