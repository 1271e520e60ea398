/** The story of memory pressure: the guests of a node begin to use all they were promised, and more was promised than is there. */
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { pods } from "../../sandbox/actors/resources.ts";
import { createNodes, createVms } from "../stage/scene.ts";
import { createPod, createPriorityClass } from "../../sandbox/workloads.ts";
import { troublesOf, vmsOn } from "./beside.ts";
import { tellBeside, type Plot } from "./beside-story.ts";
import type { Cluster } from "./cluster.ts";
import type { Setting } from "./stage.ts";
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

/** Long enough for the shield. */
const GRACE_SECONDS = 300;

interface Variant extends Pick<Setting, "lifeboat" | "optional" | "featureGates"> {
  readonly about: string;
  /** Seconds where a real kubelet is given minutes: REFERENCE.md, "Node pressure". */
  readonly patience: string;
  /** With less than this left the kubelet reports pressure. */
  readonly softThreshold: string;
}

export function pressureStory({ about, patience, softThreshold, ...setting }: Variant): Story {
  const plot: Plot = {
    about,
    headline: `The guests on ${NODE} fill their memory: less than evictionSoft (${softThreshold}) is left. In ${patience} the kubelet kills.`,
    cast: { node: NODE, pods: [`${WAREHOUSE.namespace}/${WAREHOUSE.name}`] },
    disrupt,
    hasHappened: (before, now) => vmsOn(NODE, now) < vmsOn(NODE, before) && troublesOf(NODE, now).length === 0,
  };
  return {
    about,
    setting: {
      ...setting,
      optional: ["optional/guard/guard.yaml", "optional/migration-policy/migration-policy.yaml", ...setting.optional],
      eviction: {
        evictionSoft: { "memory.available": softThreshold },
        evictionSoftGracePeriod: { "memory.available": patience },
        evictionMaxPodGracePeriod: GRACE_SECONDS,
        evictionPressureTransitionPeriod: "10ms",
      },
    },
    setScene,
    tell: (stage, screen) => tellBeside(plot, stage, screen),
    encore: () => ["kubectl describe node node-1"],
  };
}

export const pressure = pressureStory({
  about: "Lifeboat",
  lifeboat: { withIt: { featureGates: { NodePressureEvictionLiveMigration: true } } },
  optional: [],
  patience: "15s",
  // Two guests have to go.
  softThreshold: "4Gi",
});

async function setScene(client: KubeClient): Promise<Scene> {
  await createNodes(client, NODES, { memory: "16Gi" });
  for (const [name, value] of Object.entries(PRIORITY)) await createPriorityClass(client, name, value);
  const vm = {
    evictionStrategy: "LiveMigrate",
    memory: "1Gi",
    node: NODE,
    terminationGracePeriodSeconds: GRACE_SECONDS,
  };
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
