/** Whether a pod may run on a node: one row for each of kube-scheduler's filters that can be judged from pods and nodes. */
import { isWanted, matchesTerm } from "../kube/node-selector.ts";
import type { Room } from "../kube/room.ts";
import { untolerated } from "../kube/taints.ts";
import type { PreflightNode, PreflightPod, Volume } from "./facts.ts";
import type { Near } from "./near.ts";
import { taintsOf } from "./node-taints.ts";
import type { Uneven } from "./spread.ts";

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

type Keeps = (pod: PreflightPod, spot: Spot, around: Around) => boolean;

/** In the order in which they are asked: what is hardest to change first. */
const KEEPS = {
  NodeAffinity: ({ placement }, { node }) => !isWanted(placement, node),
  // Upstream: plugin VolumeBinding of kube-scheduler, for claims that are bound; those of a running VM are.
  Volumes: (_, { node }, { volumes }) =>
    volumes.some(({ reachedFrom }) => !reachedFrom.some((term) => matchesTerm(term, node))),
  Taints: ({ tolerations }, { node }) => untolerated(taintsOf(node), tolerations) !== undefined,
  PodAffinity: (_, { node }, { near }) => near.lacks(node),
  PodAntiAffinity: (_, { node }, { near }) => near.repels(node),
  TopologySpread: (_, { node }, { uneven }) => uneven(node),
  Resources: ({ requests }, { room }) =>
    Object.entries({ ...requests, pods: 1 }).some(([name, amount]) => amount > Math.max(0, room.get(name) ?? 0)),
} as const satisfies Record<string, Keeps>;

export const CONSTRAINTS = Object.keys(KEEPS);

/** The first that keeps the pod from the node. */
export function obstacleTo(pod: PreflightPod, spot: Spot, around: Around): string | undefined {
  return Object.entries<Keeps>(KEEPS).find(([, keeps]) => keeps(pod, spot, around))?.[0];
}
