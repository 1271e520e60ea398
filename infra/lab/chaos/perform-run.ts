/** One run: a drain, everything that goes wrong meanwhile, the calm after it, the judgement. */
import { setTimeout as delay } from "node:timers/promises";
import { readWorld } from "../stage/watch.ts";
import type { World } from "../stage/world.ts";
import { isSimulated, type SimulatedSandbox } from "../../sandbox/sandbox.ts";
import { events } from "../../sandbox/actors/resources.ts";
import { IS_REAL } from "../stage/control-plane.ts";
import type { Arena } from "./arena.ts";
import { isRefused } from "./cast.ts";
import { type Crew, startCrew } from "./crew.ts";
import { EVACUATIONS_PER_NODE } from "./descheduler-policy.ts";
import { startDrain } from "./drain.ts";
import { createEndings } from "./endings.ts";
import { missingIn } from "./goal.ts";
import { calmDown, endDisruptions } from "./happen.ts";
import { type Fate, fatesOf, isLetGo } from "./judgement.ts";
import { createLedger } from "./ledger.ts";
import { askedThrough, createProtectionCheck } from "./protection.ts";
import { actAsOwner } from "./owner.ts";
import { persist } from "./persist.ts";
import { type Plan, SOFT_PATIENCE_SECONDS } from "./plan.ts";
import type { Counts, RunReport } from "./report.ts";
import { createRequestCheck } from "./requests.ts";
import { readCluster } from "./read-cluster.ts";
import { hasBudget, unrestOf } from "./rest.ts";
import { setScene, type Scene } from "./scene.ts";
import type { Stage } from "./stage.ts";
import { createStopCheck } from "./stops.ts";
import { tellTimeline } from "./timeline.ts";
import { until } from "./until.ts";
import { withWhereabouts } from "./whereabouts.ts";

/** A real control plane does in seconds what takes a simulated one a moment: fifty VMs leave in minutes. */
const PATIENCE = IS_REAL ? 3 : 1;
/** From the end of the faults to the end of what the drain is for. */
const GOAL_WITHIN_MS = 120_000 * PATIENCE;
/** From the end of all disruptions to a cluster where nothing is under way. */
const REST_WITHIN_MS = 90_000 * PATIENCE;
/** By clocks that are two minutes apart a back-off takes two minutes more, and KubeVirt is waited for longer than that. */
const REST_WITHIN_SKEWED_MS = 300_000;
const BUDGETS_WITHIN_MS = 60_000;
const TICK_MS = 300;
/** So many looks at what is left are between two ticks where the relay tells Lifeboat what happens. */
const TICKS_APART = 10;
const MINUTE_SECONDS = 60;
/** By the API server: no fault of the plan, unless it was away; this machine is too busy. */
const NOT_WAITED_FOR = "guard not waited for";

/** A scene that is set: every VM runs and has its budget, if it is to have one, and nothing has gone wrong yet. */
export interface Prepared {
  readonly scene: Scene;
  readonly crew: Crew;
  readonly before: World;
  readonly ms: number;
}

/** If this fails, the run has not begun. */
export async function prepareRun(arena: Arena, plan: Plan): Promise<Prepared> {
  const begin = performance.now();
  const { client } = arena.sandbox;
  const scene = await setScene(arena, plan, `run-${plan.run}`);
  await persist(() => arena.begin(plan.certificateSeconds));
  const crew = await startCrew({ ...arena, plan });
  await persist(() => untilAsked(arena, crew));
  await persist(async () => crew.alive[0]?.ask("POST", "/reconcile"));
  const hasAllBudgets = () => !plan.budgeted || budgetsMissing(arena, scene) === 0;
  if (!(await until(hasAllBudgets, BUDGETS_WITHIN_MS))) throw new Error("not every VM has got its budget");
  const before = withoutOthers(await readWorld(client), scene);
  return { scene, crew, before, ms: performance.now() - begin };
}

export async function performRun(arena: Arena, plan: Plan, prepared: Prepared): Promise<RunReport> {
  const { scene, crew, before } = prepared;
  const { client } = arena.sandbox;
  const start = performance.now();
  const letGo = new Set(plan.vms.filter(isLetGo).map(({ name }) => `${scene.namespace}/${name}`));
  const elapsed = () => performance.now() - start;
  const ledger = createLedger({ limits: plan.limits, letGo, coveredBy: firstSigtermOf(plan), elapsed });
  const protection = createProtectionCheck({
    asked: askedThrough(client),
    observer: arena.observer,
    report: ledger.report,
  });
  const endings = createEndings();
  const requests = requestCheckOf(plan, scene, ledger.report);
  const stops = createStopCheck();
  arena.observer.listen(ledger, endings, requests, stops, ...(plan.budgeted ? [protection] : []));
  const injectedBefore = injectedIn(arena).length;
  const lateBefore = arena.front.late;
  const refused: string[] = [];
  const onRefused = (pod: string) => void refused.push(pod);
  const drain = startDrain({ client, node: scene.nodeOf.Drained, retryMs: plan.retryMs, onRefused });
  const { report } = ledger;
  const stage: Stage = { arena, plan, scene, crew, drain, report, deleted: new Set(), terminations: new Set() };
  crew.arm();
  const ticking = startTicking(stage);
  const relay = plan.relayed ? arena.startRelay() : undefined;

  const told = await tellTimeline(stage, start);
  const missingNow = () => missingIn(stage, { abandoned: endings.abandoned, asked: requests.asked });
  await until(() => missingNow().length === 0, Math.max(0, start + plan.calmAt - performance.now()));
  await calmDown(stage);
  await until(() => missingNow().length === 0, GOAL_WITHIN_MS);
  const missing = withWhereabouts(missingNow(), await persist(() => readCluster(client, scene.namespace)));
  await endDisruptions(stage);
  const unrest = await settle(stage);
  await ticking.stop();
  await relay?.stop();
  arena.observer.listen();
  await protection.settled();
  const written = await persist(() => client.list(events, scene.namespace));
  stops.delayedBy(written.items).forEach(ledger.report);

  const after = await persist(() => readWorld(client));
  const fates = fatesOf(before, after, { deleted: stage.deleted, letGo });
  await crew.stop();
  return {
    run: plan.run,
    form: plan.form,
    drawn: plan.faults,
    ms: Math.round(prepared.ms + performance.now() - start),
    vms: fates.size,
    fates: count(fates.values()),
    endings: count(endings.all.values()),
    causes: count(endings.causes.values()),
    faults: count([
      ...injectedIn(arena)
        .slice(injectedBefore)
        .map(({ effect }) => effect.type),
      ...told.done.filter((does) => does !== "inject"),
      ...Array.from({ length: crew.deaths }, () => "Worker killed"),
      ...Array.from({ length: ledger.shielded }, () => "VM shielded"),
      ...Array.from({ length: arena.front.late - lateBefore }, () => NOT_WAITED_FOR),
    ]),
    inVain: count([...told.inVain, ...ofThoseWhoCannotLeave(refused, plan).map(() => "evict")]),
    asked: requests.asked.size,
    cycles: count(crew.cycles),
    lost: keysOf(fates, "lost"),
    breaches: ledger.breaches,
    hung: [...missing, ...unrest],
    mostRunning: ledger.mostRunning,
    reached: [...ledger.reached],
  };
}

function injectedIn({ sandbox }: Arena): SimulatedSandbox["apiServer"]["faults"]["injected"] {
  return isSimulated(sandbox) ? sandbox.apiServer.faults.injected : [];
}

/** Throws if the API server cannot ask Lifeboat yet. */
async function untilAsked(arena: Arena, crew: Crew): Promise<void> {
  const problems = await problemsOf(arena, crew);
  if (problems.length > 0) throw new Error(problems.join("; "));
}

async function problemsOf(arena: Arena, { alive }: Crew): Promise<readonly string[]> {
  return await arena.problems(alive.map(({ name }) => name));
}

function budgetsMissing({ observer }: Arena, { namespace }: Scene): number {
  const mine = <T extends { readonly metadata: { readonly namespace?: string } }>(objects: Iterable<T>) =>
    [...objects].filter(({ metadata }) => metadata.namespace === namespace);
  const seen = mine(observer.budgets.list()).filter(({ status }) => status?.observedGeneration !== undefined);
  return mine(observer.vmis.list()).filter(hasBudget).length - seen.length;
}

/** At the earliest, in milliseconds since the run began. */
function firstSigtermOf({ moments }: Plan): number {
  const { at = 0 } = moments.find(({ does }) => does === "squeeze") ?? {};
  return at + SOFT_PATIENCE_SECONDS * 1000;
}

/** Requests expire by the clock: two that are two minutes apart do not count each other's. */
function requestCheckOf({ workers }: Plan, { nodeOf }: Scene, report: (what: string) => void) {
  const apartSeconds = Math.max(...workers) - Math.min(...workers);
  const allowed = apartSeconds > MINUTE_SECONDS ? Infinity : EVACUATIONS_PER_NODE;
  return createRequestCheck({ node: nodeOf.Retired, allowed, report });
}

/** Evictions that are refused for as long as the VM runs. */
function ofThoseWhoCannotLeave(pods: readonly string[], { vms }: Plan): readonly string[] {
  const members = vms.filter((member) => member.place === "Drained" && isRefused(member));
  return pods.filter((pod) => members.some(({ name }) => pod.includes(`/virt-launcher-${name}-`)));
}

interface Ticking {
  stop(): Promise<void>;
}

/** What drives Lifeboat besides the drain; and the owners of External VMs. */
function startTicking(stage: Stage): Ticking {
  const stopped = new AbortController();
  const every = async (ms: number, work: () => unknown) => {
    while (!stopped.signal.aborted) {
      await delay(ms, undefined, { signal: stopped.signal }).catch(() => undefined);
      if (!stopped.signal.aborted) await work();
    }
  };
  const running = Promise.all([every(stage.plan.tickMs, () => tick(stage)), every(TICK_MS, () => actAsOwner(stage))]);
  return {
    async stop() {
      stopped.abort();
      await running;
    },
  };
}

function tick({ crew, plan }: Stage): void {
  crew.tick();
  if (plan.faults.includes("Descheduling")) crew.deschedule();
}

/** What is still under way when the time is over, counted in looks as in `until`; nothing, if all is well. */
async function settle({ arena, plan, scene, crew }: Stage): Promise<readonly string[]> {
  const restWithinMs = plan.faults.includes("ClockSkew") ? REST_WITHIN_SKEWED_MS : REST_WITHIN_MS;
  for (let looks = 1; ; looks++) {
    const cluster = await persist(() => readCluster(arena.sandbox.client, scene.namespace));
    const left = unrestOf(cluster, plan.budgeted);
    const unrest = left.length > 0 ? left : await persist(() => problemsOf(arena, crew));
    if (unrest.length === 0 || looks * TICK_MS > restWithinMs) return unrest;
    if (!plan.relayed || looks % TICKS_APART === 0) crew.tick();
    await delay(TICK_MS);
  }
}

/** Of the VMs of other runs, if some are still on their way out, nothing is to be said here. */
function withoutOthers(world: World, { namespace }: Scene): World {
  const vmis = [...world.vmis].filter(([, { key }]) => key.startsWith(`${namespace}/`));
  return { ...world, vmis: new Map(vmis) };
}

function count(items: Iterable<string>): Counts {
  const counts: Counts = {};
  for (const item of items) counts[item] = (counts[item] ?? 0) + 1;
  return counts;
}

function keysOf(fates: ReadonlyMap<string, Fate>, wanted: Fate): readonly string[] {
  return [...fates].flatMap(([key, fate]) => (fate === wanted ? [key] : []));
}
