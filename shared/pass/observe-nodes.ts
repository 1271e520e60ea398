/**
 * Observing nodes that something was told of: pressure and the drain taint concern the VMs there.
 * Owns: which requests that takes. Does not own: what follows from the facts (shared/policy).
 */
import { carriesDrainTaint } from "../policy/kube/taints.ts";
import type { EvacuationFacts, NodeFacts, PodFacts, VmiFacts } from "../policy/facts.ts";
import type { Observer } from "./observer.ts";
import type { Pointer } from "./pointer.ts";
import { observePressure } from "./pressure-world.ts";
import { NO_WORLD, type World } from "./world.ts";

export interface Told {
  readonly pointers: readonly Pointer[];
  /** Of VMIs that were told of: what their pods and guests tell concerns node pressure too. */
  readonly pods: readonly PodFacts[];
  readonly vmis: readonly VmiFacts[];
  /** Those that have not ended, at least. */
  readonly evacuations: readonly EvacuationFacts[];
}

export async function observeNodes({ pointers, pods, vmis, evacuations }: Told, observer: Observer): Promise<World> {
  const { cluster, settings, now } = observer;
  const names = [...new Set(pointers.flatMap((p) => (p.kind === "Node" ? [p.name] : [])))];
  const read = await Promise.all(names.map((name) => cluster.getNode(name)));
  const nodes = read.filter((node) => node !== undefined);
  const tainted = nodes.filter((node) => carriesDrainTaint(node, settings));
  const [residents, leaving] = await Promise.all([residentsOf(tainted, observer), leavingFrom(nodes, observer)]);
  const known = [...new Map([...vmis, ...residents].map((vmi) => [vmi.uid, vmi])).values()];
  const all = [...new Map([...evacuations, ...leaving].map((e) => [e.uid, e])).values()];
  const seen = { vmis: known, nodes, pods, pointers, evacuations: all };
  const pressure = await observePressure(seen, { cluster, settings, now });
  return { ...NO_WORLD, settings, now, ...seen, ...pressure };
}

async function residentsOf(nodes: readonly NodeFacts[], { cluster }: Observer): Promise<readonly VmiFacts[]> {
  return (await Promise.all(nodes.map(({ name }) => cluster.listVmis({ node: name })))).flat();
}

async function leavingFrom(nodes: readonly NodeFacts[], { cluster }: Observer): Promise<readonly EvacuationFacts[]> {
  return (await Promise.all(nodes.map(({ name }) => cluster.listEvacuations({ sourceNode: name })))).flat();
}
