/**
 * Observing node pressure: the nodes under it, who lives there, and which other nodes have room.
 * Owns: those readings, made only while there is pressure. Does not own: the choice (shared/policy/pressure.ts).
 */
import type { Cluster } from "../cluster/cluster.ts";
import type { NodeFacts, PodFacts, VmiFacts } from "../policy/facts.ts";
import { isCompleted, keyOf } from "../policy/facts.ts";
import { isLauncher, isListedBy, vmiNameOf } from "../policy/pod-kind.ts";
import { isTaker, type PressureWorld, type Resident, type Taker } from "../policy/pressure.ts";
import type { Observer } from "./observer.ts";
import type { Pointer } from "./pointer.ts";

interface Seen {
  readonly vmis: readonly VmiFacts[];
  readonly nodes: readonly NodeFacts[];
  readonly pods: readonly PodFacts[];
  readonly pointers: readonly Pointer[];
}

type Pressure = Pick<PressureWorld, "pressured" | "takers" | "signals">;

/** So many nodes are asked for their room: if none of them has any, hardly another one has. */
const MOST_TAKERS = 10;

export async function observePressure(seen: Seen, { cluster, settings }: Observer): Promise<Pressure> {
  if (!settings.featureGates.includes("NodePressureEvictionLiveMigration"))
    return { pressured: [], takers: [], signals: [] };
  const signals = signalsOf(seen);
  const nodes = new Map((await nodesConcerned(seen, cluster)).map((node) => [node.name, node]));
  const pressing = [...nodes.values()].filter((node) => node.pressures.length > 0);
  if (pressing.length === 0) return { pressured: [], takers: [], signals };
  const [pressured, all] = await Promise.all([
    Promise.all(pressing.map((node) => populationOf(node, seen.vmis, cluster))),
    cluster.listNodes(),
  ]);
  const takers = all.filter(isTaker).toSorted((a, b) => b.allocatableMemory - a.allocatableMemory);
  return { pressured, signals, takers: await Promise.all(takers.slice(0, MOST_TAKERS).map((n) => roomOn(n, cluster))) };
}

/** Nodes that were pointed at, and those that VMs leave or have just left because of pressure. */
async function nodesConcerned({ nodes, vmis }: Seen, cluster: Cluster): Promise<readonly NodeFacts[]> {
  const known = new Set(nodes.map((node) => node.name));
  const leaving = vmis.flatMap((vmi) => (vmi.record?.cause === "NodePressure" ? [vmi.record.node] : []));
  const missing = [...new Set(leaving)].filter((name) => !known.has(name));
  const read = await Promise.all(missing.map((name) => cluster.getNode(name)));
  return [...nodes, ...read.filter((node) => node !== undefined)];
}

/**
 * `known`: VMIs seen so far, whoever has just left the node among them. A pod that KubeVirt does not count as that of a VMI
 * which has left is nobody's tail: with two such pods of their own, anybody could keep the VMs of others from leaving.
 */
async function populationOf(
  node: NodeFacts,
  known: readonly VmiFacts[],
  cluster: Cluster,
): Promise<Pressure["pressured"][number]> {
  const [pods, here] = await Promise.all([cluster.listPodsOn(node.name), cluster.listVmis({ node: node.name })]);
  const launchers = pods.filter(isLauncher);
  const keys = new Set(here.map(keyOf));
  const residents = ofLaunchers(launchers, here);
  const elsewhere = known.filter((vmi) => !keys.has(keyOf(vmi)));
  const departing = ofLaunchers(launchers, elsewhere).filter(({ vmi, pod }) => isListedBy(vmi, pod));
  return { node, residents, departing: departing.length };
}

function ofLaunchers(launchers: readonly PodFacts[], vmis: readonly VmiFacts[]): readonly Resident[] {
  const byKey = new Map(vmis.map((vmi) => [keyOf(vmi), vmi]));
  return launchers.flatMap((pod) => {
    const vmi = byKey.get(keyOf({ namespace: pod.namespace, name: vmiNameOf(pod) ?? "" }));
    return vmi === undefined ? [] : [{ vmi, pod }];
  });
}

async function roomOn(node: NodeFacts, cluster: Cluster): Promise<Taker> {
  const pods = await cluster.listPodsOn(node.name);
  const used = pods.filter((pod) => !isCompleted(pod)).reduce((sum, pod) => sum + (pod.memoryRequest ?? 0), 0);
  return { node, freeMemory: node.allocatableMemory - used };
}

/** What only an event tells: the API shows a kubelet's killing when it is over, and a guest's state never. */
function signalsOf({ pointers, vmis, pods }: Seen): Pressure["signals"] {
  const vmiOf = new Map(vmis.map((vmi) => [keyOf(vmi), vmi]));
  const shutDown = pointers.flatMap((pointer) => {
    const vmi = pointer.kind === "Domain" ? vmiOf.get(keyOf(pointer)) : undefined;
    if (pointer.kind !== "Domain" || vmi?.uid !== pointer.uid) return [];
    return [{ vmi, domain: pointer.domain, by: "domain shutdown" }];
  });
  const ending = pointers.flatMap((pointer) => {
    if (pointer.kind !== "EndingPod") return [];
    const pod = pods.find((p) => keyOf(p) === keyOf(pointer) && !p.deleting && isLauncher(p));
    const vmi = pod && vmiOf.get(keyOf({ namespace: pod.namespace, name: vmiNameOf(pod) ?? "" }));
    if (pod === undefined || vmi === undefined) return [];
    return [{ vmi, podUID: pod.uid, domain: ENDING_GUEST, by: `kubelet: ${pointer.by}` }];
  });
  return [...shutDown, ...ending];
}

/** What a kubelet that ends a pod means for the guest in it: told to shut down, and alive so far. */
const ENDING_GUEST = { status: "Running", gracefulShutdown: true } as const;
