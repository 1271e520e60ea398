/** A drain end to end, in a cluster with Lifeboat as shipped beside it, and in one where KubeVirt is alone. */
import { type KubeClient, KUBEVIRT, kubevirt, startSandbox } from "../../../sandbox/index.ts";
import { buildWorker } from "../../../tools/build-worker.ts";
import { numbered } from "../../../tools/in-parallel.ts";
import { drainNode } from "../../stage/drain-client.ts";
import { type Lifeboat, startLifeboat } from "../../stage/lifeboat.ts";
import { createNodes, createVms } from "../../stage/scene.ts";
import type { PartOptions } from "../main.ts";
import type { Measurement } from "../measurement.ts";

const NAMESPACE = "vms";
const NODE = "node01";
/** So that migrations are what a drain waits for, and not the one process in which the sandbox does everything. */
const MIGRATION_SECONDS = 5;
const DRAIN_TIMEOUT_MS = 600_000;
/** Room for all of them anywhere. */
const CAPACITY = { cpu: "1000", memory: "4Ti", pods: "1000", "devices.kubevirt.io/kvm": "10k" };
const LIMITS = { migrations: { parallelMigrationsPerCluster: 10, parallelOutboundMigrationsPerNode: 10 } };

interface Drained {
  /** Until `kubectl drain` ends, which asks again every 5 s. */
  readonly seconds: number;
  /** Until the last migration has ended: to the second, as Kubernetes' timestamps are. */
  readonly movedSeconds: number;
  /** Of API server, KubeVirt and drain together: they share this process. */
  readonly cpuMs: number;
}

export async function runDrain({ quick, note }: PartOptions): Promise<readonly Measurement[]> {
  const size = quick ? 40 : 200;
  await buildWorker();
  note(`draining ${size} VMs, with Lifeboat`);
  const lifeboat = await drain(size, true);
  note(`draining ${size} VMs, with KubeVirt alone`);
  const alone = await drain(size, false);
  const row = (what: string, unit: "s" | "ms", of: (drained: Drained) => number): Measurement => ({
    what,
    unit,
    samples: [of(lifeboat)],
    floor: { what: "KubeVirt alone", samples: [of(alone)] },
  });
  return [
    row(`drain of ${size} VMs, end to end`, "s", ({ seconds }) => seconds),
    row("the same, until the last VM has moved", "s", ({ movedSeconds }) => movedSeconds),
    row("the same, CPU of the cluster for each VM", "ms", ({ cpuMs }) => cpuMs / size),
  ];
}

async function drain(size: number, withLifeboat: boolean): Promise<Drained> {
  const sandbox = await startSandbox({ migrationSeconds: MIGRATION_SECONDS, terminationSeconds: 0.05 });
  const { client } = sandbox;
  let lifeboat: Lifeboat | undefined;
  try {
    const body = { spec: { configuration: LIMITS } };
    await client.patch(kubevirt.kubeVirts, KUBEVIRT.metadata, { type: "merge", body });
    if (withLifeboat) lifeboat = await startLifeboat(sandbox);
    await createNodes(client, [NODE, "node02", "node03"], CAPACITY);
    const vm = { namespace: NAMESPACE, evictionStrategy: "LiveMigrate", node: NODE, memory: "64Mi" };
    await createVms(
      client,
      numbered(size).map((index) => ({ ...vm, name: `vm-${index}` })),
    );
    // As the installation ends: every VM gets its budget.
    const headers = { authorization: `Bearer ${lifeboat?.webhookToken}` };
    await lifeboat?.worker.fetch("/clusters/sandbox/reconcile", { method: "POST", headers });
    return await drained(client);
  } finally {
    await lifeboat?.worker.stop();
    await sandbox.stop();
  }
}

async function drained(client: KubeClient): Promise<Drained> {
  const before = await running(client);
  const [began, cpu] = [Date.now(), process.cpuUsage()];
  const signal = AbortSignal.timeout(DRAIN_TIMEOUT_MS);
  // `kubectl drain` stops with an error where KubeVirt's webhook does not answer in time, and is begun again.
  for (let isDrained = false; !isDrained;) {
    signal.throwIfAborted();
    const attempt = new AbortController();
    const either = AbortSignal.any([signal, attempt.signal]);
    isDrained = await drainNode({ client, node: NODE, onLine: () => undefined, signal: either }).catch(() => false);
    attempt.abort();
  }
  const [seconds, { user, system }] = [(Date.now() - began) / 1000, process.cpuUsage(cpu)];
  const after = await running(client);
  const lost = before.filter(({ metadata: { uid } }) => !after.some(({ metadata }) => metadata.uid === uid));
  if (lost.length > 0) throw new Error(`${lost.length} VMs were lost in the drain`);
  const ends = after.map(({ status }) => Date.parse(status?.migrationState?.endTimestamp ?? ""));
  return { seconds, movedSeconds: (Math.max(...ends) - began) / 1000, cpuMs: (user + system) / 1000 };
}

async function running(client: KubeClient): Promise<readonly kubevirt.VirtualMachineInstance[]> {
  const { items } = await client.list(kubevirt.virtualMachineInstances, NAMESPACE);
  return items.filter(({ status }) => status?.phase === "Running");
}
