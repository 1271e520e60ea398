/**
 * A cluster with all of its VMs on one node, and somebody who moves them: Lifeboat as shipped, or KubeVirt alone.
 * Owns: setting it up, draining the node, counting what is lost. Does not own: the drain's requests (infra/demo).
 */
import { drainNode } from "../demo/drain-client.ts";
import type { KubeClient } from "../sandbox/actors/client.ts";
import { createNode, createVirtualMachineInstance, type VirtualMachine } from "../sandbox/fleet.ts";
import { KUBEVIRT } from "../sandbox/kubevirt/manifests.ts";
import * as kubevirt from "../sandbox/kubevirt/resources.ts";
import { configureLifeboat } from "../tools/apply.ts";
import { startLifeboat } from "../tools/lifeboat.ts";
import { startSandbox } from "../sandbox/sandbox.ts";
import { buildWorker } from "../tools/build-worker.ts";
import { inParallel, numbered } from "./in-parallel.ts";

export type Mover = "Lifeboat" | "KubeVirt";

export interface DrainedCluster {
  readonly client: KubeClient;
  readonly vms: readonly string[];
  /** Resolves when the node is empty, to the number of VMs that did not survive it. */
  drain(): Promise<number>;
  stop(): Promise<void>;
}

export const NAMESPACE = "vms";
/** On a VMI and its launcher pods. */
export const VM_LABEL = "vm.kubevirt.io/name";
const PARALLEL_MIGRATIONS = 10;
const MIGRATION_SECONDS = 0.1;
const NODE = "node01";
const DRAIN_TIMEOUT_MS = 300_000;
/** Room for all of them anywhere. */
const CAPACITY = { cpu: "1000", memory: "4Ti", pods: "1000", "devices.kubevirt.io/kvm": "10k" };

export async function startDrainedCluster(mover: Mover, size: number): Promise<DrainedCluster> {
  const own = mover === "KubeVirt";
  await buildWorker();
  const sandbox = await startSandbox({
    migrationSeconds: MIGRATION_SECONDS,
    terminationSeconds: 0.05,
    evacuationController: own,
    evictionWebhook: own,
  });
  const { client } = sandbox;
  await client.patch(kubevirt.kubeVirts, KUBEVIRT.metadata, {
    type: "merge",
    body: { spec: { configuration: LIMITS } },
  });
  const stopLifeboat = own ? () => Promise.resolve() : await install(sandbox);
  for (const name of [NODE, "node02", "node03"]) await createNode(client, name, CAPACITY);
  const vms = numbered(size).map((index) => `vm-${String(index).padStart(3, "0")}`);
  const [first = "", ...others] = vms;
  // The namespace comes with the first one.
  await createVirtualMachineInstance(client, vmOf(first));
  await inParallel(others, 8, (name) => createVirtualMachineInstance(client, vmOf(name)));
  return {
    client,
    vms,
    async drain() {
      const before = await survivors(client);
      const signal = AbortSignal.timeout(DRAIN_TIMEOUT_MS);
      if (!(await drainNode({ client, node: NODE, onLine: () => undefined, signal }))) throw new Error("not drained");
      const after = new Set(await survivors(client));
      return before.filter((uid) => !after.has(uid)).length;
    },
    async stop() {
      await stopLifeboat();
      await sandbox.stop();
    },
  };
}

function vmOf(name: string): VirtualMachine {
  const labels = { [VM_LABEL]: name };
  return { namespace: NAMESPACE, name, labels, evictionStrategy: "LiveMigrate", node: NODE, memory: "64Mi" };
}

const LIMITS = {
  migrations: {
    parallelMigrationsPerCluster: PARALLEL_MIGRATIONS,
    parallelOutboundMigrationsPerNode: PARALLEL_MIGRATIONS,
  },
};

/** UIDs of the VMs that run. */
async function survivors(client: KubeClient): Promise<readonly string[]> {
  const { items } = await client.list(kubevirt.virtualMachineInstances, NAMESPACE);
  return items.filter(({ status }) => status?.phase === "Running").map(({ metadata }) => metadata.uid);
}

async function install(sandbox: Awaited<ReturnType<typeof startSandbox>>): Promise<() => Promise<void>> {
  const { worker } = await startLifeboat(sandbox);
  await configureLifeboat(sandbox.client, ALONE);
  return () => worker.stop();
}

/** KubeVirt's own evacuation controller is off: nobody's work is waited for. */
const ALONE = { evacuation: { adoptSeconds: 0 } };
