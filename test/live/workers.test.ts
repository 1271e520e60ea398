/** Several Workers at one cluster: what they do is done once, and their metrics say the same. */
import parse from "parse-prometheus-text-format";
import { afterEach, expect, test } from "vitest";
import { drainNode } from "../../infra/lab/stage/drain-client.ts";
import { evacuations } from "../../infra/lab/stage/evacuations.ts";
import { type Stage, WEBHOOK_TOKEN } from "./stage.ts";
import { useStages } from "./stages.ts";
import type { RunningForm } from "./form.ts";
import { startQueued, untilVmi } from "./vm.ts";

const NODE = "node01";
const headers = { authorization: `Bearer ${WEBHOOK_TOKEN}` };

const startStage = useStages();
let stage: Stage;
const others: RunningForm[] = [];

afterEach(() => Promise.all(others.splice(0).map((worker) => worker.stop())));

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
