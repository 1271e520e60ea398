/** A drain end to end, in clusters with Lifeboat as shipped beside them (by kubectl, by a NodeEvacuation), and where KubeVirt is alone. */
import type { Relay } from "../../../relay/relay.ts";
import { type KubeClient, KUBEVIRT, kubevirt, type Sandbox, startSandbox, waitFor } from "../../../sandbox/index.ts";
import { buildWorker } from "../../../tools/build-worker.ts";
import { numbered } from "../../../tools/in-parallel.ts";
import { drainNode } from "../../stage/drain-client.ts";
import { nodeEvacuations } from "../../stage/evacuations.ts";
import { type Lifeboat, startLifeboat } from "../../stage/lifeboat.ts";
import { installRelay, startRelayBeside, throughWorker } from "../../stage/relay.ts";
import { createNodes, createVms } from "../../stage/scene.ts";
import type { PartOptions } from "../main.ts";
import type { Measurement } from "../measurement.ts";

const NAMESPACE = "vms";
const NODE = "node01";
/** So that migrations are what a drain waits for, and not the one process in which the sandbox does everything. */
const MIGRATION_SECONDS = 5;
const SECRET = `whsec_${Buffer.from("of the relay of this benchmark, long enough").toString("base64")}`;
const DRAIN_TIMEOUT_MS = 600_000;
/** Room for all of them anywhere. */
const CAPACITY = { cpu: "1000", memory: "4Ti", pods: "1000", "devices.kubevirt.io/kvm": "10k" };
const LIMITS = { migrations: { parallelMigrationsPerCluster: 10, parallelOutboundMigrationsPerNode: 10 } };

type Way = "with Lifeboat" | "by a NodeEvacuation" | "with KubeVirt alone";

interface Drained {
  /** Until `kubectl drain` ends, which asks again every 5 s, or the NodeEvacuation has ended. */
  readonly seconds: number;
  /** Until the last migration has ended: to the second, as Kubernetes' timestamps are. */
  readonly movedSeconds: number;
  /** Of API server, KubeVirt and drain together: they share this process. */
  readonly cpuMs: number;
}

export async function runDrain({ quick, note }: PartOptions): Promise<readonly Measurement[]> {
  const size = quick ? 40 : 200;
  await buildWorker();
  const measured = async (way: Way): Promise<Drained> => {
    note(`draining ${size} VMs, ${way}`);
    return await drain(size, way);
  };
  const lifeboat = await measured("with Lifeboat");
  const asObject = await measured("by a NodeEvacuation");
  const alone = await measured("with KubeVirt alone");
  const cpu = [lifeboat.cpuMs / size, alone.cpuMs / size] as const;
  return [
    row(`drain of ${size} VMs, end to end`, "s", [lifeboat.seconds, alone.seconds], "KubeVirt alone"),
    row("the same, until the last VM has moved", "s", [lifeboat.movedSeconds, alone.movedSeconds], "KubeVirt alone"),
    row("the same, CPU of the cluster for each VM", "ms", cpu, "KubeVirt alone"),
    row("the same, by a NodeEvacuation", "s", [asObject.seconds, lifeboat.seconds], "kubectl drain"),
  ];
}

type Pair = readonly [measured: number, floor: number];

function row(what: string, unit: "s" | "ms", [measured, floor]: Pair, than: string): Measurement {
  return { what, unit, samples: [measured], floor: { what: than, samples: [floor] } };
}

async function drain(size: number, way: Way): Promise<Drained> {
  const sandbox = await startSandbox({ migrationSeconds: MIGRATION_SECONDS, terminationSeconds: 0.05 });
  const { client } = sandbox;
  let lifeboat: Lifeboat | undefined;
  let relay: Relay | undefined;
  try {
    const body = { spec: { configuration: LIMITS } };
    await client.patch(kubevirt.kubeVirts, KUBEVIRT.metadata, { type: "merge", body });
    if (way !== "with KubeVirt alone") {
      const optional = ["optional/maintenance/maintenance.yaml"];
      lifeboat = await startLifeboat(sandbox, { optional, entry: { relaySecret: SECRET } });
      relay = await relayTo(lifeboat, sandbox);
    }
    await createNodes(client, [NODE, "node02", "node03"], CAPACITY);
    const vm = { namespace: NAMESPACE, evictionStrategy: "LiveMigrate", node: NODE, memory: "64Mi" };
    await createVms(
      client,
      numbered(size).map((index) => ({ ...vm, name: `vm-${index}` })),
    );
    // As the installation ends: every VM gets its budget.
    const headers = { authorization: `Bearer ${lifeboat?.webhookToken}` };
    await lifeboat?.worker.fetch("/clusters/sandbox/reconcile", { method: "POST", headers });
    return await drained(client, way === "by a NodeEvacuation" ? byObject : byKubectl);
  } finally {
    await relay?.stop();
    await lifeboat?.worker.stop();
    await sandbox.stop();
  }
}

async function relayTo({ worker, url }: Lifeboat, sandbox: Sandbox): Promise<Relay> {
  const kubeConfig = await installRelay(sandbox);
  const fetch = throughWorker(() => worker);
  return startRelayBeside({ kubeConfig, endpoint: new URL(`${url}/events`), secret: SECRET, fetch });
}

/** It stops with an error where KubeVirt's webhook does not answer in time, and is begun again. */
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

async function drained(client: KubeClient, by: typeof byKubectl): Promise<Drained> {
  const before = await running(client);
  const [began, cpu] = [Date.now(), process.cpuUsage()];
  await by(client, AbortSignal.timeout(DRAIN_TIMEOUT_MS));
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
