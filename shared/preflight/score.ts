/**
 * Finds the best of the nodes on which a pod fits. Each row of `PLUGINS` is one plugin of kube-scheduler's default
 * profile, with its weight. ImageLocality has no row, because Lifeboat does not read which images a node has. Upstream:
 * pkg/scheduler/apis/config/v1/default_plugins.go, and the plugins' Score and NormalizeScore.
 */
import { hash8, matchesTerm, ownValue, untolerated } from "../kube/objects.ts";
import type { Labels, PlacementTerms } from "../kube/scheduled-pod.ts";
import { type Board, type Filled, podsAmong, podsLike } from "./board.ts";
import type { NeighbourPod, PreflightPod } from "./facts.ts";
import { type FitNode, selects } from "./fit.ts";
import { crowdednessOf, crowdsOf } from "./spread.ts";

interface Scored {
  readonly pod: PreflightPod;
  readonly nodes: readonly FitNode[];
  readonly board: Board;
  readonly labelsOf: ReadonlyMap<string, Labels>;
  readonly scoring: "MostAllocated" | undefined;
  readonly lots: number | undefined;
}

const MOST = 100;

interface Plugin {
  readonly weight: number;
  /** The score is a number from 0 to 100. */
  readonly score: (scored: Scored) => readonly number[];
}

// prettier-ignore
const PLUGINS: readonly Plugin[] = [
  { weight: 3, score: fewestSoftTaints },
  { weight: 2, score: preferredNodes },
  { weight: 2, score: leastCrowded },
  { weight: 2, score: mostAttractive },
  { weight: 1, score: allocated },
  { weight: 1, score: mostBalanced },
];

/**
 * Returns the best node. If several nodes have the same score, `lots` is the seed of a random choice, because
 * kube-scheduler chooses at random. Without `lots`, returns the node with the fewest pods, and among these the first by
 * name. In clusters with more than 100 nodes, kube-scheduler scores only some nodes. This function scores all nodes.
 */
export function bestOf(scored: Scored): FitNode | undefined {
  const { pod, nodes, board, lots } = scored;
  if (nodes.length < 2) return nodes[0];
  const totals = nodes.map(() => 0);
  for (const { weight, score } of PLUGINS) {
    const points = score(scored);
    for (let at = 0; at < totals.length; at += 1) totals[at] = (totals[at] ?? 0) + weight * (points[at] ?? 0);
  }
  const podsOn = ({ name }: FitNode) => board.filled.get(name)?.pods ?? 0;
  const lotOf = ({ name }: FitNode) => hash8(`${lots} ${pod.uid} ${name}`);
  const isBetter = (a: number, b: number) => {
    const [one, other] = [nodes[a], nodes[b]];
    const points = (totals[a] ?? 0) - (totals[b] ?? 0);
    if (points !== 0 || one === undefined || other === undefined) return points > 0;
    if (lots !== undefined) return lotOf(one) < lotOf(other);
    return podsOn(one) === podsOn(other) ? one.name < other.name : podsOn(one) < podsOn(other);
  };
  return nodes[nodes.reduce((best, _, at) => (isBetter(at, best) ? at : best), 0)];
}

function normalized(counts: readonly number[]): readonly number[] {
  const most = Math.max(0, ...counts);
  return counts.map((count) => (most === 0 ? 0 : Math.trunc((MOST * count) / most)));
}

function fewestSoftTaints({ pod, nodes }: Scored): readonly number[] {
  if (nodes.every(({ taints }) => taints.length === 0)) return nodes.map(() => MOST);
  // Uses only tolerations for PreferNoSchedule or for every effect.
  const tolerations = (pod.tolerations ?? []).filter(
    ({ effect = "PreferNoSchedule" }) => effect === "PreferNoSchedule",
  );
  const soft = nodes.map(
    ({ taints }) =>
      taints.filter((taint) => taint.effect === "PreferNoSchedule" && untolerated([taint], tolerations)).length,
  );
  return normalized(soft).map((points) => MOST - points);
}

function preferredNodes({ pod, nodes }: Scored): readonly number[] {
  const terms = pod.placementTerms?.nodes ?? [];
  if (terms.length === 0) return nodes.map(() => 0);
  const sums = nodes.map((node) =>
    terms.reduce((sum, { weight, term }) => sum + (matchesTerm(term, node) ? weight : 0), 0),
  );
  return normalized(sums);
}

function leastCrowded({ pod, nodes, board, labelsOf }: Scored): readonly number[] {
  const found = crowdsOf(pod, board);
  if (found.crowds.length === 0) return nodes.map(() => 0);
  const crowdedness = crowdednessOf(nodes, found, labelsOf);
  const known = crowdedness.filter((one) => one !== undefined);
  const [least, most] = [Math.min(...known), Math.max(0, ...known)];
  return crowdedness.map((one) => {
    if (one === undefined) return 0;
    return most === 0 ? MOST : Math.trunc((MOST * (most + least - one)) / most);
  });
}

/**
 * Scores nodes by the pod's preferences, and by the preferences of the pods on the node. A required affinity of a pod
 * on the node has the weight 1.
 */
function mostAttractive({ pod, nodes, board, labelsOf }: Scored): readonly number[] {
  const own = pod.placementTerms?.preferred ?? [];
  const points = new Map<string, number>();
  for (const other of new Set([...own.flatMap(({ selector }) => podsLike(board, selector)), ...drawn(pod, board)])) {
    const labels = labelsOf.get(other.nodeName) ?? {};
    for (const { topologyKey, weight } of attractionsBetween(pod, own, other)) {
      const value = ownValue(labels, topologyKey);
      const domain = `${topologyKey}=${value}`;
      if (value !== undefined) points.set(domain, (points.get(domain) ?? 0) + weight);
    }
  }
  if (points.size === 0) return nodes.map(() => 0);
  const sums = nodes.map(({ labels }) =>
    Object.entries(labels).reduce((sum, [key, value]) => sum + (points.get(`${key}=${value}`) ?? 0), 0),
  );
  const [least, most] = [Math.min(...sums), Math.max(...sums)];
  return sums.map((sum) => (most === least ? 0 : Math.trunc((MOST * (sum - least)) / (most - least))));
}

function drawn({ labels }: PreflightPod, board: Board): readonly NeighbourPod[] {
  return podsAmong(board, board.directory.drawnTo(labels));
}

type Weighted = PlacementTerms["preferred"][number];

function attractionsBetween(
  pod: PreflightPod,
  own: readonly Weighted[],
  other: NeighbourPod,
): readonly Pick<Weighted, "topologyKey" | "weight">[] {
  const { preferred, near } = other.placementTerms ?? { preferred: [], near: [] };
  return [
    ...own.filter((term) => selects(term, pod, other)),
    ...preferred.filter((term) => selects(term, other, pod)),
    ...near.filter((term) => selects(term, other, pod)).map((term) => ({ ...term, weight: 1 })),
  ];
}

const RESOURCES = ["cpu", "memory"] as const;

/** Gives the emptiest node the highest score. With `MostAllocated`, gives the fullest node the highest score. */
function allocated({ pod, nodes, board, scoring }: Scored): readonly number[] {
  return nodes.map((node) => {
    const filled = board.filled.get(node.name);
    let points = 0;
    let counted = 0;
    for (const name of RESOURCES) {
      const all = node.allocatable[name] ?? 0;
      if (all === 0) continue;
      const left = Math.max(0, leftOn(name, filled) - (pod.requests[name] ?? 0) - assumedOf(name, pod, filled));
      points += Math.floor(((scoring === "MostAllocated" ? all - left : left) * MOST) / all);
      counted += 1;
    }
    return counted === 0 ? 0 : Math.floor(points / counted);
  });
}

type Name = (typeof RESOURCES)[number];

function leftOn(name: Name, filled: Filled | undefined): number {
  return filled?.room.get(name) ?? 0;
}

/**
 * Returns the sum of the requests that kube-scheduler assumes for containers without requests. Counts the containers of
 * this pod and of all pods on the node.
 */
function assumedOf(name: Name, { placementTerms }: PreflightPod, filled: Filled | undefined): number {
  return (filled?.assumed[name] ?? 0) + (placementTerms?.assumed[name] ?? 0);
}

/**
 * Prefers nodes on which the pod makes the used shares of CPU and memory more equal. If the pod has no requests, every
 * node gets the score 0. Upstream: `balancedResourceScorer`.
 */
function mostBalanced({ pod: { requests }, nodes, board: { filled } }: Scored): readonly number[] {
  const { cpu = 0, memory = 0 } = requests;
  if (cpu === 0 && memory === 0) return nodes.map(() => 0);
  return nodes.map(({ name, allocatable }) => {
    const room = filled.get(name)?.room;
    const all = { cpu: allocatable["cpu"] ?? 0, memory: allocatable["memory"] ?? 0 };
    const taken = { cpu: all.cpu - (room?.get("cpu") ?? 0), memory: all.memory - (room?.get("memory") ?? 0) };
    const before = evennessOf(taken.cpu / all.cpu, taken.memory / all.memory);
    const after = evennessOf((taken.cpu + cpu) / all.cpu, (taken.memory + memory) / all.memory);
    return MOST / 2 + Math.trunc((MOST / 2 + after - before) / 2);
  });
}

function evennessOf(cpu: number, memory: number): number {
  if (!Number.isFinite(cpu + memory)) return MOST;
  return Math.trunc(MOST * (1 - Math.abs(Math.min(1, cpu) - Math.min(1, memory)) / 2));
}
