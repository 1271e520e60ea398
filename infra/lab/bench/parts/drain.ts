/** Measures how long a drain of a node takes with kubectl and with a NodeEvacuation. */
import { setTimeout as delay } from "node:timers/promises";
import {
  type KubeClient,
  kubevirt,
  nodes,
  podDisruptionBudgets,
  type SimulatedSandbox,
  startSandbox,
  waitFor,
} from "../../../sandbox/index.ts";
import { buildImage } from "../../../tools/build-image.ts";
import { buildWorker } from "../../../tools/build-worker.ts";
import { numbered } from "../../../in-parallel.ts";
import { configureKubeVirt } from "../../stage/apply.ts";
import { type LifeboatBeside, startBeside } from "../../stage/beside.ts";
import { drainNode } from "../../stage/drain-client.ts";
import { applyInCluster, serverImages, untilReplicasAreReady } from "../../stage/in-cluster.ts";
import { nodeEvacuations } from "../../stage/evacuations.ts";
import { createNodes, createVms } from "../../stage/scene.ts";
import type { PartOptions } from "../main.ts";
import type { Measurement } from "../measurement.ts";

const NAMESPACE = "vms";
const NODE = "node01";
/** The duration of a migration. It is long, so that the sandbox's own speed hardly affects the result. */
const MIGRATION_SECONDS = 5;
const MAINTENANCE = ["optional/maintenance/maintenance.yaml"];
const POLL_MS = 200;
const DRAIN_TIMEOUT_MS = 600_000;
/** The capacity of a node. Each node has enough CPU and memory for all VMs. */
const CAPACITY = { cpu: "1000", memory: "4Ti", pods: "1000", "devices.kubevirt.io/kvm": "10k" };
const LIMITS = { migrations: { parallelMigrationsPerCluster: 10, parallelOutboundMigrationsPerNode: 10 } };

type Way = "a Worker" | "in the cluster" | "a NodeEvacuation" | "KubeVirt alone";
const OF_LIFEBOAT = "system:serviceaccount:lifeboat-system:lifeboat";

interface Drained {
  readonly seconds: number;
  /** The seconds until the last migration is finished, accurate to one second. */
  readonly movedSeconds: number;
  /** The CPU time of this process, which runs the API server, KubeVirt and the drain. */
  readonly cpuMs: number;
  /** The number of requests that Lifeboat sends to the API server, not counting watches. */
  readonly requests: number;
}

export async function runDrain({ quick, note }: PartOptions): Promise<readonly Measurement[]> {
  const size = quick ? 40 : 200;
  await Promise.all([buildWorker(), buildImage()]);
  const measured = async (way: Way): Promise<Drained> => {
    note(`draining ${size} VMs: ${way}`);
    return await drain(size, way);
  };
  const alone = await measured("KubeVirt alone");
  const rowsOf = async (way: Way, limits: { readonly target?: number } = {}): Promise<readonly Measurement[]> => {
    const { seconds, movedSeconds, cpuMs, requests } = await measured(way);
    return [
      { ...against("s", `drain of ${size} VMs, ${way}`, seconds, alone.seconds), target: 1.05 },
      against("s", "until the last VM has moved", movedSeconds, alone.movedSeconds),
      against("ms", "average CPU time of the cluster per VM", cpuMs / size, alone.cpuMs / size),
      { what: "average requests of Lifeboat per VM", unit: "requests", samples: [requests / size], ...limits },
    ];
  };
  return [
    ...(await rowsOf("a Worker")),
    // Only the rows of the in-cluster Lifeboat have a limit on requests, because only its replicas keep a cache. A
    // Worker reads the objects that it needs for each answer.
    ...(await rowsOf("in the cluster", { target: 10 })),
    ...(await rowsOf("a NodeEvacuation")),
  ];
}

function against(unit: "s" | "ms", what: string, one: number, alone: number): Measurement {
  return { what, unit, samples: [one], floor: { what: "KubeVirt alone", samples: [alone] } };
}

async function drain(size: number, way: Way): Promise<Drained> {
  const images = way === "in the cluster" ? serverImages() : new Map();
  const sandbox = await startSandbox({ migrationSeconds: MIGRATION_SECONDS, terminationSeconds: 0.05, images });
  const { client } = sandbox;
  let beside: LifeboatBeside | undefined;
  try {
    await configureKubeVirt(client, LIMITS);
    if (way === "in the cluster") await inTheCluster(client);
    else if (way !== "KubeVirt alone") beside = await startBeside(sandbox, MAINTENANCE);
    await createNodes(client, [NODE, "node02", "node03"], CAPACITY);
    const vm = { namespace: NAMESPACE, evictionStrategy: "LiveMigrate", node: NODE, memory: "64Mi" };
    await createVms(
      client,
      numbered(size).map((index) => ({ ...vm, name: `vm-${index}` })),
    );
    // Requests a full scan, which creates the PodDisruptionBudget of every VM.
    await beside?.reconcile();
    if (way === "in the cluster") await budgeted(client, size);
    return await drained(sandbox, way === "a NodeEvacuation" ? byObject : byKubectl);
  } finally {
    await beside?.stop();
    await sandbox.stop();
  }
}

async function inTheCluster(client: KubeClient): Promise<void> {
  await createNodes(client, ["of-lifeboat"], CAPACITY);
  await applyInCluster(client);
  await untilReplicasAreReady(client);
  await client.patch(nodes, { name: "of-lifeboat" }, { type: "merge", body: { spec: { unschedulable: true } } });
}

async function budgeted(client: KubeClient, size: number): Promise<void> {
  while ((await client.list(podDisruptionBudgets, NAMESPACE)).items.length < size) await delay(POLL_MS);
}

/**
 * Drains the node with kubectl. Starts kubectl again if it fails, for example because KubeVirt's webhook did not answer
 * in time.
 */
async function byKubectl(client: KubeClient, signal: AbortSignal): Promise<void> {
  for (let isDrained = false; !isDrained;) {
    signal.throwIfAborted();
    const attempt = new AbortController();
    const either = AbortSignal.any([signal, attempt.signal]);
    isDrained = await drainNode({ client, node: NODE, onLine: () => undefined, signal: either }).catch(() => false);
    attempt.abort();
  }
}

async function byObject(client: KubeClient): Promise<void> {
  await client.create(nodeEvacuations, { metadata: { name: "bench" }, spec: { nodeName: NODE } });
  await waitFor(client, {
    resource: nodeEvacuations,
    key: { name: "bench" },
    what: "Evacuated",
    until: ({ status }) => status?.phase === "Evacuated",
    timeoutMs: DRAIN_TIMEOUT_MS,
  });
}

async function drained({ client, apiServer }: SimulatedSandbox, by: typeof byKubectl): Promise<Drained> {
  const before = await running(client);
  // Injects a delay of 0 ms into Lifeboat's requests. The delay changes no request, but makes `faults` record each
  // request.
  const { faults } = apiServer;
  faults.inject({ match: { users: [OF_LIFEBOAT] }, effect: { type: "Latency", milliseconds: 0 } });
  const [began, cpu] = [Date.now(), process.cpuUsage()];
  await by(client, AbortSignal.timeout(DRAIN_TIMEOUT_MS));
  const [seconds, { user, system }] = [(Date.now() - began) / 1000, process.cpuUsage(cpu)];
  const requests = faults.injected.filter(({ verb }) => verb !== "watch").length;
  const after = await running(client);
  const lost = before.filter(({ metadata: { uid } }) => !after.some(({ metadata }) => metadata.uid === uid));
  if (lost.length > 0) throw new Error(`${lost.length} VMs were lost in the drain`);
  const ends = after.map(({ status }) => Date.parse(status?.migrationState?.endTimestamp ?? ""));
  const movedSeconds = (Math.max(...ends) - began) / 1000;
  return { seconds, movedSeconds, cpuMs: (user + system) / 1000, requests };
}

async function running(client: KubeClient): Promise<readonly kubevirt.VirtualMachineInstance[]> {
  const { items } = await client.list(kubevirt.virtualMachineInstances, NAMESPACE);
  return items.filter(({ status }) => status?.phase === "Running");
}
