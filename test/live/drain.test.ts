/**
 * Tests drains with KubeVirt's own webhook and evacuation controller. In some tests, Lifeboat or the API server is down
 * during a part of the drain.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { drainNode } from "../../infra/lab/stage/drain-client.ts";
import { createNode, isReal } from "../../infra/sandbox/index.ts";
import { IS_REAL } from "../../infra/lab/stage/control-plane.ts";
import { PATIENCE } from "../support/setup/simulated-only.ts";
import type { RunningForm } from "./form.ts";
import { closeQueue, openQueue, type Stage, startStage, WEBHOOK_TOKEN } from "./stage.ts";
import {
  evacuationsOf,
  evict,
  hasSettledAwayFrom,
  launcherOf,
  migrationsOf,
  phasesOf,
  startQueued,
  untilVmi,
  watchMigrations,
} from "./vm.ts";

/** A simulated cluster has fewer VMs, because it runs in the test's process. */
const MANY = IS_REAL ? 100 : 6;
const FEW = IS_REAL ? 8 : 3;
const TIMEOUT_MS = 180_000 * PATIENCE;
const LONG = { timeout: TIMEOUT_MS };

let stage: Stage;
const refused: string[] = [];
// Matches the code with its context, because a time in a log line can end in 403, too.
const onLog = (line: string) => /"code":403|with 403/.test(line) && refused.push(line);
beforeAll(async () => {
  stage = await startStage({ nodes: [], onLog, relay: true });
  for (const name of ["spare-1", "spare-2"]) await createNode(stage.client, name, { memory: "256Gi" });
});
afterAll(() => stage.stop());

async function createVms(node: string, count: number): Promise<readonly string[]> {
  await createNode(stage.client, node, { memory: "256Gi" });
  const names = Array.from({ length: count }, (_, i) => `${node}-${i}`);
  await Promise.all(names.map((name) => stage.createVm({ name, evictionStrategy: "LiveMigrate", node })));
  await stage.reconcile();
  return names;
}

function drain(node: string, retryMs = 300) {
  const lines: string[] = [];
  const signal = AbortSignal.timeout(TIMEOUT_MS - 10_000);
  const onLine = (line: string) => lines.push(line);
  return { lines, done: drainNode({ client: stage.client, node, onLine, signal, retryMs, pollMs: 50 }) };
}

async function expectNoneLost(names: readonly string[], node: string): Promise<void> {
  for (const name of names) {
    const vmi = await untilVmi(stage.client, name, "settled elsewhere", hasSettledAwayFrom(node));
    expect(vmi.status?.phase).toBe("Running");
  }
}

async function expectMoved(names: readonly string[], node: string): Promise<void> {
  await expectNoneLost(names, node);
  for (const name of names) {
    await expect.poll(() => phasesOf(stage.client, name)).toEqual(["Moved"]);
    expect(await migrationsOf(stage.client, name)).toHaveLength(1);
  }
}

test(`${MANY} VMs leave a node two at a time, by KubeVirt's migrations, and none is lost`, LONG, async () => {
  const names = await createVms("full", MANY);
  const migrations = watchMigrations(stage.client);
  const { done, lines } = await startQueued(stage.client, names, () => drain("full", 500));
  expect(await done).toBe(true);
  await expectMoved(names, "full");
  migrations.stop();
  expect(migrations.most()).toBe(2);
  expect(refused).toEqual([]);
  expect(lines.filter((line) => line.includes("Eviction triggered evacuation")).length).toBeGreaterThanOrEqual(MANY);
  for (const name of names) {
    const [made] = await migrationsOf(stage.client, name);
    expect(made?.metadata).toMatchObject({
      name: expect.stringMatching(/^kubevirt-evacuation-/),
      annotations: { "kubevirt.io/evacuationMigration": "full" },
    });
    expect(await evacuationsOf(stage.client, name)).toMatchObject([
      {
        spec: { cause: "ApiEviction", requestedBy: "kubernetes-admin" },
        status: { sourceNode: "full", attempts: 0, migration: { uid: made?.metadata.uid } },
      },
    ]);
  }
});

test("while Lifeboat is down, KubeVirt continues a drain; after its restart, Lifeboat records the migrations in progress", async () => {
  const names = await createVms("down", FEW);
  const [first = "", ...others] = names;
  const last = others.at(-1) ?? "";
  await stage.stopWorker();
  await evict(stage.client, await launcherOf(stage.client, first));
  await expectNoneLost([first], "down");
  await closeQueue(stage.client);
  const { done } = drain("down");
  await untilVmi(stage.client, last, "marked", ({ status }) => status?.evacuationNodeName === "down");
  await stage.restartWorker();
  await expect.poll(() => evacuationsOf(stage.client, last)).toHaveLength(1);
  await openQueue(stage.client);
  expect(await done).toBe(true);
  await expectNoneLost(names, "down");
  expect(await evacuationsOf(stage.client, last)).toHaveLength(1);
});

// prettier-ignore
const AWAY = [
  ["away",      "a moment",                                                            0],
  // This row needs a real control plane, because the simulated virt-controller has no Lease.
  ...(IS_REAL ? [["long-away", "so long that virt-controller loses its Lease, ends, and is started again", 14] as const] : []),
] as const;

test.each(AWAY)("%s: a drain survives an API server that is away for %s", LONG, async (node, _, seconds) => {
  const names = await createVms(node, FEW);
  // Retries the drain as a person does, because kubectl can end with an error.
  const again = () => drain(node).done.catch(() => false);
  const first = await startQueued(stage.client, names, () => ({ done: again() }));
  await stage.sandbox.apiServer.suspend();
  await delay(seconds * 1000);
  await stage.sandbox.apiServer.resume();
  if (seconds > 0) await expect.poll(hasLostLease).toBe(true);
  await first.done;
  await expect.poll(again, { timeout: TIMEOUT_MS }).toBe(true);
  await expectMoved(names, node);
});

async function hasLostLease(): Promise<boolean> {
  const { sandbox } = stage;
  if (!isReal(sandbox)) return false;
  return (await readFile(join(sandbox.programs.logs, "virt-controller.log"), "utf8")).includes("leaderelection lost");
}

/** Reconciles all VMs repeatedly until the signal aborts or the Worker stops. */
async function keepReconciling(worker: RunningForm, until: AbortSignal): Promise<void> {
  const headers = { authorization: `Bearer ${WEBHOOK_TOKEN}` };
  while (!until.aborted) {
    const answer = await worker.fetch("/clusters/sandbox/reconcile", { method: "POST", headers });
    await answer.text();
  }
}

test("three Workers reconcile one drain, one of them is killed, and each VM still moves once", LONG, async () => {
  const names = await createVms("shared", FEW);
  const [other, doomed] = [await stage.anotherWorker(), await stage.anotherWorker()];
  const enough = new AbortController();
  const loop = keepReconciling(other, enough.signal);
  keepReconciling(doomed, enough.signal).catch(() => undefined);
  const { done } = await startQueued(stage.client, names, () => drain("shared"));
  await untilVmi(stage.client, names[0] ?? "", "moved", (vmi) => vmi.status?.nodeName !== "shared");
  await doomed.stop();
  expect(await done).toBe(true);
  await expectMoved(names, "shared");
  enough.abort();
  await loop;
  await other.stop();
});
