/** Guests of an overcommitted node start to use all of their memory. The second act also installs `optional/shield`. */
import { createPod, createPriorityClass, type KubeClient, pods } from "../../../sandbox/index.ts";
import { configureKubeVirt, GUARD_FILES } from "../../stage/apply.ts";
import { createNodes, createVms } from "../../stage/scene.ts";
import { troublesOf, vmsOn } from "../rows.ts";
import type { Act, Scene } from "../scenario.ts";

const NODE = "node-1";
const NODES = [NODE, "node-2", "node-3"];
/** The kubelet evicts the batch VMs first and the shop's VMs last. */
const PRIORITY = { batch: 100, shop: 1000 };
const VMS = { batch: ["encode", "index", "render", "train"], shop: ["db", "web"] } as const;
const WAREHOUSE = { namespace: "shop", name: "warehouse" };
/** The grace period of the VMs. It is longer than a migration. */
const GRACE_SECONDS = 300;

/**
 * Returns the common parts of both scenarios. `patience` is the grace period of the kubelet's soft eviction. On a real
 * node it is several minutes (REFERENCE.md, "Node pressure").
 */
function actWith(patience: string, softThreshold: string): Omit<Act, "about" | "lifeboat" | "optional"> {
  return {
    sandbox: {
      eviction: {
        evictionSoft: { "memory.available": softThreshold },
        evictionSoftGracePeriod: { "memory.available": patience },
        evictionMaxPodGracePeriod: GRACE_SECONDS,
        evictionPressureTransitionPeriod: "10ms",
        nodeStatusUpdateFrequency: "1s",
      },
    },
    setScene,
    nodes: [NODE],
    pods: [`${WAREHOUSE.namespace}/${WAREHOUSE.name}`],
    headline: [
      `The guests on ${NODE} use all of their memory, and the node has less than evictionSoft (${softThreshold}) left. In ${patience}, the kubelet starts to evict VMs.`,
    ],
    // Each virt-launcher pod uses a little more memory than it requests, as QEMU does.
    async disrupt({ client, stats }) {
      const launchers = { labelSelector: "kubevirt.io=virt-launcher", fieldSelector: `spec.nodeName=${NODE}` };
      const { items } = await client.list(pods, undefined, launchers);
      stats.useMemory(WAREHOUSE, "7Gi");
      for (const { metadata } of items) stats.useMemory(metadata, "1.1Gi");
    },
    hasHappened: (before, now) => vmsOn(NODE, now) < vmsOn(NODE, before) && troublesOf(NODE, now).length === 0,
    lostWithout: 1,
    encore: `kubectl describe node ${NODE}`,
  };
}

const GUARD = [...GUARD_FILES, "optional/migration-policy/migration-policy.yaml"];

/** The first act, without `optional/shield`. In the cluster without Lifeboat, the kubelet evicts two guests. */
export const pressure: Act = {
  ...actWith("15s", "4Gi"),
  about: "Lifeboat",
  lifeboat: { withIt: { featureGates: { NodePressureEvictionLiveMigration: true } } },
  optional: GUARD,
};

const configuration = (maxPodGracePeriodSeconds: number) => ({
  featureGates: { NodePressureEvictionLiveMigration: true },
  shield: { maxPodGracePeriodSeconds },
});
const shielded = actWith("4s", "8Gi");

/** VMs migrate one at a time. The kubelet's soft eviction reaches most VMs before they have moved. */
export const shield: Act = {
  ...shielded,
  about: "the shield",
  lifeboat: { without: configuration(0), withIt: configuration(GRACE_SECONDS) },
  optional: [...GUARD, "optional/shield/shield.yaml"],
  sandbox: { ...shielded.sandbox, featureGates: ["Plugins"] },
  async setScene(client) {
    await configureKubeVirt(client, { migrations: { parallelOutboundMigrationsPerNode: 1 } });
    return await setScene(client);
  },
};

async function setScene(client: KubeClient): Promise<Scene> {
  await createNodes(client, NODES, { memory: "16Gi" });
  for (const [name, value] of Object.entries(PRIORITY)) await createPriorityClass(client, name, value);
  const vm = {
    evictionStrategy: "LiveMigrate",
    memory: "1Gi",
    node: NODE,
    terminationGracePeriodSeconds: GRACE_SECONDS,
  };
  const vms = Object.entries(VMS).flatMap(([namespace, names]) =>
    names.map((name) => ({ ...vm, namespace, name, priorityClassName: namespace })),
  );
  await createVms(client, vms);
  await createPod(client, { ...WAREHOUSE, node: NODE, priorityClassName: "shop", requests: { memory: "9Gi" } });
  return { vms: vms.length, nodes: NODES.length, pods: 1 };
}
