/**
 * Draining nodes: the main job, with nothing but the drain's own requests to drive it. No cron, no relay.
 */
import { afterEach, describe, expect, test } from "vitest";
import { drainNode } from "../../infra/demo/drain-client.ts";
import { nodes, podDisruptionBudgets } from "../../infra/sandbox/actors/resources.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { getVmi, hasSettledAwayFrom, NAMESPACE, type Stage, type StageOptions, startStage, untilVmi } from "./stage.ts";

const NODE = "node01";
let stage: Stage;

afterEach(() => stage.stop());

async function createVms(count: number): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, i) => `vm-${String(i + 1).padStart(2, "0")}`);
  await Promise.all(names.map((name) => stage.createVm({ name, evictionStrategy: "LiveMigrate", node: NODE })));
  await stage.reconcile();
  return names;
}

function drain(retryMs: number, signal = AbortSignal.timeout(50_000)) {
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

/** Watches migrations from now on; tells the most that were unfinished at the same time. */
function watchMigrations(): { most: () => number; stop: () => void } {
  const unfinished = new Set<string>();
  let most = 0;
  const stopped = new AbortController();
  const watching = (async () => {
    for await (const { type, object } of stage.client.watch(kubevirt.migrations, {}, stopped.signal)) {
      const over = type === "DELETED" || object.status?.phase === "Succeeded" || object.status?.phase === "Failed";
      if (over) unfinished.delete(object.metadata.uid);
      else unfinished.add(object.metadata.uid);
      most = Math.max(most, unfinished.size);
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

const QUICK_EVACUATION = { backoffSeconds: 0.2, adoptSeconds: 0.5 };

async function start(options: StageOptions & { limits?: { cluster: number; node: number } } = {}): Promise<void> {
  const { limits = { cluster: 5, node: 2 }, ...rest } = options;
  stage = await startStage(rest);
  const migrations = {
    parallelMigrationsPerCluster: limits.cluster,
    parallelOutboundMigrationsPerNode: limits.node,
  };
  const body = { spec: { configuration: { migrations } } };
  await stage.client.patch(kubevirt.kubeVirts, { namespace: "kubevirt", name: "kubevirt" }, { type: "merge", body });
}

test("20 VMs leave a node two at a time, and none is lost", { timeout: 120_000 }, async () => {
  await start({ limits: { cluster: 5, node: 2 } });
  const names = await createVms(20);
  const migrations = watchMigrations();
  const { done, lines } = drain(500, AbortSignal.timeout(100_000));
  expect(await done).toBe(true);
  await expectNoneLost(names);
  migrations.stop();
  expect(migrations.most()).toBe(2);
  expect(lines.filter((line) => line.includes("Eviction triggered evacuation")).length).toBeGreaterThanOrEqual(20);
  const { items } = await stage.client.list(kubevirt.migrations, NAMESPACE);
  expect(items.map((m) => m.spec.vmiName).toSorted()).toEqual([...names]);
});

describe("beside KubeVirt's own evacuation controller", () => {
  test("its migrations are adopted, one for each VM", async () => {
    await start({
      evacuationController: true,
      // Long enough for Lifeboat to meet them while they run.
      migrationSeconds: 2,
      configuration: { evacuation: { ...QUICK_EVACUATION, adoptSeconds: 30 } },
    });
    const names = await createVms(4);
    expect(await drain(300).done).toBe(true);
    await expectNoneLost(names);
    const { items } = await stage.client.list(kubevirt.migrations, NAMESPACE);
    expect(items.map((m) => m.spec.vmiName).toSorted()).toEqual([...names]);
    for (const { metadata } of items) {
      expect(metadata.name).toMatch(/^kubevirt-evacuation-/);
      expect(metadata.annotations).toMatchObject({
        "lifeboat.dev/cause": "ApiEviction",
        "lifeboat.dev/attempt": "1",
        "kubevirt.io/evacuationMigration": NODE,
      });
    }
  });

  test("where it does nothing, ours follow after adoptSeconds", async () => {
    await start({ configuration: { evacuation: QUICK_EVACUATION } });
    const names = await createVms(2);
    expect(await drain(300).done).toBe(true);
    await expectNoneLost(names);
    const { items } = await stage.client.list(kubevirt.migrations, NAMESPACE);
    expect(items.map((m) => m.metadata.name.startsWith("lifeboat-"))).toEqual([true, true]);
  });
});

test("whoever sees the mark finds a budget that outlives a migration", async () => {
  await start({ evacuationController: true });
  const names = await createVms(3);
  const sizes = new Map<string, number | string | undefined>();
  const enough = new AbortController();
  const watching = (async () => {
    for await (const { object } of stage.client.watch(kubevirt.virtualMachineInstances, {}, enough.signal)) {
      const { metadata, status } = object;
      if (status?.evacuationNodeName === undefined || sizes.has(metadata.name)) continue;
      const { items } = await stage.client.list(podDisruptionBudgets, NAMESPACE);
      const own = items.find((budget) => budget.metadata.ownerReferences?.[0]?.uid === metadata.uid);
      sizes.set(metadata.name, own?.spec?.minAvailable);
    }
  })();
  watching.catch(() => undefined);
  expect(await drain(200).done).toBe(true);
  enough.abort();
  expect(Object.fromEntries(sizes)).toEqual(Object.fromEntries(names.map((name) => [name, 2])));
});

test("Lifeboat down: the budgets stop the drain and no VM is lost; back again, it carries on by itself", async () => {
  await start();
  const names = await createVms(3);
  await stage.stopWorker();
  const { done, lines } = drain(200);
  const refused = () => lines.filter((line) => line.includes("would violate the pod's disruption budget"));
  await expect.poll(() => refused().length, { timeout: 20_000 }).toBeGreaterThanOrEqual(6);
  for (const name of names) {
    const { status } = await getVmi(stage.client, name);
    expect(status).toMatchObject({ phase: "Running", nodeName: NODE });
    expect(status?.evacuationNodeName).toBeUndefined();
  }
  await stage.restartWorker();
  expect(await done).toBe(true);
  await expectNoneLost(names);
});

test("Lifeboat killed in the middle of a drain: another one carries on where it stopped", async () => {
  await start({ migrationSeconds: 0.3 });
  const names = await createVms(4);
  const { done } = drain(200);
  for (const name of names) {
    await untilVmi(
      stage.client,
      name,
      "marked",
      (vmi) => vmi.status?.evacuationNodeName !== undefined || vmi.status?.nodeName !== NODE,
    );
    await stage.stopWorker();
    await stage.restartWorker();
  }
  expect(await done).toBe(true);
  await expectNoneLost(names);
});

test("the drain taint moves VMs without a mark, and a full scan is enough to see it", async () => {
  await start();
  const names = await createVms(2);
  const taint = { key: "kubevirt.io/drain", value: "draining", effect: "NoSchedule" };
  await stage.client.patch(nodes, { name: NODE }, { type: "merge", body: { spec: { taints: [taint] } } });
  await stage.reconcile();
  await expectNoneLost(names);
  const { items } = await stage.client.list(kubevirt.migrations, NAMESPACE);
  expect(items.map((m) => m.metadata.annotations?.["lifeboat.dev/cause"])).toEqual(["DrainTaint", "DrainTaint"]);
});
