/** What is on stage before the descheduling: a node that runs everything, two that have only just joined, and the policy. */
import { dump } from "js-yaml";
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { configMaps } from "../../sandbox/actors/resources.ts";
import { createNodes, createVms } from "../stage/scene.ts";
import { createReplicaSet } from "./replicas.ts";
import { nodeLines } from "./rows.ts";
import type { Scene } from "./story.ts";
import type { World } from "../stage/world.ts";

/** The nodes, the full one first. */
export const NODES = ["node-1", "node-2", "node-3"] as const;

const NAMESPACE = "shop";
const VMS = Array.from({ length: 10 }, (_, index) => `vm-${String(index + 1).padStart(2, "0")}`);
/** Of ordinary pods; nominated after the VMs, whose launchers' names come first. */
const WEB = { namespace: NAMESPACE, name: "web", replicas: 4 };

const MEBIBYTES = { node: 12 * 1024, vm: 1024, pod: 512 };
const TARGET_PERCENT = 45;

/** How many VMs may leave a node at the same time. */
export const EVACUATIONS_PER_NODE = 2;

const POLICY = {
  apiVersion: "descheduler/v1alpha2",
  kind: "DeschedulerPolicy",
  maxNoOfPodsEvacuationsPerNode: EVACUATIONS_PER_NODE,
  maxNoOfPodsToEvictTotal: 3,
  profiles: [
    {
      name: "balance",
      pluginConfig: [
        // Every launcher pod of a real KubeVirt has an emptyDir.
        { name: "DefaultEvictor", args: { podProtections: { defaultDisabled: ["PodsWithLocalStorage"] } } },
        {
          name: "LowNodeUtilization",
          args: { thresholds: { memory: 35 }, targetThresholds: { memory: TARGET_PERCENT } },
        },
      ],
      plugins: { balance: { enabled: ["LowNodeUtilization"] } },
    },
  ],
};

export async function setScene(client: KubeClient): Promise<Scene> {
  const [full, ...others] = NODES;
  const capacity = { memory: quantity(MEBIBYTES.node) };
  await createNodes(client, [full], capacity);
  const vm = { namespace: NAMESPACE, evictionStrategy: "LiveMigrate", memory: quantity(MEBIBYTES.vm) };
  await createVms(
    client,
    VMS.map((name) => ({ ...vm, name })),
  );
  await createReplicaSet(client, { ...WEB, requests: { memory: quantity(MEBIBYTES.pod) } });
  await createNodes(client, others, capacity);
  await client.create(configMaps, {
    metadata: { namespace: "lifeboat-system", name: "lifeboat-descheduler" },
    data: { "policy.yaml": dump(POLICY) },
  });
  return { vms: VMS.length, nodes: NODES.length, pods: WEB.replicas };
}

function quantity(mebibytes: number): string {
  return `${mebibytes}Mi`;
}

/** No node has more than the policy's target. VMs that are leaving count where they are. */
export function isWithinTarget(world: World): boolean {
  const target = (MEBIBYTES.node * TARGET_PERCENT) / 100;
  return nodeLines(world).every(({ vms, pods }) => vms * MEBIBYTES.vm + pods * MEBIBYTES.pod <= target);
}
