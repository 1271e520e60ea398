/** Fault: people drain another node with NodeEvacuations, and change these objects during the drain. */
import { applyManifests, virtualMachines } from "../../../sandbox/index.ts";
import { hasEnded, type NodeEvacuation, nodeEvacuations } from "../../stage/evacuations.ts";
import type { Draw } from "../draw.ts";
import { atTimes, type Fault, type Run, waited } from "../fault.ts";
import { createPinned, letMinutesPass } from "../pinned.ts";
import { movableVms } from "../vms.ts";
import { persist } from "../wait.ts";

const PLACE = "maintained";
/** An additional VM that cannot migrate. Lifeboat restarts this VM. */
const PINNED = "maintained-pinned";
const API = "admissionregistration.k8s.io/v1";
const GUARDED = "lifeboat-node-evacuation-deletion";

const passing = new Map<string, AbortController>();
let created = 0;

export const maintenance: Fault = {
  says: "people drain a second node with NodeEvacuations, and pause, edit, withdraw and delete (by force) these objects during the drain",
  weight: 5,
  lasts: true,
  vms: (draw) => movableVms(draw, PLACE),
  async inject(run, draw) {
    void persist(() => createPinned(run, PINNED, PLACE)).catch(() => undefined);
    await waited(run, draw.int(0, Math.floor(run.plan.calmMs / 3)));
    passing.set(
      run.namespace,
      letMinutesPass(run, () => activeOf(run)),
    );
    await create(run, draw).catch(() => undefined);
    await atTimes(run, draw, [2, 6], () => draw.pick(ACTS)(run, draw));
  },
  /**
   * Creates a NodeEvacuation, or changes the active NodeEvacuation, so that the drain can succeed at the end of the
   * run.
   */
  async remind(run) {
    await persist(() => createPinned(run, PINNED, PLACE));
    const [active] = await persist(() => activeOf(run));
    if (active === undefined) await persist(() => createOne(run, { virtualMachines: { whenBlocked: "Restart" } }));
    else await persist(() => change(run, active, WANTED));
  },
  expect: (run) => [...drainedNodes(run), ...restarted(run)],
  async undo(run) {
    passing.get(run.namespace)?.abort();
    await persist(() => run.client.delete(virtualMachines, { namespace: run.namespace, name: PINNED }));
    await byForce(run, await persist(() => allOf(run)));
  },
};

function drainedNodes({ cluster: { observer }, nodeOf }: Run): readonly string[] {
  const own = [...observer.nodeEvacuations.list()].filter(({ spec }) => spec.nodeName === nodeOf(PLACE));
  const { metadata, status = {} } = own.toSorted((a, b) => ageOf(a) - ageOf(b)).at(-1) ?? {};
  if (status.phase === "Evacuated") return [];
  return [`NodeEvacuation ${metadata?.name} is ${status.phase}: ${status.message}`];
}

/** Checks that the additional VM runs on another node, and was not restarted twice. */
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
  return (await allOf(run)).filter((one) => one.spec["intent"] !== "Withdrawn" && !hasEnded(one));
}

function change({ client }: Run, { metadata }: NodeEvacuation, spec: object): Promise<unknown> {
  return client.patch(nodeEvacuations, metadata, { type: "merge", body: { spec } });
}

type Act = (run: Run, draw: Draw) => Promise<unknown>;

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

const withdraw: Act = async (run, draw) => {
  await changing(() => ({ intent: "Withdrawn" }))(run, draw);
  await create(run, draw);
};

const deleteByForce: Act = async (run, draw) => {
  await byForce(run, await activeOf(run));
  await create(run, draw);
};

/**
 * Deletes NodeEvacuations. Removes the policy binding that refuses the deletion, and creates the binding again
 * afterwards.
 */
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

function ageOf({ metadata }: NodeEvacuation): number {
  return Number(metadata.name.slice(metadata.name.lastIndexOf("-") + 1));
}
