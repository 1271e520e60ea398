/** What is on stage before the drain: three nodes, a dozen virtual machines, some ordinary pods. */
import type { KubeClient } from "../../sandbox/actors/client.ts";
import {
  namespaces,
  nodes,
  ownerReferenceTo,
  pods,
  type KubeObject,
  type Resource,
} from "../../sandbox/actors/resources.ts";
import { isConflict } from "../../sandbox/actors/status-error.ts";
import { createNodes, createVms } from "../stage/scene.ts";
import { liveMigratable } from "../../sandbox/kubevirt/live-migratable.ts";
import { virtualMachineInstances, type EvictionStrategy } from "../../sandbox/kubevirt/resources.ts";
import { createReplicaSet } from "./replicas.ts";
import type { Scene } from "./story.ts";

export const DRAINED_NODE = "node-1";

const NODES = [DRAINED_NODE, "node-2", "node-3"];

type CastMember = readonly [node: string, namespace: string, name: string, EvictionStrategy, pinnedBecause?: string];

// prettier-ignore
const CAST: readonly CastMember[] = [
  // Every strategy, able to migrate and not, on the node that is drained.
  ["node-1", "shop",  "web-1",     "LiveMigrate"                                                    ],
  ["node-1", "shop",  "web-2",     "LiveMigrate"                                                    ],
  ["node-1", "shop",  "ledger",    "LiveMigrate",           "DisksNotLiveMigratable"                ],
  ["node-1", "batch", "render",    "LiveMigrateIfPossible"                                          ],
  ["node-1", "batch", "gpu",       "LiveMigrateIfPossible", "HostDeviceNotLiveMigratable"           ],
  ["node-1", "edge",  "router",    "External"                                                       ],
  ["node-1", "edge",  "appliance", "External",              "InterfaceNotLiveMigratable"            ],
  ["node-1", "lab",   "scratch",   "None"                                                           ],
  ["node-1", "lab",   "kiosk",     "None",                  "DisksNotLiveMigratable"                ],
  ["node-2", "shop",  "web-3",     "LiveMigrate"                                                    ],
  ["node-2", "batch", "index",     "LiveMigrateIfPossible"                                          ],
  ["node-3", "shop",  "db",        "LiveMigrate"                                                    ],
];

/** The VM that its strategy keeps on the node until the obstacle is removed. */
export const REFUSED = { namespace: "shop", name: "ledger" };

export async function setScene(client: KubeClient): Promise<Scene> {
  await createNodes(client, NODES);
  await client.create(namespaces, { metadata: { name: REPLICAS.namespace } });
  await createDaemonSet(client);
  // Before the VMs, so that they are spread over all nodes.
  await createReplicaSet(client, REPLICAS);
  await createVms(
    client,
    CAST.map(([node, namespace, name, evictionStrategy, reason]) => ({
      namespace,
      name,
      evictionStrategy,
      node,
      ...(reason !== undefined && { migratable: false, reason }),
    })),
  );
  return { vms: CAST.length, nodes: NODES.length, pods: NODES.length + REPLICAS.replicas };
}

const REPLICAS = { namespace: "shop", name: "api", replicas: 5 };

export const daemonSets: Resource<KubeObject & { readonly spec: unknown }> = {
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  plural: "daemonsets",
  namespaced: true,
};

/** One pod on each node that no drain touches. */
async function createDaemonSet(client: KubeClient): Promise<void> {
  const labels = { app: "log-agent" };
  const spec = { containers: [{ name: "agent", image: "example.com/log-agent" }] };
  const set = await client.create(daemonSets, {
    metadata: { name: "log-agent", namespace: "kube-system" },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  });
  for (const { metadata } of (await client.list(nodes)).items) {
    await client.create(pods, {
      metadata: {
        generateName: "log-agent-",
        namespace: "kube-system",
        labels,
        ownerReferences: [ownerReferenceTo(set, daemonSets)],
      },
      spec: { ...spec, nodeName: metadata.name },
    });
  }
}

/** The disk that kept the VM is detached, so KubeVirt reports it migratable: virt-controller's and virt-handler's writes. */
export async function removeObstacle(client: KubeClient): Promise<void> {
  const controller = client.as("system:serviceaccount:kubevirt:kubevirt-controller", ["system:serviceaccounts"]);
  for (;;) {
    const vmi = await client.get(virtualMachineInstances, REFUSED);
    if (vmi === undefined) return;
    const { volumes: _, ...spec } = vmi.spec;
    const conditions = (vmi.status?.conditions ?? []).filter(({ type }) => type !== "LiveMigratable");
    const status = { ...vmi.status, conditions: [...conditions, liveMigratable(spec)] };
    try {
      await controller.update(virtualMachineInstances, { ...vmi, spec, status });
      return;
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}
