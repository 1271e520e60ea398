/** Tracks on which node each pod and VM runs, before and after each node's maintenance. */
import { isActive, type EvacuationFacts } from "../kube/evacuation.ts";
import type { MigrationFacts, VmiFacts } from "../kube/facts.ts";
import { isFinal, isLauncher, keyOf, launcherOfHotplug, vmiNameOf } from "../kube/objects.ts";
import type { ScheduledNode } from "../kube/scheduled-pod.ts";
import { type PresentPods, addPods, clear, copyOf, presentOf } from "../preflight/board.ts";
import { renderStart } from "../preflight/next-pod.ts";
import type { PodVerdict, PreflightFacts, PreflightPod } from "../preflight/facts.ts";
import { renderTarget } from "../preflight/next-pod.ts";
import { asItIs, placeInTurn, type Wanted } from "../preflight/place.ts";
import type { PlanFacts } from "./facts.ts";

export interface Placement {
  readonly nodes: readonly ScheduledNode[];
  readonly podsOn: ReadonlyMap<string, readonly PreflightPod[]>;
  /**
   * The same pods as in `podsOn`, with the free resources of each node. Lifeboat changes this object in place, because
   * copying would be slow.
   */
  readonly present: PresentPods;
  readonly vmis: ReadonlyMap<string, VmiFacts>;
  readonly migrations: readonly MigrationFacts[];
  readonly evacuations: readonly EvacuationFacts[];
  /** Pods that their controllers have created again, and that do not fit on any node yet. */
  readonly pending: readonly Wanted[];
}

export function placementOf(f: PlanFacts): Placement {
  return {
    nodes: f.nodes,
    podsOn: Map.groupBy(f.pods, ({ nodeName }) => nodeName),
    present: presentOf(f.nodes, f.pods),
    vmis: new Map(f.vmis.map((vmi) => [keyOf(vmi), vmi])),
    migrations: f.migrations.filter((one) => !isFinal(one)),
    evacuations: f.evacuations,
    pending: [],
  };
}

/** Copies the placement, so that another sequence of drains can change the copy. */
export function startFrom(p: Placement): Placement {
  return { ...p, present: copyOf(p.present) };
}

export function podsElsewhere({ podsOn }: Placement, node: string): readonly PreflightPod[] {
  return [...podsOn].flatMap(([name, pods]) => (name === node ? [] : pods));
}

export interface Judged {
  readonly facts: PreflightFacts;
  readonly vms: PlanFacts["vms"];
  /** The verdicts on pods, keyed by `namespace/name`. A pod without a verdict stays on the node. */
  readonly verdicts: ReadonlyMap<string, PodVerdict>;
  /** True if guests may be shut down, because nothing else blocks the drain or because `forceShutdowns` is set. */
  readonly mayEnd: boolean;
}

/**
 * The next place of a pod. `there`: it runs on a known node. `anew`: its node is chosen during this drain. `later`: its
 * node is chosen after this drain. `Follows`: a hotplug pod runs on the node of its VM's launcher pod. `Gone`: it is
 * deleted.
 */
type Next =
  { readonly there: PreflightPod } | { readonly anew: Wanted } | { readonly later: Wanted } | "Gone" | "Follows";

/** Returns the placement after the drain. The node is still cordoned. */
export function withoutVmsOf(p: Placement, { facts, vms, verdicts, mayEnd }: Judged): Placement {
  const vmiOf = (pod: PreflightPod) => p.vmis.get(keyOf({ ...pod, name: vmiNameOf(pod) ?? "" }));
  const nexts = facts.pods.map((pod): readonly [PreflightPod, Next] => {
    const verdict = verdicts.get(keyOf(pod));
    return [
      pod,
      verdict === undefined ? { there: pod } : nextOf(pod, verdict, { facts, vms, mayEnd, vmi: vmiOf(pod) }),
    ];
  });
  const moved = new Map(nexts.flatMap(([{ uid }, next]) => (isThere(next) ? [[uid, next.there] as const] : [])));
  const there = nexts.flatMap(([pod, next]): readonly PreflightPod[] => {
    if (next !== "Follows") return isThere(next) ? [next.there] : [];
    const launcher = moved.get(launcherOfHotplug(pod)?.uid ?? "");
    return launcher === undefined ? [] : [{ ...pod, nodeName: launcher.nodeName }];
  });
  clear(p.present, facts.node, facts.pods);
  addPods(p.present, there);
  const settled = withVmis({ ...p, podsOn: onNodes(p.podsOn, facts.node.name, there) }, [...moved.values()]);
  const anew = nexts
    .flatMap(([, next]) => (typeof next === "object" && "anew" in next ? [next.anew] : []))
    .toSorted((a, b) => sizeOf(a.pod, p) - sizeOf(b.pod, p) || (keyOf(a.pod) < keyOf(b.pod) ? -1 : 1));
  const later = nexts.flatMap(([, next]) => (typeof next === "object" && "later" in next ? [next.later] : []));
  const placed = withPlaced({ ...settled, pending: [...p.pending, ...anew] }, facts);
  return { ...placed, pending: [...placed.pending, ...later] };
}

function sizeOf(pod: PreflightPod, { vmis }: Placement): number {
  return vmis.get(keyOf({ ...pod, name: vmiNameOf(pod) ?? "" }))?.guestMemory ?? -1;
}

function isThere(next: Next): next is { readonly there: PreflightPod } {
  return typeof next === "object" && "there" in next;
}

interface Around {
  readonly facts: PreflightFacts;
  readonly vms: PlanFacts["vms"];
  readonly mayEnd: boolean;
  readonly vmi: VmiFacts | undefined;
}

function nextOf(pod: PreflightPod, { outcome, reason, room }: PodVerdict, around: Around): Next {
  switch (outcome) {
    case "Stays":
    case "Blocked":
      return { there: pod };
    case "Ended":
      return "Gone";
    case "Follows":
      return "Follows";
    case "Evicted":
      return room?.fits === false ? { there: pod } : remade(pod);
    case "Moves":
    case "Waits":
      return isLauncher(pod) ? arrived(pod, room?.node, around) : remade(pod);
    case "ShutsDown":
      return around.mayEnd ? restarted(pod, reason, { ...around, node: room?.node }) : { there: pod };
  }
}

/**
 * Returns the replacement that a pod's controller creates when the drain deletes the pod. Returns `Gone` if the pod has
 * no controller, or if the pod was already being deleted, because its replacement then exists already.
 */
function remade(pod: PreflightPod): Next {
  const isMade = !pod.deleting && pod.owners.some(({ controller }) => controller);
  return isMade ? { anew: asItIs(withoutNode(pod)) } : "Gone";
}

function withoutNode(pod: PreflightPod): PreflightPod {
  return { ...pod, nodeName: "" };
}

function arrived(pod: PreflightPod, node: string | undefined, { facts, vmi }: Around): Next {
  if (node === undefined || vmi === undefined) return { there: pod };
  const next = renderTarget(pod, vmi, facts.node, facts.settings);
  return { there: on(node, next) };
}

/** Returns the new pod as it runs on this node. KubeVirt adds the CPU labels to the new pod's node selector. */
function on(node: string, { pod, cpu }: Pick<Wanted, "pod" | "cpu">): PreflightPod {
  const nodeSelector = { ...pod.placement.nodeSelector, ...cpu };
  return { ...pod, nodeName: node, placement: { ...pod.placement, nodeSelector } };
}

const STARTS_AGAIN: readonly string[] = ["Always", "RerunOnFailure"];

function restarted(
  pod: PreflightPod,
  reason: string,
  { facts, vms, vmi, node }: Around & { readonly node: string | undefined },
): Next {
  if (vmi === undefined) return "Follows";
  const vm = vms.get(keyOf(vmi));
  if (vm === undefined) return "Gone";
  const next = renderStart(pod, vmi, vm.start, facts.settings);
  if (reason === "Restart") return node === undefined ? { there: pod } : { there: on(node, next) };
  const wanted = { ...next, pod: withoutNode(next.pod) };
  if (reason === "ShutDown") return { later: wanted };
  return STARTS_AGAIN.includes(vm.runStrategy) ? { anew: wanted } : "Gone";
}

function onNodes(before: Placement["podsOn"], drainedNode: string, pods: readonly PreflightPod[]): Placement["podsOn"] {
  const after = new Map(before).set(drainedNode, []);
  for (const [node, more] of Map.groupBy(pods, ({ nodeName }) => nodeName)) {
    after.set(node, [...(after.get(node) ?? []), ...more]);
  }
  return after;
}

/**
 * Updates the VMIs of pods that moved to a new node. Removes what exists only until the VM has moved:
 * evacuationNodeName, migrations and active Evacuations.
 */
function withVmis(p: Placement, pods: readonly PreflightPod[]): Placement {
  const vmis = new Map(p.vmis);
  const arrivedHere = new Set<string>();
  for (const pod of pods.filter(isLauncher)) {
    const key = keyOf({ ...pod, name: vmiNameOf(pod) ?? "" });
    const vmi = p.vmis.get(key);
    if (vmi === undefined || vmi.nodeName === pod.nodeName) continue;
    arrivedHere.add(key);
    const { evacuationNodeName: _, targetNode: __, hotplugs: ___, ...rest } = vmi;
    const activePods = { [pod.uid]: pod.nodeName };
    vmis.set(key, { ...rest, ...sizedAs(vmi), nodeName: pod.nodeName, activePods, isMigrating: false });
  }
  const isLeft = (namespace: string, name: string) => !arrivedHere.has(keyOf({ namespace, name }));
  return {
    ...p,
    vmis,
    migrations: p.migrations.filter(({ namespace, vmiName }) => isLeft(namespace, vmiName)),
    evacuations: p.evacuations.filter((one) => !isActive(one) || isLeft(one.namespace, one.spec.vmiName)),
  };
}

/** Returns the size of the VM after its migration. A migration completes a hotplug of CPU or memory. */
function sizedAs({ asks, currentVcpus, currentMemory }: VmiFacts) {
  return {
    ...(currentVcpus !== undefined && asks.vcpus !== undefined && { currentVcpus: asks.vcpus }),
    ...(currentMemory !== undefined && asks.guestMemory !== undefined && { currentMemory: asks.guestMemory }),
  };
}

/** Places every pod that fits on a node. Cordoned nodes get no pods. */
export function withPlaced(p: Placement, how: Pick<PreflightFacts, "volumes" | "scoring" | "lots">): Placement {
  if (p.pending.length === 0) return p;
  const [node, ...rest] = p.nodes;
  if (node === undefined) return p;
  const { present, pending: wanted } = p;
  const { volumes, scoring, lots } = how;
  const world = { node, otherNodes: [node, ...rest], otherPods: [], pods: [], volumes, scoring, lots, present };
  const rooms = placeInTurn(wanted, world);
  const placed: PreflightPod[] = [];
  const pending = p.pending.filter((wanted) => {
    const { node: name } = rooms.get(wanted.pod.uid) ?? {};
    if (name !== undefined) placed.push(on(name, wanted));
    return name === undefined;
  });
  const podsOn = new Map(p.podsOn);
  for (const pod of placed) podsOn.set(pod.nodeName, [...(podsOn.get(pod.nodeName) ?? []), pod]);
  addPods(present, placed);
  return withVmis({ ...p, podsOn, pending }, placed);
}

export function withNode(p: Placement, name: string, unschedulable: boolean): Placement {
  const nodes = p.nodes.map((node) => (node.name === name ? { ...node, unschedulable, taints: taintsIn(node) } : node));
  return { ...p, nodes };
}

const CORDON = "node.kubernetes.io/unschedulable";

function taintsIn({ taints }: ScheduledNode) {
  return taints.filter(({ key }) => key !== CORDON);
}
