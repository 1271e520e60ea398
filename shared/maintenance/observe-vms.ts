/** Observing what the VMs of a node depend on: who else has marked them, their priorities, and where they are if they are gone. */
import { isActive } from "../kube/evacuation.ts";
import { isMarked } from "../evacuation/mark.ts";
import type { Client } from "../kube/client.ts";
import { evacuationsOf, LAUNCHER } from "../kube/requests.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { isFinal, keyOf, vmiNameOf } from "../kube/objects.ts";
import { NodeWithResources, scheduledPodSchema } from "../kube/schemas/scheduled-pod.ts";
import type { NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import { boundAmong } from "./forecast.ts";
import { keptAmong } from "./kept.ts";
import { missingOf } from "./outcomes.ts";
import { type Priorities, viewOf, vmOf } from "./vms.ts";
import type { NodeWorld, Whereabouts } from "./world.ts";

/** If a node has more, the others have their turn when some of these have left. */
export const MOST_VMS = 100;

/** Where VMs are that have left the node, each otherwise than by an Evacuation that says so. */
export async function goneOf(w: Omit<NodeWorld, "gone">, cluster: Client): Promise<NodeWorld["gone"]> {
  const read = missingOf(w)
    .slice(0, MOST_VMS)
    .map(async (vm) => {
      const vmi = await cluster.get("virtualmachineinstances", vm);
      return [vm.uid, whereaboutsOf(vm.uid, vmi, w.ne.spec.nodeName)] as const;
    });
  return new Map(await Promise.all(read));
}

function whereaboutsOf(uid: string, vmi: VmiFacts | undefined, nodeName: string): Whereabouts {
  if (vmi === undefined || isFinal(vmi)) return { is: "Off" };
  if (vmi.uid !== uid) return { is: "Again" };
  return vmi.nodeName === nodeName ? { is: "Here" } : { is: "Elsewhere", node: vmi.nodeName };
}

/** A mark that no migration follows, and that this one has not asked for, may stay for ever: whose it is says why. */
export async function othersOf(here: readonly VmiFacts[], { evacuations }: NodeWorld, cluster: Client) {
  const own = new Set(evacuations.filter(isActive).map(vmOf));
  const marked = here.filter((vmi) => isMarked(vmi) && !vmi.isMigrating && !own.has(keyOf(vmi)));
  return (await Promise.all(marked.slice(0, MOST_VMS).map((vmi) => evacuationsOf(vmi, cluster)))).flat();
}

/** Budgets are read only if a VM is to be restarted or stopped. */
export async function keptOf(w: NodeWorld, cluster: Client): Promise<NodeWorld["kept"]> {
  const views = w.vmis.map((vmi) => viewOf(vmi, w));
  if (views.every(({ fate }) => fate !== "ShutsDown")) return new Map();
  const [pods, budgets] = await Promise.all([
    // With every label: a budget may select by any.
    cluster.list("pods", {
      labels: LAUNCHER,
      fields: { "spec.nodeName": w.ne.spec.nodeName },
      as: scheduledPodSchema(),
    }),
    cluster.list("poddisruptionbudgets"),
  ]);
  return keptAmong(views, pods, budgets);
}

/** Reads the priorities of the VMs' pods. If all VMs have the same priority class, reads nothing. */
export async function prioritiesOf(
  vmis: readonly VmiFacts[],
  { spec }: NodeEvacuationFacts,
  cluster: Client,
): Promise<Priorities> {
  const classes = new Set(vmis.map(({ priorityClass }) => priorityClass));
  if (spec.virtualMachines.order !== "ByPriority" || classes.size < 2) return new Map();
  const pods = await cluster.list("pods", { labels: LAUNCHER, fields: { "spec.nodeName": spec.nodeName } });
  return new Map(pods.map((pod) => [keyOf({ ...pod, name: vmiNameOf(pod) ?? "" }), pod.priority ?? 0]));
}

/** Nodes are read only if a VM asks for some. */
export async function observeBound(here: readonly VmiFacts[], { spec }: NodeEvacuationFacts, cluster: Client) {
  const choosy = here.filter(({ asks }) => Object.keys(asks.nodeSelector).length > 0 || asks.required !== undefined);
  if (choosy.length === 0) return new Map<string, string>();
  const nodes = await cluster.list("nodes", { as: NodeWithResources });
  return boundAmong(
    choosy,
    nodes.filter(({ name }) => name !== spec.nodeName),
  );
}
