/** A cluster with all of its VMs on one node, where KubeVirt moves them: with Lifeboat as shipped beside it, or alone. */
import { drainNode } from "../stage/drain-client.ts";
import type { KubeClient } from "../../sandbox/actors/client.ts";
import type { VirtualMachine } from "../../sandbox/fleet.ts";
import { KUBEVIRT } from "../../sandbox/kubevirt/manifests.ts";
import * as kubevirt from "../../sandbox/kubevirt/resources.ts";
import { type Lifeboat, startLifeboat } from "../stage/lifeboat.ts";
import { startSandbox } from "../../sandbox/sandbox.ts";
import { buildWorker } from "../../tools/build-worker.ts";
import { numbered } from "../../tools/in-parallel.ts";
import { createNodes, createVms } from "../stage/scene.ts";

export interface DrainedCluster {
  /** Resolves when the node is empty. */
  drain(): Promise<Drained>;
  stop(): Promise<void>;
}

export interface Drained {
  /** VMs that did not survive it. */
  readonly lost: number;
  /** Until `kubectl drain` ends. */
  readonly seconds: number;
  /** Until the last migration had ended, which kubectl sees up to 5 s later. To the second, as Kubernetes' timestamps are. */
  readonly movedSeconds: number;
  /** Of API server, KubeVirt and drain together: they share this process. */
  readonly cpuMs: number;
}

const NAMESPACE = "vms";
const PARALLEL_MIGRATIONS = 10;
/** So that they are what a drain waits for, as in a real cluster, and not the one process in which the sandbox does everything. */
const MIGRATION_SECONDS = 5;
const NODE = "node01";
const DRAIN_TIMEOUT_MS = 600_000;
/** Room for all of them anywhere. */
const CAPACITY = { cpu: "1000", memory: "4Ti", pods: "1000", "devices.kubevirt.io/kvm": "10k" };

export async function startDrainedCluster(size: number, withLifeboat: boolean): Promise<DrainedCluster> {
  await buildWorker();
  const sandbox = await startSandbox({ migrationSeconds: MIGRATION_SECONDS, terminationSeconds: 0.05 });
  const { client } = sandbox;
  await client.patch(kubevirt.kubeVirts, KUBEVIRT.metadata, {
    type: "merge",
    body: { spec: { configuration: LIMITS } },
  });
  const lifeboat = withLifeboat ? await startLifeboat(sandbox) : undefined;
  await createNodes(client, [NODE, "node02", "node03"], CAPACITY);
  await createVms(
    client,
    numbered(size).map((index) => vmOf(`vm-${String(index).padStart(3, "0")}`)),
  );
  if (lifeboat !== undefined) await reconcile(lifeboat);
  return {
    async drain() {
      const before = await survivors(client);
      const [began, cpu] = [Date.now(), process.cpuUsage()];
      await drainUntilDone(client);
      const [seconds, { user, system }] = [(Date.now() - began) / 1000, process.cpuUsage(cpu)];
      const after = new Set(await survivors(client));
      const lost = before.filter((uid) => !after.has(uid)).length;
      const movedSeconds = ((await lastMigrationEnd(client)) - began) / 1000;
      return { lost, seconds, movedSeconds, cpuMs: (user + system) / 1000 };
    },
    async stop() {
      await lifeboat?.worker.stop();
      await sandbox.stop();
    },
  };
}

function vmOf(name: string): VirtualMachine {
  return { namespace: NAMESPACE, name, evictionStrategy: "LiveMigrate", node: NODE, memory: "64Mi" };
}

const LIMITS = {
  migrations: {
    parallelMigrationsPerCluster: PARALLEL_MIGRATIONS,
    parallelOutboundMigrationsPerNode: PARALLEL_MIGRATIONS,
  },
};

/** `kubectl drain` stops with an error where KubeVirt's webhook does not answer in time, and is begun again. */
async function drainUntilDone(client: KubeClient): Promise<void> {
  const signal = AbortSignal.timeout(DRAIN_TIMEOUT_MS);
  for (let isDrained = false; !isDrained;) {
    signal.throwIfAborted();
    // One pod's error ends kubectl; the others' requests must end with it.
    const attempt = new AbortController();
    const either = AbortSignal.any([signal, attempt.signal]);
    isDrained = await drainNode({ client, node: NODE, onLine: () => undefined, signal: either }).catch(() => false);
    attempt.abort();
  }
}

/** As the installation ends: every VM gets its budget. */
async function reconcile({ worker, webhookToken }: Lifeboat): Promise<void> {
  const headers = { authorization: `Bearer ${webhookToken}` };
  const { status } = await worker.fetch("/clusters/sandbox/reconcile", { method: "POST", headers });
  if (status !== 200) throw new Error(`POST /reconcile: ${status}`);
}

/** UIDs of the VMs that run. */
async function survivors(client: KubeClient): Promise<readonly string[]> {
  const { items } = await client.list(kubevirt.virtualMachineInstances, NAMESPACE);
  return items.filter(({ status }) => status?.phase === "Running").map(({ metadata }) => metadata.uid);
}

async function lastMigrationEnd(client: KubeClient): Promise<number> {
  const { items } = await client.list(kubevirt.virtualMachineInstances, NAMESPACE);
  return Math.max(...items.map(({ status }) => Date.parse(status?.migrationState?.endTimestamp ?? "")));
}
