/** Fault: people drain other nodes with a RollingMaintenance, and change it during the drains. */
import { setTimeout as delay } from "node:timers/promises";
import { isFinal, nodes, virtualMachineInstances, virtualMachines } from "../../../sandbox/index.ts";
import {
  hasEnded,
  type NodeEvacuation,
  nodeEvacuations,
  type RollingMaintenance,
  rollingMaintenances,
} from "../../stage/evacuations.ts";
import type { Draw } from "../draw.ts";
import { atTimes, type Fault, type Run, waited } from "../fault.ts";
import type { Listener } from "../observer.ts";
import { createPinned, letMinutesPass } from "../pinned.ts";
import { outcomeProblems, partsOf, remember, type Seen, type Times, timesAfter, unavailableOf } from "../rolling.ts";
import { movableVms } from "../vms.ts";
import { persist } from "../wait.ts";

const PLACES = ["rolled-1", "rolled-2", "rolled-3"];
/**
 * Names of additional VMs. `PINNED` cannot migrate, so Lifeboat restarts it. The guest of `ENDING` shuts down when its
 * pod is evicted.
 */
const PINNED = "rolled-pinned";
const ENDING = "rolled-ending";
const ENDS: readonly unknown[] = ["Completed", "Stopped", "Withdrawn"];
const POLL_MS = 200;

interface Knowledge {
  readonly history: Map<string, Seen>;
  readonly times: Map<string, Times>;
  /** UIDs of NodeEvacuations in phase `Evacuated` whose nodes have been checked for remaining VMs. */
  readonly examined: Set<string>;
  /** UIDs of NodeEvacuations whose nodes are schedulable again. */
  readonly back: Set<string>;
  /** UIDs of RollingMaintenances that took too many nodes out of service. */
  readonly reported: Set<string>;
  readonly over: AbortController;
  created: number;
}

const known = new Map<string, Knowledge>();
const knowledgeOf = ({ namespace }: Run): Knowledge => {
  const one = known.get(namespace);
  if (one === undefined) throw new Error(`the fault does not observe the namespace ${namespace}`);
  return one;
};

export const rollingMaintenance: Fault = {
  says: "people drain two or three other nodes with a RollingMaintenance, and pause, withdraw and repeat it during the drains",
  weight: 5,
  lasts: true,
  vms: (draw) => [
    ...draw
      .some(PLACES, 2, 3)
      .toSorted()
      .flatMap((place) => movableVms(draw, place, { mustLeave: false })),
    { ...ENDS_WHEN_EVICTED, place: "rolled-1" },
  ],
  watch: watched,
  async inject(run, draw) {
    void takeBack(run);
    await persist(() => createPinned(run, PINNED, "rolled-1")).catch(() => undefined);
    await waited(run, draw.int(0, Math.floor(run.plan.calmMs / 3)));
    await create(run, draw).catch(() => undefined);
    await atTimes(run, draw, [2, 6], () => draw.pick(ACTS)(run, draw));
  },
  /** Creates a RollingMaintenance, or resumes the active RollingMaintenances. */
  async remind(run) {
    const active = await persist(() => activeOf(run));
    if (active.length === 0) await persist(() => createOne(run, { nextNode: "WhenUncordoned" }));
    for (const one of active) await persist(() => change(run, one, { progress: "Running" }));
  },
  expect: unmet,
  async undo(run) {
    const { over } = knowledgeOf(run);
    over.abort();
    known.delete(run.namespace);
    const pinned = { namespace: run.namespace, name: PINNED };
    await persist(() => run.client.delete(virtualMachines, pinned)).catch(() => undefined);
    const own = ownOf(run);
    const parts = own.flatMap((rm) => partsOf(rm, run.cluster.observer.nodeEvacuations.list()));
    // Ignores a refused deletion: the API server refuses to delete a RollingMaintenance that has not ended. A run with
    // such an object has failed, so the next run gets a new cluster.
    for (const { metadata } of own) await run.client.delete(rollingMaintenances, metadata).catch(() => undefined);
    for (const { metadata } of parts) await run.client.delete(nodeEvacuations, metadata).catch(() => undefined);
  },
};

const ENDS_WHEN_EVICTED = { name: ENDING, strategy: "None", migratable: true, failures: 0, mustLeave: false } as const;

function nodesOf({ plan, nodeOf }: Run): readonly string[] {
  return PLACES.filter((place) => plan.vms.some((vm) => vm.place === place)).map(nodeOf);
}

function ownOf({ cluster: { observer }, namespace }: Run): readonly RollingMaintenance[] {
  return [...observer.rollingMaintenances.list()].filter(({ metadata }) => metadata.name.startsWith(`${namespace}-`));
}

function partsIn(run: Run): readonly NodeEvacuation[] {
  return ownOf(run).flatMap((rm) => partsOf(rm, run.cluster.observer.nodeEvacuations.list()));
}

function watched(run: Run): Partial<Listener> {
  const { cluster, namespace } = run;
  const history = new Map<string, Seen>();
  const times = new Map<string, Times>();
  const over = new AbortController();
  known.set(namespace, { history, times, examined: new Set(), back: new Set(), reported: new Set(), over, created: 0 });
  for (const vmi of cluster.observer.vmis.list()) remember(history, vmi, undefined, performance.now());
  return {
    vmiChanged: (now, before) => remember(history, now, before, performance.now()),
    nodeEvacuationChanged(now) {
      if (now === undefined) return;
      times.set(now.metadata.uid, timesAfter(now, times.get(now.metadata.uid), performance.now()));
      judgeNodes(run);
    },
  };
}

function judgeNodes(run: Run): void {
  const { back, reported } = knowledgeOf(run);
  for (const rm of ownOf(run)) {
    const away = unavailableOf(rm, partsOf(rm, run.cluster.observer.nodeEvacuations.list()), back);
    const most = Number(rm.spec["maxUnavailable"]);
    if (away.length <= most || reported.has(rm.metadata.uid)) continue;
    reported.add(rm.metadata.uid);
    run.report(`${rm.metadata.name} keeps ${away.join(" and ")} out of service, but maxUnavailable is ${most}`);
  }
}

function unmet(run: Run): readonly string[] {
  const own = ownOf(run).toSorted((a, b) => numberOf(a) - numberOf(b));
  const parts = partsIn(run);
  const { history, times, examined } = knowledgeOf(run);
  const last = own.at(-1);
  const rows = last?.status?.nodes ?? [];
  return [
    ...own.filter(isActive).map(({ metadata, status }) => `${metadata.name} is ${status?.phase}: ${status?.message}`),
    ...(last?.status?.phase === "Completed" ? [] : [`${last?.metadata.name} is ${last?.status?.phase}, not Completed`]),
    ...rows.filter(({ phase }) => !DONE.includes(phase)).map(({ name, phase }) => `node ${name} is ${phase}`),
    ...parts.filter((one) => !hasEnded(one)).map(({ metadata, status }) => `${metadata.name} is ${status?.phase}`),
    ...parts
      .filter((one) => isEvacuated(one) && !examined.has(one.metadata.uid))
      .map(({ metadata }) => `${metadata.name}: the observer has not seen its node empty`),
    ...parts.filter(hasEnded).flatMap((one) => outcomeProblems(one, history, times.get(one.metadata.uid))),
  ];
}

const DONE: readonly unknown[] = ["Evacuated", "Returned"];
const isEvacuated = ({ status }: NodeEvacuation): boolean => status?.phase === "Evacuated";
const isActive = ({ status }: RollingMaintenance): boolean => !ENDS.includes(status?.phase);
const numberOf = ({ metadata }: RollingMaintenance): number => Number(metadata.name.split("-").at(-1));

async function activeOf({ client, namespace }: Run): Promise<readonly RollingMaintenance[]> {
  const { items } = await client.list(rollingMaintenances);
  const own = items.filter(({ metadata }) => metadata.name.startsWith(`${namespace}-`));
  return own.filter((one) => isActive(one) && one.spec["intent"] !== "Withdrawn");
}

function createOne(run: Run, spec: object): Promise<unknown> {
  const knowledge = knowledgeOf(run);
  knowledge.created += 1;
  const template = { startIf: "Always", virtualMachines: { whenBlocked: "Restart" } };
  const metadata = { name: `${run.namespace}-${knowledge.created}` };
  return run.client.create(rollingMaintenances, {
    metadata,
    spec: { nodes: { names: nodesOf(run) }, template, ...spec },
  });
}

async function create(run: Run, draw: Draw): Promise<void> {
  const spec = {
    nextNode: draw.pick(["WhenEvacuated", "WhenUncordoned"]),
    maxUnavailable: draw.int(1, 2),
    progress: draw.pick(["Running", "Running", "Paused"]),
    steering: draw.pick(["None", "AwayFromPending"]),
  };
  await createOne(run, spec);
  run.strike();
}

function change({ client }: Run, { metadata }: RollingMaintenance, spec: object): Promise<unknown> {
  return client.patch(rollingMaintenances, metadata, { type: "merge", body: { spec } });
}

type Act = (run: Run, draw: Draw) => Promise<unknown>;

const changing =
  (spec: object): Act =>
  async (run) => {
    const active = await activeOf(run);
    for (const one of active) await change(run, one, spec);
    return active.length > 0;
  };

const withdraw: Act = async (run, draw) => {
  await changing({ intent: "Withdrawn" })(run, draw);
  await create(run, draw);
};

const ACTS: readonly Act[] = [changing({ progress: "Paused" }), changing({ progress: "Running" }), withdraw];

/** Uncordons the evacuated nodes that a RollingMaintenance waits for. First checks that the nodes are empty. */
async function takeBack(run: Run): Promise<void> {
  const { over } = knowledgeOf(run);
  const minutes = letMinutesPass(run, async () => partsIn(run).filter((one) => !hasEnded(one)));
  while (!over.signal.aborted) {
    for (const rm of ownOf(run)) {
      const empty = partsOf(rm, run.cluster.observer.nodeEvacuations.list()).filter(isEvacuated);
      for (const one of empty) await finish(run, rm, one).catch(() => undefined);
    }
    await delay(POLL_MS, undefined, { signal: over.signal }).catch(() => undefined);
  }
  minutes.abort();
}

async function finish(run: Run, { spec }: RollingMaintenance, { metadata, spec: { nodeName } }: NodeEvacuation) {
  const { examined, back } = knowledgeOf(run);
  const name = { name: nodeName };
  if (!examined.has(metadata.uid)) {
    const { items } = await run.client.list(virtualMachineInstances);
    const isCordoned = (await run.client.get(nodes, name))?.spec?.unschedulable === true;
    const there = items.filter(({ status }) => status?.nodeName === nodeName && !isFinal(status));
    if (isCordoned && there.length > 0)
      run.report(`${metadata.name} is Evacuated, but ${there[0]?.metadata.name} runs on its node`);
    examined.add(metadata.uid);
  }
  if (spec["nextNode"] !== "WhenUncordoned" || back.has(metadata.uid)) return;
  back.add(metadata.uid);
  await persist(() => run.client.patch(nodes, name, { type: "merge", body: { spec: { unschedulable: null } } }));
}
