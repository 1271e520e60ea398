/**
 * The metrics say what happened, nothing twice, whichever Worker is asked, and however many of them have been at it.
 */
import parse from "parse-prometheus-text-format";
import { afterEach, expect, test } from "vitest";
import { drainNode } from "../../infra/lab/stage/drain-client.ts";
import { nodes } from "../../infra/sandbox/actors/resources.ts";
import { evacuations } from "../../infra/lab/stage/evacuations.ts";
import { NAMESPACE, type Stage, startStage, WEBHOOK_TOKEN } from "./stage.ts";
import type { RunningForm } from "./form.ts";
import { evict, launcherOf, startQueued, untilVmi } from "./vm.ts";

const NODE = "node01";
const headers = { authorization: `Bearer ${WEBHOOK_TOKEN}` };

let stage: Stage;
const others: RunningForm[] = [];

afterEach(async () => {
  for (const worker of others.splice(0)) await worker.stop();
  await stage.stop();
});

/** `cause, outcome` or `cause` to a number: what is not zero of the evacuations. */
async function evacuationsOf(worker: RunningForm): Promise<Readonly<Record<string, number>>> {
  const answer = await worker.fetch("/clusters/sandbox/metrics", { headers });
  const samples = parse(await answer.text()).filter(({ name }) =>
    /^lifeboat_evacuations_(?:ended_last_hour|in_progress)$/.test(name),
  );
  const values = samples.flatMap(({ metrics }) =>
    metrics.map(({ labels = {}, value }) => [Object.values(labels).join(), Number(value)] as const),
  );
  return Object.fromEntries(values.filter(([, value]) => value > 0));
}

/** Passes over everything, one after another, until told to stop or the Worker is gone. */
async function keepReconciling(worker: RunningForm, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    const answer = await worker.fetch("/clusters/sandbox/reconcile", { method: "POST", headers });
    await answer.text();
  }
}

/** Name of the VM to phase. */
async function phases(): Promise<Readonly<Record<string, string | undefined>>> {
  const { items } = await stage.client.list(evacuations);
  return Object.fromEntries(items.map(({ spec, status }) => [spec.virtualMachineInstance.name, status?.phase]));
}

async function drain(): Promise<boolean> {
  const signal = AbortSignal.timeout(100_000);
  const { client } = stage;
  return await drainNode({ client, node: NODE, onLine: () => undefined, signal, retryMs: 300, pollMs: 50 });
}

test("a drain, three Workers at it all the time, and one of them killed in between", { timeout: 120_000 }, async () => {
  stage = await startStage();
  const names = Array.from({ length: 8 }, (_, i) => `vm-${i}`);
  for (const name of names) await stage.createVm({ name, evictionStrategy: "LiveMigrate", node: NODE });
  await stage.reconcile();
  others.push(await stage.anotherWorker(), await stage.anotherWorker());
  const doomed = await stage.anotherWorker();
  const enough = new AbortController();
  const loops = others.map((worker) => keepReconciling(worker, enough.signal));
  keepReconciling(doomed, enough.signal).catch(() => undefined);
  const { drained } = await startQueued(stage.client, names, () => ({ drained: drain() }));
  await untilVmi(stage.client, "vm-0", "moved", (vmi) => vmi.status?.nodeName !== NODE);
  await doomed.stop();
  expect(await drained).toBe(true);
  const moved = Object.fromEntries(names.map((name) => [name, "Moved"]));
  await expect.poll(phases).toEqual(moved);
  enough.abort();
  await Promise.all(loops);
  const [first, ...same] = await Promise.all([stage.worker(), ...others].map(evacuationsOf));
  for (const counted of [first, ...same]) expect(counted).toEqual({ "ApiEviction,Moved": names.length });
});

test("every way to end without a move, and what is still in progress", { timeout: 60_000 }, async () => {
  const evacuation = { maxAttempts: 1, backoffSeconds: 300, maxBackoffSeconds: 600, adoptSeconds: 0 };
  stage = await startStage({ configuration: { evacuation } });
  stage.sandbox.migrations.configure({
    seconds: ({ name }) => (name === "stuck" ? 0.1 : 300),
    outcome: ({ name }) => (name === "stuck" ? "Failed" : "Succeeded"),
  });
  const vms = { stuck: "node01", called: "node01", going: "node03", tainted: "node02" };
  for (const [name, node] of Object.entries(vms)) await stage.createVm({ name, evictionStrategy: "LiveMigrate", node });
  await stage.reconcile();
  const taint = (taints: unknown) =>
    stage.client.patch(nodes, { name: "node02" }, { type: "merge", body: { spec: { taints } } });
  const ended = async () => {
    await stage.reconcile();
    return await evacuationsOf(stage.worker());
  };

  for (const name of ["stuck", "called", "going"]) await evict(stage.client, await launcherOf(stage.client, name));
  await taint([{ key: "kubevirt.io/drain", value: "draining", effect: "NoSchedule" }]);
  await expect.poll(ended).toEqual({ "ApiEviction,Abandoned": 1, ApiEviction: 2, DrainTaint: 1 });

  for (const { metadata, spec } of (await stage.client.list(evacuations, NAMESPACE)).items) {
    if (spec.virtualMachineInstance.name !== "called") continue;
    await stage.client.patch(evacuations, metadata, { type: "merge", body: { spec: { intent: "Withdrawn" } } });
  }
  await taint(null);
  await expect.poll(ended).toEqual({
    "ApiEviction,Abandoned": 1,
    "ApiEviction,Withdrawn": 1,
    "DrainTaint,Withdrawn": 1,
    ApiEviction: 1,
  });
  expect(await ended()).toMatchObject({ "ApiEviction,Abandoned": 1, "ApiEviction,Withdrawn": 1 });
});
