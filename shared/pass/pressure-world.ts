/**
 * Observing node pressure: the nodes under it, who lives there, and which other nodes have room.
 * Owns: those readings, made only while there is pressure. Does not own: the choice (shared/policy/pressure/pressure.ts).
 */
import type { Cluster } from "../cluster/cluster.ts";
import type { EvacuationFacts, NodeFacts, PodFacts, VmiFacts } from "../policy/facts.ts";
import { isCompleted, keyOf } from "../policy/facts.ts";
import { isActive } from "../policy/evacuation/phase.ts";
import { isLauncher, vmiNameOf } from "../policy/kube/pod-kind.ts";
import { isTaker, type PressureWorld, type Resident, type Taker } from "../policy/pressure/pressure.ts";
import type { Observer } from "./observer.ts";
import type { Pointer } from "./pointer.ts";

interface Seen {
  readonly vmis: readonly VmiFacts[];
  readonly nodes: readonly NodeFacts[];
  readonly pods: readonly PodFacts[];
  readonly pointers: readonly Pointer[];
  readonly evacuations: readonly EvacuationFacts[];
}

type Pressure = Pick<PressureWorld, "pressured" | "takers" | "signals">;

/** So many nodes are asked for their room: if none of them has any, hardly another one has. */
const MOST_TAKERS = 10;

export async function observePressure(seen: Seen, { cluster, settings }: Observer): Promise<Pressure> {
  const gate = settings.featureGates.includes("NodePressureEvictionLiveMigration");
  if (!gate || !settings.reconcilers.pressure) return { pressured: [], takers: [], signals: [] };
  const signals = signalsOf(seen);
  const nodes = new Map((await nodesConcerned(seen, cluster)).map((node) => [node.name, node]));
  const pressing = [...nodes.values()].filter((node) => node.pressures.length > 0);
  if (pressing.length === 0) return { pressured: [], takers: [], signals };
  const [pressured, all] = await Promise.all([
    Promise.all(pressing.map((node) => populationOf(node, cluster))),
    cluster.listNodes(),
  ]);
  const takers = all.filter(isTaker).toSorted((a, b) => b.allocatableMemory - a.allocatableMemory);
  return { pressured, signals, takers: await Promise.all(takers.slice(0, MOST_TAKERS).map((n) => roomOn(n, cluster))) };
}

/** Nodes that were pointed at, and those that VMs are leaving because of pressure. */
async function nodesConcerned({ nodes, evacuations }: Seen, cluster: Cluster): Promise<readonly NodeFacts[]> {
  const known = new Set(nodes.map((node) => node.name));
  const leaving = evacuations.filter((e) => isActive(e) && e.spec.cause === "NodePressure");
  const missing = [...new Set(leaving.flatMap((e) => e.status.sourceNode ?? []))].filter((name) => !known.has(name));
  const read = await Promise.all(missing.map((name) => cluster.getNode(name)));
  return [...nodes, ...read.filter((node) => node !== undefined)];
}

async function populationOf(node: NodeFacts, cluster: Cluster): Promise<Pressure["pressured"][number]> {
  const [pods, here, evacuations] = await Promise.all([
    cluster.listPodsOn(node.name),
    cluster.listVmis({ node: node.name }),
    cluster.listEvacuations({ sourceNode: node.name }),
  ]);
  const launchers = pods.filter(isLauncher);
  const residents = ofLaunchers(launchers, here);
  return { node, residents, evacuations };
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
    return [{ vmi, pod, domain: ENDING_GUEST, by: `kubelet: ${pointer.by}` }];
  });
  return [...shutDown, ...ending];
}

/** What a kubelet that ends a pod means for the guest in it: told to shut down, and alive so far. */
const ENDING_GUEST = { status: "Running", gracefulShutdown: true } as const;
