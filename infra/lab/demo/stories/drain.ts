/** A node full of VMs is drained, with every eviction strategy, able to migrate and not. */
import {
  type EvictionStrategy,
  isConflict,
  type KubeClient,
  liveMigratable,
  namespaces,
  replicaSets,
  virtualMachineInstances,
  waitFor,
} from "../../../sandbox/index.ts";
import { run } from "../../../cli/run.ts";
import { drainNode } from "../../stage/drain-client.ts";
import { quietHost } from "../../stage/host.ts";
import { createNodes, createVms } from "../../stage/scene.ts";
import type { Cluster } from "../clusters.ts";
import { vmsOn } from "../rows.ts";
import type { Act, Scene } from "../story.ts";

const NODE = "node-1";
const NODES = [NODE, "node-2", "node-3"];

type Vm = readonly [node: string, namespace: string, name: string, EvictionStrategy, pinnedBecause?: string];

// prettier-ignore
const VMS: readonly Vm[] = [
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
const REFUSED = { namespace: "shop", name: "ledger" };
/** Ordinary pods: what is evicted is started again elsewhere. */
const REPLICAS = { namespace: "shop", name: "api", replicas: 5 };

export const drain: Act = {
  about: "Lifeboat",
  lifeboat: { withIt: {} },
  optional: [],
  setScene,
  node: NODE,
  pods: [],
  prologue: preflight,
  headline: `$ kubectl drain ${NODE} --ignore-daemonsets --delete-emptydir-data  (its requests)`,
  disrupt: ({ client }, signal, say) =>
    drainNode({ client, node: NODE, onLine: say, signal }).catch((error: unknown) => {
      say(`error: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    }),
  react,
  hasHappened: (_, now) => vmsOn(NODE, now) === 0,
  lostWithout: 0,
  epilogue: [
    "KubeVirt moves the same VMs by itself. With Lifeboat each of them has an Evacuation that tells who asked, why, where to,",
    "how often it was tried and what blocks it, and that can be cancelled. What KubeVirt cannot refuse, the other stories tell.",
    "",
  ],
  encore: "kubectl uncordon node-1; kubectl drain node-2 --ignore-daemonsets --delete-emptydir-data",
};

async function setScene(client: KubeClient): Promise<Scene> {
  await createNodes(client, NODES);
  await client.create(namespaces, { metadata: { name: REPLICAS.namespace } });
  // Before the VMs, so that they are spread over all nodes.
  await createReplicaSet(client);
  await createVms(
    client,
    VMS.map(([node, namespace, name, evictionStrategy, reason]) => {
      const vm = { namespace, name, evictionStrategy, node };
      return reason === undefined ? vm : { ...vm, migratable: false, reason };
    }),
  );
  return { vms: VMS.length, nodes: NODES.length, pods: REPLICAS.replicas };
}

async function createReplicaSet(client: KubeClient): Promise<void> {
  const { replicas, ...metadata } = REPLICAS;
  const labels = { app: metadata.name };
  const containers = [{ name: metadata.name, image: `example.com/${metadata.name}` }];
  const template = { metadata: { labels }, spec: { containers } };
  await client.create(replicaSets, { metadata, spec: { replicas, selector: { matchLabels: labels }, template } });
  const until = ({ status }: { readonly status?: { readonly readyReplicas?: number } }) =>
    status?.readyReplicas === replicas;
  await waitFor(client, { resource: replicaSets, key: metadata, what: "running", until });
}

/** What `lifeboat explain node` says before the drain. */
async function preflight({ kubeconfig }: Cluster): Promise<readonly string[]> {
  const said: string[] = [];
  const words = ["explain", "node", NODE, "--delete-emptydir-data"];
  await run(
    [...words, "--kubeconfig", kubeconfig],
    quietHost((text) => said.push(text)),
  );
  return ["", `$ lifeboat ${words.join(" ")}`, "", ...said.join("").trimEnd().split("\n")];
}

const freed = new WeakSet<Cluster>();

/** When only the refused VM is left, the disk that pins it is detached, in both clusters. */
async function react(cluster: Cluster, rows: Parameters<NonNullable<Act["react"]>>[1]): Promise<string | undefined> {
  const open = rows.filter(({ withIt }) => withIt.mood !== "moved" && withIt.now !== "shut down");
  const isOnlyRefused = open.length > 0 && open.every(({ withIt }) => withIt.mood === "refused");
  if (freed.has(cluster) || (rows.length > 0 && !isOnlyRefused)) return undefined;
  freed.add(cluster);
  await removeObstacle(cluster.client);
  return `Only ${REFUSED.name} is left, as its strategy demands. Now the disk that pins it is detached.`;
}

/** virt-controller's and virt-handler's writes: KubeVirt reports the VM migratable. */
async function removeObstacle(client: KubeClient): Promise<void> {
  const controller = client.as("system:serviceaccount:kubevirt:kubevirt-controller", ["system:serviceaccounts"]);
  for (;;) {
    const vmi = await client.get(virtualMachineInstances, REFUSED);
    if (vmi === undefined) return;
    const { volumes: _, ...spec } = vmi.spec;
    const conditions = (vmi.status?.conditions ?? []).filter(({ type }) => type !== "LiveMigratable");
    const status = { ...vmi.status, conditions: [...conditions, liveMigratable(spec)] };
    try {
      return void (await controller.update(virtualMachineInstances, { ...vmi, spec, status }));
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}
