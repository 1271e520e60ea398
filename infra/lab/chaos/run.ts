/** One run: a drain under faults, then a period without faults, and the checks of the result. */
import { setTimeout as delay } from "node:timers/promises";
import {
  isSimulated,
  type KubeClient,
  migrations,
  podDisruptionBudgets,
  pods,
  virtualMachineInstances,
} from "../../sandbox/index.ts";
import { IS_REAL } from "../stage/control-plane.ts";
import { endingOf, evacuations } from "../stage/evacuations.ts";
import { readWorld } from "../stage/watch.ts";
import type { World } from "../stage/world.ts";
import type { Cluster } from "./cluster.ts";
import { startDrain } from "./drain.ts";
import { drawFrom } from "./draw.ts";
import type { Run } from "./fault.ts";
import { FAULTS } from "./fault-names.ts";
import { checkGuests, fatesOf } from "./guests.ts";
import * as invariants from "./invariants.ts";
import { actAsExternalController, missingIn } from "./goal.ts";
import type { Listener } from "./observer.ts";
import type { Plan } from "./plan.ts";
import { startRelayOf } from "./relay.ts";
import { type Replicas, startReplicas } from "./replicas.ts";
import { type Counts, countsOf, type RunReport } from "./report.ts";
import { setScene, type Scene } from "./scene.ts";
import { unansweredIn } from "./unanswered.ts";
import { persist, until } from "./wait.ts";

/** The factor for waits. A real control plane is slower than a simulated one. */
const PATIENCE = IS_REAL ? 3 : 1;
/** The maximum time from the end of the faults until all VMs that must leave their nodes have left. */
const GOAL_WITHIN_MS = 120_000 * PATIENCE;
/**
 * The maximum time from the end of all disruptions until nothing is in progress. `settle` adds the time that Lifeboat
 * waits for KubeVirt's own migrations.
 */
const REST_WITHIN_MS = 90_000 * PATIENCE;
const BUDGETS_WITHIN_MS = 60_000;
const TICK_MS = 300;
/** In a run with a relay, `settle` sends a tick only at every tenth check. */
const TICKS_APART = 10;

/** A run whose VMs are running and have their expected budgets. No fault has been injected yet. */
export interface Prepared {
  readonly scene: Scene;
  readonly replicas: Replicas;
  readonly before: World;
  readonly ms: number;
}

/** Prepares a run. If the promise rejects, no fault has been injected. */
export async function prepareRun(cluster: Cluster, plan: Plan): Promise<Prepared> {
  const begin = performance.now();
  const { sandbox, form, observer } = cluster;
  const scene = await setScene(cluster, plan);
  const replicas = await startReplicas(form, plan);
  await persist(async () => {
    const problems = await problemsOf(cluster, replicas);
    if (problems.length > 0) throw new Error(problems.join("; "));
    await replicas.alive[0]?.reconcile();
  });
  const isMine = ({ metadata }: { readonly metadata: { readonly namespace?: string } }) =>
    metadata.namespace === scene.namespace;
  const hasAllBudgets = () => {
    const seen = [...observer.budgets.list()]
      .filter(isMine)
      .filter(({ status }) => status?.observedGeneration !== undefined);
    return seen.length >= [...observer.vmis.list()].filter(isMine).filter(invariants.hasBudget).length;
  };
  if (plan.budgeted && !(await until(hasAllBudgets, BUDGETS_WITHIN_MS)))
    throw new Error("some VMs did not get their PodDisruptionBudgets in time");
  const world = await readWorld(sandbox.client);
  // Leaves out VMs of an earlier run, which can still be shutting down.
  const vmis = [...world.vmis].filter(([, { key }]) => key.startsWith(`${scene.namespace}/`));
  return { scene, replicas, before: { ...world, vmis: new Map(vmis) }, ms: performance.now() - begin };
}

export async function performRun(cluster: Cluster, plan: Plan, prepared: Prepared): Promise<RunReport> {
  const { scene, replicas, before } = prepared;
  const { observer, sandbox } = cluster;
  const { client } = sandbox;
  const start = performance.now();
  const breaches: string[] = [];
  const report = (what: string) => void breaches.push(`${Math.round(performance.now() - start)} ms: ${what}`);
  const abandoned = new Set<string>();
  const failedByKubevirt = new Set<string>();
  const budgets = invariants.checkBudgets(askedThrough(client), observer, report);
  const evacuationChanged: Listener["evacuationChanged"] = (now) => {
    if (now?.status?.phase === "Abandoned") abandoned.add(now.status.virtualMachineInstanceUID ?? "");
  };
  const injectedBefore = injectedIn(cluster).length;
  const unansweredBefore = await persist(() => unansweredIn(client));
  const struck: string[] = [];
  const calm = new AbortController();
  const relay = startRelayOf(cluster.form, plan.relayed);
  const around = {
    plan,
    cluster,
    client,
    ...scene,
    replicas,
    relay,
    calm: calm.signal,
    deleted: new Set<string>(),
    report,
  };
  const drain = startDrain({ client, node: scene.nodeOf("drained"), retryMs: plan.retryMs });
  const runOf = (name: string): Run => ({ ...around, drain, strike: () => void struck.push(name) });
  const run = runOf("");
  const runs = new Map(plan.faults.map((name) => [name, runOf(name)]));
  observer.listen(
    invariants.checkLimits(plan.limits, report),
    checkGuests(observer, failedByKubevirt, report),
    { evacuationChanged },
    plan.budgeted ? budgets : {},
    ...[...runs].map(([name, of]) => FAULTS[name].watch?.(of) ?? {}),
  );
  const ticking = startTicking(run);
  const missing = () => missingIn(run, abandoned);

  const injected = plan.faults.map(async (name) => {
    const draw = drawFrom(`${plan.seed}/${plan.run}/${name}`);
    await Promise.resolve(FAULTS[name].inject?.(runs.get(name) ?? run, draw)).catch(() => undefined);
  });
  await Promise.race([
    delay(plan.calmMs),
    Promise.all(injected).then(() => until(() => missing().length === 0, plan.calmMs)),
  ]);
  calm.abort();
  await Promise.all(injected);
  if (isSimulated(sandbox)) sandbox.apiServer.faults.clear();
  replicas.spare();
  const undo = async (lasting: boolean) => {
    for (const [name, of] of runs) if ((FAULTS[name].lasts ?? false) === lasting) await FAULTS[name].undo?.(of);
  };
  await undo(false);
  await Promise.all(plan.faults.map(async (name) => FAULTS[name].remind?.(run)));
  await until(() => missing().length === 0, GOAL_WITHIN_MS);
  const unmet = missing();
  await drain.stop();
  await undo(true);
  const left = await settle(run);
  await ticking.stop();
  await relay.stop();
  observer.listen();
  await budgets.settled();

  const ends = { deleted: run.deleted, failedByKubevirt };
  const fates = fatesOf(before, await persist(() => readWorld(client)), ends);
  const { items } = await persist(() => client.list(evacuations, scene.namespace));
  await replicas.stop();
  return {
    run: plan.run,
    ms: Math.round(prepared.ms + performance.now() - start),
    vms: fates.size,
    fates: countsOf(fates.values()),
    endings: countsOf(items.map((one) => endingOf(one) ?? "none")),
    causes: countsOf(items.map(({ spec }) => spec.cause ?? "none")),
    struck: strikesOf(struck, {
      "requests failed": injectedIn(cluster).length - injectedBefore,
      deaths: replicas.deaths,
      "reviews without an answer": (await persist(() => unansweredIn(client))) - unansweredBefore,
    }),
    lost: [...fates].flatMap(([key, fate]) => (fate === "lost" ? [key] : [])),
    breaches,
    hung: [...unmet, ...left],
  };
}

function strikesOf(struck: readonly string[], counted: Counts): Counts {
  return { ...countsOf(struck), ...Object.fromEntries(Object.entries(counted).filter(([, count]) => count > 0)) };
}

function injectedIn({ sandbox }: Cluster): readonly unknown[] {
  return isSimulated(sandbox) ? sandbox.apiServer.faults.injected : [];
}

/** Returns functions that read from the API server. These functions repeat failed reads. */
function askedThrough(client: KubeClient): invariants.Asked {
  return {
    vmi: (key) => persist(() => client.get(virtualMachineInstances, key)),
    budgets: async (namespace) => (await persist(() => client.list(podDisruptionBudgets, namespace))).items,
  };
}

async function problemsOf({ form }: Cluster, { alive }: Replicas): Promise<readonly string[]> {
  return await form.problems(alive.map(({ name }) => name));
}

interface Ticking {
  stop(): Promise<void>;
}

/** Starts the controller that migrates External VMs. Starts the ticks: full scans, and calls of the cron trigger. */
function startTicking(run: Run): Ticking {
  const stopped = new AbortController();
  const every = async (ms: number, work: () => unknown) => {
    while (!stopped.signal.aborted) {
      await delay(ms, undefined, { signal: stopped.signal }).catch(() => undefined);
      if (!stopped.signal.aborted) await work();
    }
  };
  const running = Promise.all([
    every(run.plan.tickMs, () => run.replicas.tick()),
    every(TICK_MS, () => actAsExternalController(run)),
  ]);
  return {
    async stop() {
      stopped.abort();
      await running;
    },
  };
}

/**
 * Waits until nothing is in progress or the time limit is reached. Describes the objects that are still in progress.
 */
async function settle({ cluster, client, namespace, plan, replicas }: Run): Promise<readonly string[]> {
  const { maxAttempts, adoptSeconds } = plan.configuration.evacuation;
  const withinMs = REST_WITHIN_MS + maxAttempts * adoptSeconds * 1000;
  for (let ticks = 1; ; ticks++) {
    const objects = await persist(() => objectsOf(client, namespace));
    const found = invariants.leftOver(objects, plan.budgeted);
    const left = found.length > 0 ? found : await persist(() => problemsOf(cluster, replicas));
    if (left.length === 0 || ticks * TICK_MS > withinMs) return left;
    if (!plan.relayed || ticks % TICKS_APART === 0) replicas.tick();
    await delay(TICK_MS);
  }
}

async function objectsOf(client: KubeClient, namespace: string): Promise<invariants.Objects> {
  const [vmis, launchers, moves, budgets, asked] = await Promise.all([
    client.list(virtualMachineInstances, namespace),
    client.list(pods, namespace),
    client.list(migrations, namespace),
    client.list(podDisruptionBudgets, namespace),
    client.list(evacuations, namespace),
  ]);
  return {
    vmis: vmis.items,
    pods: launchers.items,
    migrations: moves.items,
    budgets: budgets.items,
    evacuations: asked.items,
  };
}
