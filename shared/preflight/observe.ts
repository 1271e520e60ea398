/**
 * Observing a node that is to be drained: its pods with their VMs, and the room elsewhere.
 *
 * What the node has is read in full, of other nodes' pods a page at a time what takes up room, of volumes (if a VM there has any) from
 * which nodes they are reached. Requests that grow with the node: one for the migrations of a namespace's VMs that are being moved already
 * (of a few hundred VMs, by the length of their names), one for each VM that has come without being there yet.
 */
import type { Client } from "../kube/client.ts";
import { ClusterError } from "../kube/failures.ts";
import type { MigrationFacts, VmiFacts } from "../kube/facts.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { budgetOf } from "./refusals.ts";
import type { DrainFlags, NeighbourPod, PreflightFacts, PreflightPod, QuotaFacts } from "./facts.ts";
import { NodeWithResources } from "../kube/schemas/scheduled-pod.ts";
import { neighbourPodSchema, PersistentVolume, preflightPodSchema, ResourceQuota } from "./schemas.ts";
import { activeEvacuations, evacuationsFrom, migratingVmis, migrationsOf, vmisOn } from "../kube/requests.ts";
import { isFinal, isOfLiveVm, keyOf, vmiNameOf } from "../kube/objects.ts";
import type { Observer } from "../settings/load-settings.ts";

/** What decides about the pods of the node alone: a drain reads it again and again. */
export type PodsOfNode = Omit<PreflightFacts, "node" | "otherNodes" | "otherPods" | "volumes" | "migratingElsewhere">;

interface Listed<T> {
  readonly items: readonly T[];
  /** How many could not be understood. */
  readonly odd: number;
}

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
  cluster: Client,
): Promise<Pick<PreflightFacts, "volumes" | "unread">> {
  const isPlaced = (pod: PreflightPod) => isOfLiveVm(pod) || budgetOf(pod, budgets) !== undefined;
  if (!pods.some((pod) => pod.claims.length > 0 && isPlaced(pod))) return { volumes: [], unread: [] };
  const unread: string[] = [];
  const reading = listed((onOdd) => cluster.list("persistentvolumes", { as: PersistentVolume, onOdd }));
  const { items, odd } = await orUnread(unread)("persistent volumes: which nodes reach them", reading, NOTHING);
  if (odd > 0) unread.push(`${odd} persistent volumes`);
  // Those that not every node reaches, with the claims that they say themselves: claims need not be read.
  return { volumes: items.filter((volume) => volume !== undefined), unread };
}

type Around = Pick<PreflightFacts, "node" | "otherNodes" | "otherPods" | "migratingElsewhere" | "unread">;

async function observeAround(name: string, cluster: Client): Promise<Around | undefined> {
  const nodes = await cluster.list("nodes", { as: NodeWithResources });
  const node = nodes.find((one) => one.name === name);
  if (node === undefined) return undefined;
  const unread: string[] = [];
  const [others, migrating] = await Promise.all([
    orUnread(unread)("the pods of other nodes", readNeighbours(name, cluster), NOTHING),
    migratingVmis(cluster),
  ]);
  if (others.odd > 0) unread.push(`${others.odd} pods of other nodes`);
  return {
    node,
    otherNodes: nodes.filter((one) => one.name !== name),
    otherPods: others.items,
    migratingElsewhere: migrating.filter(({ nodeName }) => nodeName !== name),
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
    listed((onOdd) => cluster.list("pods", { fields: { "spec.nodeName": name }, as: preflightPodSchema(), onOdd })),
    vmisOn(name, cluster),
    evacuationsSeen(name, cluster),
    optional("disruption budgets", cluster.list("poddisruptionbudgets"), []),
  ]);
  const reading = pods.items.some(isOfLiveVm) ? readQuotas(cluster) : Promise.resolve(NOTHING);
  const [vmis, quotas] = await Promise.all([
    vmisOf(here, pods.items, cluster),
    optional("resource quotas", reading, NOTHING),
  ]);
  const migrations = await optional("migrations", unfinishedMigrations(vmis, cluster), []);
  if (pods.odd > 0) unread.push(`${pods.odd} pods of the node`);
  if (quotas.odd > 0) unread.push(`${quotas.odd} resource quotas`);
  const found = { pods: pods.items, quotas: quotas.items };
  return { settings, now, ...found, vmis, evacuations, migrations, budgets, flags, unread };
}

/** Bound to other nodes, and not ended. */
function readNeighbours(node: string, cluster: Client): Promise<Listed<NeighbourPod>> {
  const unlike = { "spec.nodeName": ["", node], "status.phase": ["Succeeded", "Failed"] };
  return listed((onOdd) => cluster.list("pods", { unlike, as: neighbourPodSchema(), onOdd }));
}

function readQuotas(cluster: Client): Promise<Listed<QuotaFacts>> {
  return listed((onOdd) => cluster.list("resourcequotas", { as: ResourceQuota, onOdd }));
}

async function listed<T>(read: (onOdd: () => void) => Promise<readonly T[]>): Promise<Listed<T>> {
  let odd = 0;
  const items = await read(() => void (odd += 1));
  return { items, odd };
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

/** Those that are active, of which one may not say its node yet; and those from this node that have ended. */
async function evacuationsSeen(node: string, cluster: Client): Promise<readonly EvacuationFacts[]> {
  const [active, fromHere] = await Promise.all([activeEvacuations(cluster), evacuationsFrom(node, cluster)]);
  return [...new Map([...fromHere, ...active].map((evacuation) => [evacuation.uid, evacuation])).values()];
}

/** Those on the node, and those whose launcher pods are there without them. */
async function vmisOf(
  here: readonly VmiFacts[],
  pods: readonly PreflightPod[],
  cluster: Client,
): Promise<readonly VmiFacts[]> {
  const known = new Set(here.map(keyOf));
  const missing = new Map(
    pods.flatMap((pod) => {
      const name = isOfLiveVm(pod) ? vmiNameOf(pod) : undefined;
      const key = { namespace: pod.namespace, name: name ?? "" };
      return name === undefined || known.has(keyOf(key)) ? [] : [[keyOf(key), key] as const];
    }),
  );
  const read = await Promise.all([...missing.values()].map((key) => cluster.get("virtualmachineinstances", key)));
  return [...here, ...read.filter((vmi) => vmi !== undefined)];
}

/** Of a VM that nothing moves none is looked for. */
async function unfinishedMigrations(vmis: readonly VmiFacts[], cluster: Client): Promise<readonly MigrationFacts[]> {
  const moving = vmis.filter(({ isMigrating, evacuationNodeName }) => isMigrating || evacuationNodeName !== undefined);
  return (await migrationsOf(moving, cluster)).filter((migration) => !isFinal(migration));
}
