/**
 * Whether a pod may run on a node: one row for each of kube-scheduler's filters that can be judged from pods and nodes.
 * Owns: the rows, their order (what is hardest to change first). Does not own: node affinity, taints and selectors themselves
 * (../kube), pods near it (near.ts, spread.ts), where a VM is put (placing.ts).
 */
import { isWanted, matchesTerm } from "../kube/node-selector.ts";
import type { Room } from "../kube/room.ts";
import { untolerated } from "../kube/taints.ts";
import type { PreflightNode, PreflightPod, Volume } from "./facts.ts";
import type { Near } from "./near.ts";
import { taintsOf } from "./node-taints.ts";
import type { Uneven } from "./spread.ts";

export interface Obstacle {
  readonly constraint: (typeof CONSTRAINTS)[number];
  readonly message: string;
  /** How much of what is asked for is missing: 0 to 1. */
  readonly shortage: number;
}

export interface Spot {
  readonly node: PreflightNode;
  readonly room: Room;
}

/** What one pod brings with it, and what is around it. */
export interface Around {
  readonly near: Near;
  readonly uneven: Uneven;
  /** That it uses, and that not every node reaches. */
  readonly volumes: readonly Volume[];
}

/** In the order in which they are asked; a node that fails a later one comes closer. */
export const CONSTRAINTS = [
  "NodeAffinity",
  "Volumes",
  "Taints",
  "PodAffinity",
  "PodAntiAffinity",
  "TopologySpread",
  "Resources",
] as const;

export function obstacleTo(pod: PreflightPod, { node, room }: Spot, around: Around): Obstacle | undefined {
  return (
    nodeAffinity(pod, node) ?? volumes(node, around) ?? taints(pod, node) ?? pods(node, around) ?? resources(pod, room)
  );
}

function obstacle(constraint: Obstacle["constraint"], message: string, shortage = 1): Obstacle {
  return { constraint, message, shortage };
}

function nodeAffinity({ placement }: PreflightPod, node: PreflightNode): Obstacle | undefined {
  if (isWanted(placement, node)) return undefined;
  const missing = Object.entries(placement.nodeSelector).find(([key, value]) => node.labels[key] !== value);
  if (missing === undefined) return obstacle("NodeAffinity", "the VM's required node affinity does not match the node");
  return obstacle("NodeAffinity", `the node lacks the label ${missing.join("=")}`);
}

function taints({ tolerations }: PreflightPod, node: PreflightNode): Obstacle | undefined {
  const taint = untolerated(taintsOf(node), tolerations);
  if (taint === undefined) return undefined;
  const words = {
    "node.kubernetes.io/unschedulable": "the node is cordoned",
    "node.kubernetes.io/not-ready": "the node is not ready",
  };
  const known = Object.entries(words).find(([key]) => key === taint.key)?.[1];
  return obstacle(
    "Taints",
    known ?? `the pod does not tolerate the taint ${taint.key}${taint.value ? `=${taint.value}` : ""}:${taint.effect}`,
  );
}

/** Upstream: plugin VolumeBinding of kube-scheduler, for claims that are bound; those of a running VM are. */
function volumes(node: PreflightNode, { volumes }: Around): Obstacle | undefined {
  const out = volumes.find(({ reachedFrom }) => !reachedFrom.some((term) => matchesTerm(term, node)));
  return out && obstacle("Volumes", `the node does not reach the volume of PersistentVolumeClaim ${out.claim}`);
}

function pods(node: PreflightNode, { near, uneven }: Around): Obstacle | undefined {
  const lacking = near.lacks(node);
  if (lacking !== undefined) return obstacle("PodAffinity", lacking);
  const repelling = near.repels(node);
  if (repelling !== undefined) return obstacle("PodAntiAffinity", repelling);
  const skewed = uneven(node);
  return skewed === undefined ? undefined : obstacle("TopologySpread", skewed);
}

/** The resource of which most is missing. */
function resources({ requests }: PreflightPod, room: Room): Obstacle | undefined {
  const leftOf = (name: string) => Math.max(0, room.get(name) ?? 0);
  const short = Object.entries({ ...requests, pods: 1 }).filter(([name, amount]) => amount > leftOf(name));
  const shortageOf = ([name, amount]: readonly [string, number]) => (amount - leftOf(name)) / amount;
  const [worst] = short.toSorted((a, b) => shortageOf(b) - shortageOf(a));
  if (worst === undefined) return undefined;
  const [[name, amount], left, shortage] = [worst, leftOf(worst[0]), shortageOf(worst)];
  const message =
    name === "pods"
      ? "the node has as many pods as it may have"
      : `${name}: ${inWords(name, amount)} requested, ${inWords(name, left)} free`;
  return obstacle("Resources", message, shortage);
}

const MIB = 1024 ** 2;

export function inWords(name: string, amount: number): string {
  if (name === "cpu") return `${amount}m`;
  const isBytes = name === "memory" || name === "ephemeral-storage" || name.startsWith("hugepages-");
  return isBytes && amount >= MIB ? `${Math.floor(amount / MIB)}Mi` : String(amount);
}
