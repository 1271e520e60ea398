/**
 * Draining nodes: the main job, beside KubeVirt's own webhook and evacuation controller, and without them.
 */
import { expect, test } from "vitest";
import { drainNode } from "../../infra/lab/stage/drain-client.ts";
import { createNode, kubevirt } from "../../infra/sandbox/index.ts";
import { IS_REAL } from "../../infra/lab/stage/control-plane.ts";
import { PATIENCE } from "../support/setup/simulated-only.ts";
import { ALONE, closeQueue, NAMESPACE, openQueue, type Stage } from "./stage.ts";
import { useStages } from "./stages.ts";
import { evacuationsOf, evict, getVmi, hasSettledAwayFrom, launcherOf, startQueued, untilVmi } from "./vm.ts";

const NODE = "node01";
/** A simulated cluster is in the process of the test. */
const MANY = IS_REAL ? 100 : 12;
const TIMEOUT_MS = 180_000 * PATIENCE;
const startStage = useStages();
let stage: Stage;

async function createVms(count: number): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, i) => `vm-${String(i + 1).padStart(3, "0")}`);
  await Promise.all(names.map((name) => stage.createVm({ name, evictionStrategy: "LiveMigrate", node: NODE })));
  await stage.reconcile();
  return names;
}

function drain(retryMs: number, signal = AbortSignal.timeout(TIMEOUT_MS - 10_000)) {
  const lines: string[] = [];
  const done = drainNode({
    client: stage.client,
    node: NODE,
    onLine: (line) => lines.push(line),
    signal,
    retryMs,
    pollMs: 50,
  });
  return { lines, done };
}

/** Watches migrations from now on; tells the most that had left KubeVirt's queue at the same time. */
function watchMigrations(): { most: () => number; stop: () => void } {
  const begun = new Set<string>();
  let most = 0;
  const stopped = new AbortController();
  const watching = (async () => {
    for await (const { type, object } of stage.client.watch(kubevirt.migrations, {}, stopped.signal)) {
      const { phase = "" } = object.status ?? {};
      if (type === "DELETED" || ["", "Pending", "Succeeded", "Failed"].includes(phase))
        begun.delete(object.metadata.uid);
      else begun.add(object.metadata.uid);
      most = Math.max(most, begun.size);
    }
  })();
  watching.catch(() => undefined);
  return { most: () => most, stop: () => stopped.abort() };
}

async function expectNoneLost(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const vmi = await untilVmi(stage.client, name, "settled elsewhere", hasSettledAwayFrom(NODE));
    expect(vmi.status?.phase).toBe("Running");
  }
}

async function migrationsByVmi() {
  const { items } = await stage.client.list(kubevirt.migrations, NAMESPACE);
  return items.toSorted((a, b) => (a.spec.vmiName < b.spec.vmiName ? -1 : 1));
}

test(
  `${MANY} VMs leave a node two at a time, by KubeVirt's migrations, one each, and none is lost`,
  { timeout: TIMEOUT_MS },
  async () => {
    const refused: string[] = [];
    // A time may end in 403, too.
    const onLog = (line: string) => /"code":403|with 403/.test(line) && refused.push(line);
    stage = await startStage({ nodes: [], onLog });
    for (const name of ["node01", "node02"]) await createNode(stage.client, name, { memory: "256Gi" });
    const names = await createVms(MANY);
    const migrations = watchMigrations();
    const { done, lines } = await startQueued(stage.client, names, () => drain(500));
    expect(await done).toBe(true);
    await expectNoneLost(names);
    migrations.stop();
    expect(migrations.most()).toBe(2);
    expect(refused).toEqual([]);
    expect(lines.filter((line) => line.includes("Eviction triggered evacuation")).length).toBeGreaterThanOrEqual(MANY);
    const made = await migrationsByVmi();
    expect(made.map((m) => m.spec.vmiName)).toEqual(names);
    for (const { metadata, spec } of made) {
      expect(metadata.name).toMatch(/^kubevirt-evacuation-/);
      expect(metadata.annotations).toMatchObject({ "kubevirt.io/evacuationMigration": NODE });
      await expect
        .poll(() => evacuationsOf(stage.client, spec.vmiName))
        .toMatchObject([
          {
            spec: { cause: "ApiEviction", requestedBy: "kubernetes-admin" },
            status: { phase: "Moved", sourceNode: NODE, attempts: 0, migration: { uid: metadata.uid } },
          },
        ]);
    }
  },
);

test("KubeVirt's evacuation controller does nothing: ours follow after adoptSeconds, through KubeVirt's queue", async () => {
  const configuration = { evacuation: { adoptSeconds: 0.5 } };
  stage = await startStage({ evacuationController: false, migrationSeconds: 0.5, configuration });
  const names = await createVms(4);
  const migrations = watchMigrations();
  expect(await drain(300).done).toBe(true);
  await expectNoneLost(names);
  migrations.stop();
  expect(migrations.most()).toBe(2);
  const made = await migrationsByVmi();
  expect(made.map((m) => m.metadata.name.startsWith("lifeboat-"))).toEqual(names.map(() => true));
  // KubeVirt's controller counts those, and none of ours.
  for (const { metadata } of made) expect(metadata.annotations).not.toHaveProperty(["kubevirt.io/evacuationMigration"]);
});

test("Lifeboat down: KubeVirt goes on by itself; back again, it finds what was begun", async () => {
  stage = await startStage();
  const names = await createVms(4);
  await stage.stopWorker();
  await evict(stage.client, await launcherOf(stage.client, "vm-001"));
  await untilVmi(stage.client, "vm-001", "settled elsewhere", hasSettledAwayFrom(NODE));
  await closeQueue(stage.client);
  const { done } = drain(200);
  await untilVmi(stage.client, "vm-004", "marked", ({ status }) => status?.evacuationNodeName === NODE);
  await stage.restartWorker();
  await expect.poll(() => evacuationsOf(stage.client, "vm-004")).toHaveLength(1);
  await openQueue(stage.client);
  expect(await done).toBe(true);
  await expectNoneLost(names);
  expect(await evacuationsOf(stage.client, "vm-004")).toHaveLength(1);
});

test("Lifeboat down, and no webhook of KubeVirt's: the budgets stop the drain; back again, it carries on", async () => {
  stage = await startStage({ ...ALONE, configuration: { evacuation: { adoptSeconds: 0 } } });
  const names = await createVms(3);
  await stage.stopWorker();
  const { done, lines } = drain(200);
  const refused = () => lines.filter((line) => line.includes("would violate the pod's disruption budget"));
  await expect.poll(() => refused().length).toBeGreaterThanOrEqual(6);
  for (const name of names) {
    const { status } = await getVmi(stage.client, name);
    expect(status).toMatchObject({ phase: "Running", nodeName: NODE });
    expect(status?.evacuationNodeName).toBeUndefined();
  }
  await stage.restartWorker();
  expect(await done).toBe(true);
  await expectNoneLost(names);
});

test(
  "VMs that have moved before Lifeboat has read about them: none moves twice, and nothing is left of it",
  {
    tags: ["faults"],
  },
  async () => {
    const simulated = await startStage.simulated({ migrationSeconds: 0.01 });
    stage = simulated;
    const names = await createVms(3);
    const match = { users: ["system:serviceaccount:lifeboat-system:lifeboat"] };
    simulated.sandbox.apiServer.faults.inject({ match, effect: { type: "Latency", milliseconds: 1_000 } });
    expect(await drain(300).done).toBe(true);
    await expectNoneLost(names);
    simulated.sandbox.apiServer.faults.clear();
    await stage.reconcile();
    await expectNoneLost(names);
    expect((await migrationsByVmi()).map(({ spec }) => spec.vmiName)).toEqual(names);
    for (const name of names)
      await expect
        .poll(async () => (await evacuationsOf(stage.client, name)).filter(({ status }) => status?.phase !== "Moved"))
        .toEqual([]);
  },
);
