/**
 * Observing a node that is to be drained: its pods with their VMs, and the room elsewhere.
 *
 * What the node has is read in full, of other nodes' pods a page at a time what takes up room, of volumes (if a VM there has any) from
 * which nodes they are reached. Requests that grow with the node: one for the migrations of fifty VMs of a namespace that are being moved
 * already, one for each VM that has come without being there yet.
 */
import type { Cluster } from "../cluster/cluster.ts";
import { ClusterError } from "../cluster/failure.ts";
import type { Listed } from "../cluster/preflight-reads.ts";
import type { EvacuationFacts, MigrationFacts, VmiFacts } from "../policy/facts.ts";
import { isFinal, keyOf } from "../policy/facts.ts";
import { isOfLiveVm, vmiNameOf } from "../policy/kube/pod-kind.ts";
import { budgetOf } from "../policy/preflight/refusals.ts";
import type { DrainFlags, PreflightFacts, PreflightPod } from "../policy/preflight/facts.ts";
import type { Observer } from "./world.ts";

/** What decides about the pods of the node alone: a drain reads it again and again. */
export type PodsOfNode = Omit<PreflightFacts, "node" | "otherNodes" | "otherPods" | "volumes" | "migratingElsewhere">;

const NOTHING: Listed<never> = { items: [], odd: 0 };

/** Undefined: there is no such node. */
export async function observePreflight(
  name: string,
  flags: DrainFlags,
  observer: Observer,
): Promise<PreflightFacts | undefined> {
  const { cluster } = observer;
  const reading = observePodsOf(name, flags, observer);
  const [around, here, reached] = await Promise.all([
    observeAround(name, cluster),
    reading,
    reading.then((read) => volumesOf(read, cluster)),
  ]);
  if (around === undefined) return undefined;
  return { ...here, ...around, ...reached, unread: [...here.unread, ...around.unread, ...reached.unread] };
}

async function volumesOf(
  { pods, budgets }: PodsOfNode,
  cluster: Cluster,
): Promise<Pick<PreflightFacts, "volumes" | "unread">> {
  const isPlaced = (pod: PreflightPod) => isOfLiveVm(pod) || budgetOf(pod, budgets) !== undefined;
  if (!pods.some((pod) => pod.claims.length > 0 && isPlaced(pod))) return { volumes: [], unread: [] };
  const unread: string[] = [];
  const reading = cluster.listVolumes();
  const { items, odd } = await orUnread(unread)("persistent volumes: which nodes reach them", reading, NOTHING);
  if (odd > 0) unread.push(`${odd} persistent volumes`);
  return { volumes: items, unread };
}

type Around = Pick<PreflightFacts, "node" | "otherNodes" | "otherPods" | "migratingElsewhere" | "unread">;

async function observeAround(name: string, cluster: Cluster): Promise<Around | undefined> {
  const nodes = await cluster.listNodesWithRoom();
  const node = nodes.find((one) => one.name === name);
  if (node === undefined) return undefined;
  const unread: string[] = [];
  const [others, migrating] = await Promise.all([
    orUnread(unread)("the pods of other nodes", cluster.listNeighbours(name), NOTHING),
    cluster.listVmis("Migrating"),
  ]);
  if (others.odd > 0) unread.push(`${others.odd} pods of other nodes`);
  return {
    node,
    otherNodes: nodes.filter((one) => one.name !== name),
    otherPods: others.items,
    migratingElsewhere: migrating.filter(({ isMigrating, nodeName }) => isMigrating && nodeName !== name),
    unread,
  };
}

export async function observePodsOf(
  name: string,
  flags: DrainFlags,
  { cluster, settings, now }: Observer,
): Promise<PodsOfNode> {
  const unread: string[] = [];
  const optional = orUnread(unread);
  const [pods, here, evacuations, budgets] = await Promise.all([
    cluster.listPreflightPods(name),
    cluster.listVmis({ node: name }),
    evacuationsFrom(name, cluster),
    optional("disruption budgets", cluster.listAllBudgets(), []),
  ]);
  const reading = pods.items.some(isOfLiveVm) ? cluster.listQuotas() : Promise.resolve(NOTHING);
  const [vmis, quotas] = await Promise.all([
    vmisOf(here, pods.items, cluster),
    optional("resource quotas", reading, NOTHING),
  ]);
  const migrations = await optional("migrations", migrationsOf(vmis, cluster), []);
  if (pods.odd > 0) unread.push(`${pods.odd} pods of the node`);
  if (quotas.odd > 0) unread.push(`${quotas.odd} resource quotas`);
  const listed = { pods: pods.items, quotas: quotas.items };
  return { settings, now, ...listed, vmis, evacuations, migrations, budgets, flags, unread };
}

/** What cannot be read does not keep the rest from being shown. */
function orUnread(unread: string[]) {
  return async <T>(what: string, reading: Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await reading;
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      unread.push(what);
      return otherwise;
    }
  };
}

/** Those that go on, of which one may not say its node yet; and those from this node that have ended. */
async function evacuationsFrom(node: string, cluster: Cluster): Promise<readonly EvacuationFacts[]> {
  const [active, fromHere] = await Promise.all([
    cluster.listEvacuations("Active"),
    cluster.listEvacuations({ sourceNode: node }),
  ]);
  return [...new Map([...fromHere, ...active].map((evacuation) => [evacuation.uid, evacuation])).values()];
}

/** Those on the node, and those whose launcher pods are there without them. */
async function vmisOf(
  here: readonly VmiFacts[],
  pods: readonly PreflightPod[],
  cluster: Cluster,
): Promise<readonly VmiFacts[]> {
  const known = new Set(here.map(keyOf));
  const missing = new Map(
    pods.flatMap((pod) => {
      const name = isOfLiveVm(pod) ? vmiNameOf(pod) : undefined;
      const key = { namespace: pod.namespace, name: name ?? "" };
      return name === undefined || known.has(keyOf(key)) ? [] : [[keyOf(key), key] as const];
    }),
  );
  const read = await Promise.all([...missing.values()].map((key) => cluster.getVmi(key)));
  return [...here, ...read.filter((vmi) => vmi !== undefined)];
}

/** Of a VM that nothing moves none is looked for. */
async function migrationsOf(vmis: readonly VmiFacts[], cluster: Cluster): Promise<readonly MigrationFacts[]> {
  const moving = vmis.filter(({ isMigrating, evacuationNodeName }) => isMigrating || evacuationNodeName !== undefined);
  return (await cluster.listMigrationsOf(moving)).filter((migration) => !isFinal(migration));
}
