/**
 * A node must be empty at a given time, and two of its VMs cannot migrate. One cluster uses `kubectl drain`. The other
 * cluster uses a NodeEvacuation.
 */
import { setTimeout as delay } from "node:timers/promises";
import {
  createVirtualMachine,
  type KubeClient,
  namespaces,
  podDisruptionBudgets,
  replicaSets,
  waitFor,
} from "../../../sandbox/index.ts";
import { run } from "../../../cli/run.ts";
import { inParallel } from "../../../in-parallel.ts";
import { drainNode } from "../../stage/drain-client.ts";
import { type NodeEvacuation, nodeEvacuations } from "../../stage/evacuations.ts";
import { quietHost } from "../../stage/host.ts";
import { createNodes } from "../../stage/scene.ts";
import { type Cluster, lifeboatOf } from "../clusters.ts";
import type { Act, Scene } from "../scenario.ts";

const NODE = "node-1";
const NODES = [NODE, "node-2", "node-3"];

type Vm = readonly [name: string, pinnedBecause?: string];

const VMS: readonly Vm[] = [
  ["web-1"],
  ["web-2"],
  ["db"],
  ["ledger", "InterfaceNotLiveMigratable"],
  ["gpu", "HostDeviceNotLiveMigratable"],
];
const PINNED = VMS.flatMap(([name, pinnedBecause]) => (pinnedBecause === undefined ? [] : [name]));
const NAMESPACE = "shop";
/** A ReplicaSet. Its PodDisruptionBudget allows the next eviction only after the evicted pod's replacement runs. */
const REPLICAS = { namespace: NAMESPACE, name: "api", replicas: 3 };

const NAME = "node-1-kernel";
/** The time from the start of the scenario until the node must be empty, in seconds. */
const HOUR_SECONDS = 4;
const POLL_MS = 200;
/** The interval of Lifeboat's scheduled work. In a real cluster the interval is a minute. */
const TICK_MS = 5000;
/** After this many refused evictions of each of the two VMs, the demo reports that kubectl hangs. */
const REFUSALS = 3;

export const maintenance: Act = {
  about: "Lifeboat",
  lifeboat: { withIt: {} },
  optional: ["optional/maintenance/maintenance.yaml"],
  setScene,
  nodes: [NODE],
  pods: [],
  prologue: preflight,
  headline: [
    `${NODE} has to be empty at a given time. Without Lifeboat, kubectl drain starts at this time. With Lifeboat, this object exists:`,
    "",
    "  apiVersion: lifeboat.dev/v1alpha1",
    "  kind: NodeEvacuation",
    `  metadata: { name: ${NAME} }`,
    "  spec:",
    `    nodeName: ${NODE}`,
    "    schedule: { notBefore: THE GIVEN TIME }",
    "    virtualMachines: { whenBlocked: Restart } # restarts VMs that cannot migrate",
  ],
  disrupt: (cluster, over, say) =>
    (cluster.lifeboat === undefined ? drainAtTheHour : emptyAtTheHour)(cluster, over, say),
  hasHappened: (_, { vmis }) =>
    [...vmis.values()].every(({ nodeName, pinnedBecause }) => nodeName !== NODE || pinnedBecause !== undefined),
  lostWithout: 0,
  epilogue: [
    "kubectl drain moved the VMs that can migrate. It waits for the other two VMs until a person acts, and the node stays cordoned.",
    "The NodeEvacuation named the two VMs before the drain, and made KubeVirt restart them on other nodes, one after the other.",
    "",
  ],
  encore: `kubectl get nodeevacuation ${NAME} -o yaml; kubectl uncordon ${NODE}; kubectl explain nodeevacuation.spec`,
};

async function setScene(client: KubeClient): Promise<Scene> {
  await createNodes(client, NODES);
  await client.create(namespaces, { metadata: { name: NAMESPACE } });
  // Creates the ReplicaSet before the VMs, so that the scheduler spreads the ReplicaSet's pods over all nodes.
  await createReplicaSet(client);
  await inParallel(VMS, VMS.length, async ([name, reason]) => {
    const vm = { namespace: NAMESPACE, name, evictionStrategy: "LiveMigrate", node: NODE } as const;
    const pinned = reason === undefined ? {} : { migratable: false, reason };
    await createVirtualMachine(client, "Always", { ...vm, ...pinned });
  });
  return { vms: VMS.length, nodes: NODES.length, pods: REPLICAS.replicas };
}

async function createReplicaSet(client: KubeClient): Promise<void> {
  const { replicas, ...metadata } = REPLICAS;
  const labels = { app: metadata.name };
  const containers = [{ name: metadata.name, image: `example.com/${metadata.name}` }];
  const template = { metadata: { labels }, spec: { containers } };
  const selector = { matchLabels: labels };
  await client.create(replicaSets, { metadata, spec: { replicas, selector, template } });
  await client.create(podDisruptionBudgets, { metadata, spec: { minAvailable: replicas - 1, selector } });
  const until = ({ status }: { readonly status?: { readonly readyReplicas?: number } }) =>
    status?.readyReplicas === replicas;
  await waitFor(client, { resource: replicaSets, key: metadata, what: "running", until });
}

async function preflight({ kubeconfig }: Cluster): Promise<readonly string[]> {
  const said: string[] = [];
  const words = ["explain", "node", NODE];
  await run(
    [...words, "--kubeconfig", kubeconfig],
    quietHost((text) => said.push(text)),
  );
  return ["", `$ lifeboat ${words.join(" ")}`, "", ...said.join("").trimEnd().split("\n")];
}

/**
 * Drains the node at a set time, as a cron job would. Resolves after `REFUSALS` refused evictions of each VM that
 * cannot migrate. The drain continues until the scenario ends.
 */
async function drainAtTheHour({ client }: Cluster, signal: AbortSignal, say: (line: string) => void): Promise<void> {
  await delay(HOUR_SECONDS * 1000, undefined, { signal });
  const refusals = new Map(PINNED.map((name) => [name, 0]));
  say(`$ kubectl drain ${NODE} --ignore-daemonsets`);
  const onLine = (line: string) => {
    say(line);
    const refused = PINNED.find((name) => line.startsWith("error") && line.includes(`virt-launcher-${name}-`));
    if (refused !== undefined) refusals.set(refused, (refusals.get(refused) ?? 0) + 1);
  };
  const drained = drainNode({ client, node: NODE, onLine, signal }).catch(() => undefined);
  const isStuck = () => [...refusals.values()].every((count) => count >= REFUSALS);
  while (!isStuck() && !signal.aborted) await Promise.race([delay(POLL_MS), drained]);
}

async function emptyAtTheHour(cluster: Cluster, over: AbortSignal, say: (line: string) => void): Promise<boolean> {
  const { client } = cluster;
  const hour = new Date(Math.ceil(Date.now() / 1000 + HOUR_SECONDS) * 1000);
  const spec = {
    nodeName: NODE,
    reason: "kernel 6.12",
    schedule: { notBefore: hour.toISOString() },
    virtualMachines: { whenBlocked: "Restart" },
  };
  await client.create(nodeEvacuations, { metadata: { name: NAME }, spec });
  say(`nodeevacuation.lifeboat.dev/${NAME} created`);
  let nextTick = hour.getTime();
  let isMinuteOver = false;
  while (!over.aborted) {
    const found = await client.get(nodeEvacuations, { name: NAME });
    for (const line of linesOf(found)) say(line);
    if (found?.status?.phase === "Evacuated") return true;
    if (!isMinuteOver && isOnlyPinnedLeft(found)) {
      say("Before Lifeboat restarts a VM, it checks the VM twice, a minute apart. The demo skips this minute.");
      await skipMinute(client, found);
      [isMinuteOver, nextTick] = [true, 0];
    }
    nextTick = await tick(cluster, nextTick);
    await delay(POLL_MS);
  }
  return false;
}

/** Requests a full scan if the time `due` has come. Resolves to the time at which the next full scan is due. */
async function tick(cluster: Cluster, due: number): Promise<number> {
  if (Date.now() < due) return due;
  await lifeboatOf(cluster).reconcile();
  return Date.now() + TICK_MS;
}

function linesOf(found: NodeEvacuation | undefined): readonly string[] {
  const { phase, message } = found?.status ?? {};
  return phase === undefined ? [] : [`${NAME}: ${phase}: ${message}`];
}

function isOnlyPinnedLeft(found: NodeEvacuation | undefined): found is NodeEvacuation {
  const { virtualMachines: vms, blockers = [] } = found?.status ?? {};
  return vms?.["left"] === PINNED.length && PINNED.every((vm) => blockers.some(({ name }) => name === vm));
}

async function skipMinute(client: KubeClient, { metadata, status }: NodeEvacuation): Promise<void> {
  const since = new Date(Date.now() - 61_000).toISOString();
  const blockers = (status?.blockers ?? []).map((blocker) => ({ ...blocker, since }));
  const patch = { type: "merge", body: { status: { blockers } } } as const;
  await client.patch(nodeEvacuations, metadata, patch, { subresource: "status" });
}
