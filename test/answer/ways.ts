/**
 * Lists the kinds of work whose requests requests.test.ts counts. Each entry prepares a cluster, and does one piece of
 * work.
 */
import { reconcileWithin } from "../../functions/reconcile.ts";
import { tickTime } from "../../infra/lab/stage/tick-times.ts";
import type { ReconcileRequest } from "../../shared/reconcile/carry-out.ts";
import { reconcileAll, reconcileRequested } from "../../shared/reconcile/reconcile.ts";
import { type App, openApp } from "../support/app.ts";
import { FakeCluster } from "../support/cluster.ts";
import { podObject } from "../support/cluster/pods-and-nodes.ts";
import { kindOf } from "../support/cluster/request-info.ts";
import { evacuation, marked, migration, NODE, node, PINNED, pod, time, vmi } from "../support/fixtures.ts";
import { created, kubevirt, type Vm } from "../support/maintenance/kernel.ts";
import { deletionOf, evictionOf } from "../support/reviews.ts";
import { storesOf } from "../support/stores.ts";

export const FORMS = ["Worker", "in the cluster"] as const;
export type Form = (typeof FORMS)[number];

export interface Way {
  readonly fake: FakeCluster;
  readonly before?: readonly Step[];
  readonly takes: Step;
}
type Step = (app: App, fake: FakeCluster) => Promise<unknown>;

/**
 * Returns the number of requests, by verb and resource. Requests for settings are omitted, because Lifeboat caches the
 * settings for half a minute.
 */
export async function costOf({ fake, before = [], takes }: Way, form: Form): Promise<Readonly<Record<string, number>>> {
  const stores = storesOf(fake, () => undefined);
  const app = openApp(fake, undefined, form === "Worker" ? {} : { stores: () => stores });
  await app.target.settings(app.target.connect(10));
  for (const step of before) {
    await step(app, fake);
    await app.settle();
  }
  const known = fake.requests.length;
  await takes(app, fake);
  await app.settle();
  const asked = fake.requests.slice(known).map(kindOf);
  const counted = Map.groupBy(
    asked.filter((kind) => !OF_SETTINGS.has(kind)),
    (kind) => kind,
  );
  return Object.fromEntries([...counted].map(([kind, all]) => [kind, all.length]));
}

const OF_SETTINGS = new Set(["get lifeboatconfigurations", "list kubevirts"]);

const evict: Step = (app) => app.evict(evictionOf(pod()));
const wait: Step = async (app) => app.pass(5);
const tick: Step = (app) => app.tick(tickTime("prod", "small"));
const scan: Step = ({ target }) => reconcileWithin(target, 60, reconcileAll);
const report =
  (...requests: readonly ReconcileRequest[]): Step =>
  ({ target }) =>
    reconcileWithin(target, 20, (deps) => reconcileRequested(requests, deps), { watched: true });

const WEB = { namespace: "apps", name: "web" };
const OF_WEB = report({ kind: "VirtualMachineInstance", ...WEB });
const OF_NODE = report({ kind: "Node", name: NODE });

function oneVm(configuration: object = {}): FakeCluster {
  const fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Never", ...configuration });
  fake.nodes.put(node(), node({ name: "node02" }));
  fake.vmis.put(vmi());
  fake.pods.put(pod());
  return fake;
}

function moving(): FakeCluster {
  const fake = oneVm();
  fake.vmis.put(marked({ isMigrating: true }));
  fake.migrations.put(migration({ phase: "Running", evacuates: NODE }));
  fake.evacuations.put(evacuation({ status: { phase: "Migrating", reason: "Migrating" } }));
  return fake;
}

const guarded = (...gates: readonly string[]) =>
  oneVm({ featureGates: Object.fromEntries(gates.map((gate) => [gate, true])) });
const DELETION = deletionOf(
  podObject(pod({ disruptionTarget: { active: true, reason: "PreemptionByScheduler", since: time(0) } })),
);
const deletes: Step = (app) => app.delete(DELETION);

/** Creates a node with 100 VMs and its NodeEvacuation. Every tenth VM cannot migrate. */
function hundred(spec: object, { pinned = true } = {}): FakeCluster {
  const vms = Array.from({ length: 100 }, (_, i): Vm => {
    return { name: `vm-${i}`, vmi: pinned && i % 10 === 0 ? PINNED : {}, runStrategy: "Always" };
  });
  const fake = created(spec, vms);
  fake.configure({ disruptionBudgets: "Never" });
  return fake;
}

const OF_KERNEL = report({ kind: "NodeEvacuation", name: "kernel" });
const startsMigrations: Step = async (_, fake) => {
  for (const one of fake.vmis.list(({ evacuationNodeName }) => evacuationNodeName === NODE)) {
    fake.vmis.put({ ...one, isMigrating: true });
    const { name } = one;
    fake.migrations.put(
      migration({ name, uid: `migration-${name}`, vmiName: name, phase: "Running", evacuates: NODE }),
    );
  }
};
const moves: Step = async (_, fake) => kubevirt(fake);
const RESTARTED = { virtualMachines: { whenBlocked: "Restart" } };
const LATER = { schedule: { notBefore: time(3600) } };

function tainted(taint: object): FakeCluster {
  const fake = guarded("NoExecuteTaintEvictionLiveMigration");
  fake.nodes.put(node({ taints: [{ key: "maintenance", effect: "NoExecute", timeAdded: time(-60), ...taint }] }));
  return fake;
}

export const WAYS = {
  "a first eviction": () => ({ fake: oneVm(), takes: evict }),
  "the first repeat of an eviction": () => ({ fake: oneVm(), before: [evict, wait], takes: evict }),
  "a further repeat of an eviction": () => ({ fake: oneVm(), before: [evict, wait, evict, wait], takes: evict }),
  "a first deletion, which the guard refuses": () => ({
    fake: guarded("PreemptionEvictionLiveMigration"),
    takes: deletes,
  }),
  "a repeat of a deletion": () => ({
    fake: guarded("PreemptionEvictionLiveMigration"),
    before: [deletes, wait],
    takes: deletes,
  }),
  "an event of a VM at rest": () => ({ fake: oneVm(), takes: OF_WEB }),
  "an event of a VM that moves": () => ({ fake: moving(), before: [OF_WEB, wait], takes: OF_WEB }),
  "an event of a VM that has moved": () => ({
    fake: moving(),
    before: [OF_WEB, async (_, fake) => fake.vmis.put(vmi({ nodeName: "node02", activePods: { next: "node02" } }))],
    takes: OF_WEB,
  }),
  "an event of a node": () => ({ fake: oneVm(), takes: OF_NODE }),
  "an event of a node that gets the drain taint": () => {
    const fake = oneVm({ kubeVirt: undefined });
    fake.nodes.put(node({ taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] }));
    return { fake, takes: OF_NODE };
  },
  "an event of a node that comes under pressure": () => {
    const fake = guarded("NodePressureEvictionLiveMigration");
    fake.nodes.put(node({ pressures: ["MemoryPressure"] }));
    return { fake, takes: OF_NODE };
  },
  "an event of a node that gets a NoExecute taint": () => ({ fake: tainted({}), takes: OF_NODE }),
  "a tick at rest": () => ({ fake: oneVm(), takes: tick }),
  "a tick with one Evacuation": () => ({ fake: moving(), before: [tick, wait], takes: tick }),
  "NodeEvacuation of 100 VMs: a tick while the first VMs move": () => ({
    fake: hundred({}, { pinned: false }),
    before: [tick, startsMigrations, tick, wait],
    takes: tick,
  }),
  "NodeEvacuation of 100 VMs: a reconcile while the first VMs move": () => ({
    fake: hundred({}, { pinned: false }),
    before: [tick, startsMigrations, tick, wait],
    takes: OF_KERNEL,
  }),
  "NodeEvacuation of 100 VMs: a reconcile when the first VMs have left": () => ({
    fake: hundred({}, { pinned: false }),
    before: [tick, startsMigrations, tick, wait, moves],
    takes: OF_KERNEL,
  }),
  "NodeEvacuation of 100 VMs: a reconcile, ten VMs cannot migrate": () => ({
    fake: hundred({}),
    before: [tick, startsMigrations, tick, wait],
    takes: OF_KERNEL,
  }),
  "NodeEvacuation of 100 VMs: a reconcile, ten VMs are to be restarted": () => ({
    fake: hundred(RESTARTED),
    before: [tick, startsMigrations, tick, wait],
    takes: OF_KERNEL,
  }),
  "scheduled NodeEvacuation of 100 VMs: the first reconcile": () => ({ fake: hundred(LATER), takes: OF_KERNEL }),
  "scheduled NodeEvacuation of 100 VMs: a later tick": () => ({
    fake: hundred(LATER),
    before: [tick, wait],
    takes: tick,
  }),
  "scheduled NodeEvacuation of 100 VMs: the first reconcile, ten VMs are to be restarted": () => ({
    fake: hundred({ ...LATER, ...RESTARTED }),
    takes: OF_KERNEL,
  }),
  "lifeboat explain node, with 100 VMs": () => ({ fake: hundred(LATER), takes: (app) => app.explainNode(NODE) }),
  "a scan at rest": () => ({ fake: oneVm(), takes: scan }),
  "a scan with one Evacuation": () => ({ fake: moving(), before: [tick, wait], takes: scan }),
  "a scan with a NodeEvacuation of 100 VMs": () => ({
    fake: hundred({}),
    before: [tick, startsMigrations, tick, wait],
    takes: scan,
  }),
} as const satisfies Record<string, () => Way>;
