import { setTimeout as delay } from "node:timers/promises";
import { applyManifests, createVirtualMachine, isAlreadyExists, virtualMachines } from "../../../sandbox/index.ts";
import { type NodeEvacuation, nodeEvacuations } from "../../stage/evacuations.ts";
import type { Draw } from "../draw.ts";
import { atTimes, type Fault, type Run, waited } from "../fault.ts";
import { movableVms } from "../vms.ts";
import { persist } from "../wait.ts";

const PLACE = "maintained";
/** Its own VM besides: it cannot migrate, and is restarted. */
const PINNED = "maintained-pinned";
const API = "admissionregistration.k8s.io/v1";
const GUARDED = "lifeboat-node-evacuation-deletion";
const ENDS: readonly unknown[] = ["Evacuated", "Refused", "Expired", "Withdrawn", "Gone"];
const LOOK_MS = 300;

/** Runs that still let a minute pass, by namespace. */
const passing = new Map<string, AbortController>();
let created = 0;

export const maintenance: Fault = {
  says: "people empty another node by NodeEvacuations, and pause, edit, withdraw and delete them by force meanwhile",
  weight: 5,
  lasts: true,
  vms: (draw) => movableVms(draw, PLACE),
  async inject(run, draw) {
    void persist(() => createPinned(run)).catch(() => undefined);
    await waited(run, draw.int(0, Math.floor(run.plan.calmMs / 3)));
    void letMinutesPass(run);
    await create(run, draw).catch(() => undefined);
    await atTimes(run, draw, [2, 6], () => draw.pick(ACTS)(run, draw));
  },
  /** In the end one is wanted, and may. */
  async remind(run) {
    await persist(() => createPinned(run));
    const [active] = await persist(() => activeOf(run));
    if (active === undefined) await persist(() => createOne(run, { virtualMachines: { whenBlocked: "Restart" } }));
    else await persist(() => change(run, active, WANTED));
  },
  expect: (run) => [...emptied(run), ...restarted(run)],
  async undo(run) {
    passing.get(run.namespace)?.abort();
    await persist(() => run.client.delete(virtualMachines, { namespace: run.namespace, name: PINNED }));
    await byForce(run, await persist(() => allOf(run)));
  },
};

/** The last one is to end as it should. */
function emptied({ cluster: { observer }, nodeOf }: Run): readonly string[] {
  const own = [...observer.nodeEvacuations.list()].filter(({ spec }) => spec.nodeName === nodeOf(PLACE));
  const { metadata, status = {} } = own.toSorted((a, b) => ageOf(a) - ageOf(b)).at(-1) ?? {};
  if (status.phase === "Evacuated") return [];
  return [`NodeEvacuation ${metadata?.name} is ${status.phase}: ${status.message}`];
}

/** Elsewhere, and each VMI once. */
function restarted({ cluster: { observer }, namespace, nodeOf, report }: Run): readonly string[] {
  const restarts = [...observer.evacuations.list()].filter(({ metadata, spec, status }) => {
    return metadata.namespace === namespace && spec.by === "Restart" && status?.phase === "Restarted";
  });
  const uids = restarts.map(({ status }) => status?.virtualMachineInstanceUID);
  if (new Set(uids).size < uids.length) report("a VM has been restarted twice");
  const { phase, nodeName } = observer.vmis.get(`${namespace}/${PINNED}`)?.status ?? {};
  return phase === "Running" && nodeName !== nodeOf(PLACE) ? [] : [`${PINNED} does not run on another node`];
}

const WANTED = {
  progress: "Running",
  startIf: "Always",
  schedule: null,
  virtualMachines: { whenBlocked: "Restart", concurrency: null },
};

function createPinned({ client, namespace, nodeOf }: Run): Promise<unknown> {
  const vm = {
    namespace,
    name: PINNED,
    evictionStrategy: "LiveMigrateIfPossible",
    migratable: false,
    reason: "InterfaceNotLiveMigratable",
  } as const;
  return createVirtualMachine(client, "Always", { ...vm, node: nodeOf(PLACE) }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

function createOne({ client, nodeOf }: Run, spec: object): Promise<unknown> {
  const nodeName = nodeOf(PLACE);
  created += 1;
  return client.create(nodeEvacuations, { metadata: { name: `${nodeName}-${created}` }, spec: { nodeName, ...spec } });
}

async function create(run: Run, draw: Draw): Promise<void> {
  const virtualMachines = {
    whenBlocked: draw.pick(["Restart", "Restart", "Wait"]),
    order: draw.pick(["ByPriority", "SmallestFirst", "LargestFirst"]),
    ...(draw.chance(0.5) && { concurrency: draw.int(1, 3) }),
  };
  const startIf = draw.pick(["Always", "Always", "WillSucceedWithShutdowns"]);
  await createOne(run, { virtualMachines, startIf, progress: draw.pick(["Running", "Running", "Paused"]) });
  run.strike();
}

async function allOf({ client, nodeOf }: Run): Promise<readonly NodeEvacuation[]> {
  const { items } = await client.list(nodeEvacuations);
  return items.filter(({ spec }) => spec.nodeName === nodeOf(PLACE));
}

async function activeOf(run: Run): Promise<readonly NodeEvacuation[]> {
  return (await allOf(run)).filter(
    ({ spec, status }) => spec["intent"] !== "Withdrawn" && !ENDS.includes(status?.phase),
  );
}

function change({ client }: Run, { metadata }: NodeEvacuation, spec: object): Promise<unknown> {
  return client.patch(nodeEvacuations, metadata, { type: "merge", body: { spec } });
}

type Act = (run: Run, draw: Draw) => Promise<unknown>;

/** Changes each one that has not ended. Returns false if there is none. */
const changing =
  (specOf: (draw: Draw) => object): Act =>
  async (run, draw) => {
    const active = await activeOf(run);
    for (const one of active) await change(run, one, specOf(draw));
    return active.length > 0;
  };

const pause = changing(() => ({ progress: "Paused" }));
const resume = changing(() => ({ progress: "Running" }));
const edit = changing((draw) => ({
  virtualMachines: {
    concurrency: draw.int(1, 4),
    whenBlocked: draw.pick(["Wait", "Restart"]),
    order: draw.pick(["SmallestFirst", "LargestFirst"]),
  },
}));
const expire = changing((draw) => ({
  schedule: { notAfter: new Date(Date.now() + draw.int(0, 1000)).toISOString() },
}));

/** Another one follows at once: there are two of the node for a moment. */
const withdraw: Act = async (run, draw) => {
  await changing(() => ({ intent: "Withdrawn" }))(run, draw);
  await create(run, draw);
};

const deleteByForce: Act = async (run, draw) => {
  await byForce(run, await activeOf(run));
  await create(run, draw);
};

/** The policy that refuses this is away for a moment. */
async function byForce({ client }: Run, all: readonly NodeEvacuation[]): Promise<void> {
  const kind = "ValidatingAdmissionPolicyBinding";
  const spec = { policyName: GUARDED, validationActions: ["Deny"] };
  const binding = { apiVersion: API, kind, metadata: { name: GUARDED }, spec };
  const path = `/apis/${API}/validatingadmissionpolicybindings/${GUARDED}`;
  try {
    await client.raw({ method: "DELETE", path });
    for (const { metadata } of all) await persist(() => client.delete(nodeEvacuations, metadata));
  } finally {
    await persist(() => applyManifests(client, [binding]));
  }
}

const ACTS: readonly Act[] = [pause, resume, edit, expire, withdraw, deleteByForce];

/** A VM is restarted when it was seen twice, a minute apart, that it cannot migrate: the run has no minutes. */
async function letMinutesPass(run: Run): Promise<void> {
  const over = new AbortController();
  passing.set(run.namespace, over);
  while (!over.signal.aborted) {
    const active = await activeOf(run).catch(() => []);
    for (const one of active) await letMinutePass(run, one).catch(() => undefined);
    await delay(LOOK_MS, undefined, { signal: over.signal }).catch(() => undefined);
  }
}

async function letMinutePass({ client }: Run, { metadata, status }: NodeEvacuation): Promise<void> {
  const { name, resourceVersion } = metadata;
  const since = new Date(Date.now() - 61_000).toISOString();
  if (!status?.blockers?.some((blocker) => (blocker.since ?? "") > since)) return;
  const blockers = status.blockers.map((blocker) => ({ ...blocker, since }));
  const body = { metadata: { resourceVersion }, status: { blockers } };
  await client.patch(nodeEvacuations, { name }, { type: "merge", body }, { subresource: "status" });
}

function ageOf({ metadata }: NodeEvacuation): number {
  return Number(metadata.name.slice(metadata.name.lastIndexOf("-") + 1));
}
