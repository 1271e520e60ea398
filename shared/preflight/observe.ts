/**
 * Observing a node that is to be drained: its pods with their VMs, and the room elsewhere.
 *
 * What the node has is read in full, of other nodes' pods a page at a time what takes up room, of volumes (if a VM there has any) from
 * which nodes they are reached. Requests that grow with the node: one for the migrations of a namespace's VMs that are being moved already
 * (of a few hundred VMs, by the length of their names), one for each VM that has come without being there yet.
 */
import { budgetOf } from "../budget/refusal.ts";
import type { Client } from "../kube/client.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { ClusterError } from "../kube/failures.ts";
import { isOfLiveVm, keyOf, vmiNameOf } from "../kube/objects.ts";
import * as requests from "../kube/requests.ts";
import { NodeWithResources } from "../kube/schemas/scheduled-pod.ts";
import type { Observer } from "../settings/load-settings.ts";
import type { DrainFlags, PreflightFacts, PreflightPod } from "./facts.ts";
import { PersistentVolume, ResourceQuota } from "./kinds.ts";
import { observeElsewhere } from "./observe-elsewhere.ts";
import { neighbourPodSchema, preflightPodSchema } from "./preflight-pod.ts";

/** What decides about the pods of the node alone: a drain reads it again and again. */
type Elsewhere =
  "node" | "otherNodes" | "otherPods" | "volumes" | "migratingElsewhere" | "leavingElsewhere" | "finished";
type PodsOfNode = Omit<PreflightFacts, Elsewhere>;

/** Undefined: there is no such node. */
export async function observePreflight(
  name: string,
  flags: DrainFlags,
  observer: Observer,
): Promise<PreflightFacts | undefined> {
  const { cluster } = observer;
  const unread: string[] = [];
  const unlike = { "spec.nodeName": ["", name], "status.phase": ["Succeeded", "Failed"] };
  const [nodes, here, otherPods, migrating] = await Promise.all([
    cluster.list("nodes", { as: NodeWithResources }),
    observePodsOf(name, flags, observer),
    unlessUnread("pods of other nodes", unread, (onOdd) =>
      cluster.list("pods", { unlike, as: neighbourPodSchema(), onOdd }),
    ),
    requests.migratingVmis(cluster),
  ]);
  const node = nodes.find((one) => one.name === name);
  if (node === undefined) return undefined;
  const [volumes, leavingElsewhere, finished] = await Promise.all([
    readVolumes(here, cluster, unread),
    here.vmis.length === 0
      ? []
      : unlessUnread("VMs that leave other nodes", unread, () =>
          observeElsewhere({ name, nodes, evacuations: here.evacuations }, observer, unread),
        ),
    // Without them there is an estimate, too.
    here.vmis.length === 0 ? [] : unlessUnread("finished migrations", [], () => requests.finishedMigrations(cluster)),
    readRollout(here, cluster, unread),
  ]);
  const otherNodes = nodes.filter((one) => one !== node);
  const migratingElsewhere = migrating.filter(({ nodeName }) => nodeName !== name);
  const all = [...here.unread, ...unread];
  const elsewhere = { otherNodes, otherPods, migratingElsewhere, leavingElsewhere };
  return { ...here, ...elsewhere, node, finished, volumes, unread: all };
}

export async function observePodsOf(
  name: string,
  flags: DrainFlags,
  { cluster, settings, now }: Observer,
): Promise<PodsOfNode> {
  const unread: string[] = [];
  const fields = { "spec.nodeName": name };
  const [pods, here, evacuations, budgets] = await Promise.all([
    listed("pods of the node", unread, (onOdd) => cluster.list("pods", { fields, as: preflightPodSchema(), onOdd })),
    listed("VMIs of the node", unread, (onOdd) => requests.vmisOn(name, cluster, onOdd)),
    evacuationsSeen(name, cluster),
    unlessUnread("disruption budgets", unread, (onOdd) => cluster.list("poddisruptionbudgets", { onOdd })),
  ]);
  const readQuotas = (onOdd: () => void) => cluster.list("resourcequotas", { as: ResourceQuota, onOdd });
  const [vmis, quotas] = await Promise.all([
    vmisOf(here, pods, cluster),
    pods.some(isOfLiveVm) ? unlessUnread("resource quotas", unread, readQuotas) : [],
  ]);
  const migrations = await unlessUnread("migrations", unread, () => requests.migrationsUnderWay(vmis, cluster));
  return { settings, now, pods, quotas, vmis, evacuations, migrations, budgets, flags, unread };
}

type List<T> = (onOdd: () => void) => Promise<readonly T[]>;

/** Says how many could not be understood. */
async function listed<T>(what: string, unread: string[], list: List<T>): Promise<readonly T[]> {
  let odd = 0;
  const items = await list(() => void (odd += 1));
  if (odd > 0) unread.push(`${odd} ${what}`);
  return items;
}

/** What cannot be read does not keep the rest from being shown. */
async function unlessUnread<T>(what: string, unread: string[], list: List<T>): Promise<readonly T[]> {
  try {
    return await listed(what, unread, list);
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    unread.push(what);
    return [];
  }
}

/** While KubeVirt is being rolled out, its own migrations and restarts of its components come between. */
async function readRollout({ vmis }: PodsOfNode, cluster: Client, unread: string[]): Promise<void> {
  if (vmis.length === 0) return;
  const found = await unlessUnread("the KubeVirt object", unread, async () => [await requests.kubeVirt(cluster)]);
  if (found.some((one) => one?.isRollingOut === true)) unread.push("how KubeVirt's rollout ends, which is under way");
}

/** Those that not every node reaches, with the claims that they say themselves: claims need not be read. */
async function readVolumes({ pods, budgets }: PodsOfNode, cluster: Client, unread: string[]) {
  const isPlaced = (pod: PreflightPod) => isOfLiveVm(pod) || budgetOf(pod, budgets) !== undefined;
  if (!pods.some((pod) => pod.claims.length > 0 && isPlaced(pod))) return [];
  const volumes = await unlessUnread("persistent volumes", unread, (onOdd) =>
    cluster.list("persistentvolumes", { as: PersistentVolume, onOdd }),
  );
  return volumes.filter((volume) => volume !== undefined);
}

/** Those that are active, of which one may not say its node yet; and those from this node that have ended. */
async function evacuationsSeen(node: string, cluster: Client): Promise<readonly EvacuationFacts[]> {
  const [active, fromHere] = await Promise.all([
    requests.activeEvacuations(cluster).catch(requests.noneUnlessServed),
    requests.evacuationsFrom(node, cluster).catch(requests.noneUnlessServed),
  ]);
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
