/**
 * The story of memory pressure: the guests of a node begin to use all they were promised, and more was promised than is there.
 * Owns: the cast, the kubelets' patience, the growth. Does not own: the telling (beside-story.ts).
 */
import type { KubeClient } from "../sandbox/actors/client.ts";
import { pods } from "../sandbox/actors/resources.ts";
import { createNodes, createVms } from "../tools/scene.ts";
import { createPod, createPriorityClass } from "../sandbox/workloads.ts";
import { troublesOf, vmsOn } from "./beside.ts";
import { tellBeside, type Plot } from "./beside-story.ts";
import type { Cluster } from "./cluster.ts";
import type { Scene, Story } from "./story.ts";

const NODE = "node-1";
const NODES = [NODE, "node-2", "node-3"];
const PRIORITY = { batch: 100, shop: 1000 };
type Namespace = keyof typeof PRIORITY;

/** The batch may go first, the shop last. */
const VMS: readonly (readonly [Namespace, string])[] = [
  ["batch", "encode"],
  ["batch", "index"],
  ["batch", "render"],
  ["batch", "train"],
  ["shop", "db"],
  ["shop", "web"],
];
const WAREHOUSE = { namespace: "shop", name: "warehouse" };

/** Seconds where a real kubelet is given minutes: REFERENCE.md, "Node pressure". */
const PATIENCE = "15s";
/** With less than this left the kubelet reports pressure: two guests have to go. */
const SOFT_THRESHOLD = "4Gi";

export const pressure: Story = {
  about: "Lifeboat",
  setting: {
    lifeboat: { withIt: { featureGates: { NodePressureEvictionLiveMigration: true } } },
    optional: ["optional/guard.yaml", "optional/migration-policy.yaml"],
    eviction: {
      evictionSoft: { "memory.available": SOFT_THRESHOLD },
      evictionSoftGracePeriod: { "memory.available": PATIENCE },
      evictionMaxPodGracePeriod: 300,
      evictionPressureTransitionPeriod: "10ms",
    },
  },
  setScene,
  tell: (stage, screen) => tellBeside(PLOT, stage, screen),
  encore: () => ["kubectl describe node node-1"],
};

const PLOT: Plot = {
  headline: `The guests on ${NODE} fill their memory: less than evictionSoft (${SOFT_THRESHOLD}) is left. In ${PATIENCE} the kubelet kills.`,
  cast: { node: NODE, pods: [`${WAREHOUSE.namespace}/${WAREHOUSE.name}`] },
  disrupt,
  hasHappened: (before, now) => vmsOn(NODE, now) < vmsOn(NODE, before) && troublesOf(NODE, now).length === 0,
};

async function setScene(client: KubeClient): Promise<Scene> {
  await createNodes(client, NODES, { memory: "16Gi" });
  for (const [name, value] of Object.entries(PRIORITY)) await createPriorityClass(client, name, value);
  const vm = { evictionStrategy: "LiveMigrate", memory: "1Gi", node: NODE };
  await createVms(
    client,
    VMS.map(([namespace, name]) => ({ ...vm, namespace, name, priorityClassName: namespace })),
  );
  await createPod(client, { ...WAREHOUSE, node: NODE, priorityClassName: "shop", requests: { memory: "9Gi" } });
  return { vms: VMS.length, nodes: NODES.length, pods: 1 };
}

/** Each launcher ends up with a little more than it requested, as QEMU does; what is no VM keeps to its request. */
async function disrupt({ client, stats }: Cluster): Promise<void> {
  const launchers = { labelSelector: "kubevirt.io=virt-launcher", fieldSelector: `spec.nodeName=${NODE}` };
  const { items } = await client.list(pods, undefined, launchers);
  stats.useMemory(WAREHOUSE, "7Gi");
  for (const { metadata } of items) stats.useMemory(metadata, "1.1Gi");
}
