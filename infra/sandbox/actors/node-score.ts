/**
 * Scores the nodes that a pod fits. The plugins and their weights are from kube-scheduler's default profile.
 * ImageLocality is missing, because the sandbox's nodes have no images.
 */
import { matchesTerm, tolerates, type Taint } from "./node-fit.ts";
import { attractionOf } from "./pod-affinity.ts";
import { type Measured, requestOf } from "./resource-fit.ts";
import { parseQuantity } from "./quantity.ts";
import type { Node, Pod } from "./resources.ts";
import { crowdingOf, type Placed } from "./topology-spread.ts";

/** Whether NodeResourcesFit prefers the emptiest or the fullest node. */
export type Scoring = "LeastAllocated" | "MostAllocated";

export interface Candidate {
  readonly node: Node;
  readonly neighbours: readonly Pod[];
}

interface Scored {
  readonly pod: Pod;
  readonly candidates: readonly Candidate[];
  readonly placed: readonly Placed[];
  readonly scoring: Scoring;
  /**
   * Returns a random number between 0 and 1, by which the scheduler chooses between candidates with equal scores.
   * Without `lots`, it chooses the candidate with the fewest pods. If these numbers are also equal, it chooses the
   * first by name.
   */
  readonly lots?: Lots | undefined;
}

export type Lots = () => number;

/**
 * Returns a random number generator. The same seed gives the same numbers. The constants are from Numerical Recipes.
 */
export function seededLots(seed: number): Lots {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const MOST = 100;

interface Plugin {
  readonly weight: number;
  /** Returns a score between 0 and 100 for each candidate. */
  readonly score: (scored: Scored) => readonly number[];
}

const PLUGINS: Readonly<Record<string, Plugin>> = {
  TaintToleration: { weight: 3, score: fewestSoftTaints },
  NodeAffinity: {
    weight: 2,
    score: ({ pod, candidates }) => normalized(candidates.map((one) => preferenceFor(pod, one))),
  },
  PodTopologySpread: { weight: 2, score: leastCrowded },
  InterPodAffinity: { weight: 2, score: mostAttractive },
  NodeResourcesFit: {
    weight: 1,
    score: ({ pod, candidates, scoring }) => candidates.map((one) => roomOn(pod, one, scoring)),
  },
  NodeResourcesBalancedAllocation: {
    weight: 1,
    score: ({ pod, candidates }) => candidates.map((one) => balanceOn(pod, one)),
  },
};

/**
 * Returns the candidate with the best score. If several candidates have the same best score, `lots` determines which
 * candidate is chosen.
 */
export function bestOf(scored: Scored): Candidate | undefined {
  const totals = scored.candidates.map(() => 0);
  for (const { weight, score } of Object.values(PLUGINS)) {
    score(scored).forEach((points, at) => (totals[at] = (totals[at] ?? 0) + weight * points));
  }
  const lot = scored.lots ?? (() => 0);
  const ranked = scored.candidates.map((candidate, at) => ({ candidate, total: totals[at] ?? 0, lot: lot() }));
  const [best] = ranked.toSorted((a, b) => b.total - a.total || b.lot - a.lot || byEmptiness(a.candidate, b.candidate));
  return best?.candidate;
}

function byEmptiness(a: Candidate, b: Candidate): number {
  return a.neighbours.length - b.neighbours.length || a.node.metadata.name.localeCompare(b.node.metadata.name);
}

function normalized(counts: readonly number[]): readonly number[] {
  const most = Math.max(0, ...counts);
  return counts.map((count) => (most === 0 ? 0 : Math.trunc((MOST * count) / most)));
}

function fewestSoftTaints({ pod, candidates }: Scored): readonly number[] {
  return normalized(candidates.map(({ node }) => softTaintsOf(pod, node))).map((points) => MOST - points);
}

function softTaintsOf({ spec }: Pod, node: Node): number {
  // Only a toleration without an effect, or with the effect PreferNoSchedule, matches a PreferNoSchedule taint.
  const tolerations = (spec?.tolerations ?? []).filter(({ effect }) => !effect || effect === "PreferNoSchedule");
  const isSoft = (taint: Taint) =>
    taint.effect === "PreferNoSchedule" && !tolerations.some((one) => tolerates(one, taint));
  return (node.spec?.taints ?? []).filter(isSoft).length;
}

function preferenceFor(pod: Pod, { node }: Candidate): number {
  const terms = pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const matching = terms.filter(({ preference }) =>
    matchesTerm(preference, node.metadata.labels ?? {}, node.metadata.name),
  );
  return matching.reduce((sum, { weight }) => sum + weight, 0);
}

function leastCrowded({ pod, candidates, placed }: Scored): readonly number[] {
  const crowding = crowdingOf(
    pod,
    candidates.map(({ node }) => node),
    placed,
  );
  if (crowding === undefined) return candidates.map(() => 0);
  const known = crowding.filter((one) => one !== undefined);
  const [least, most] = [Math.min(...known), Math.max(0, ...known)];
  return crowding.map((one) => {
    if (one === undefined) return 0;
    return most === 0 ? MOST : Math.trunc((MOST * (most + least - one)) / most);
  });
}

function mostAttractive({ pod, candidates, placed }: Scored): readonly number[] {
  const sums = candidates.map(({ node }) => attractionOf(pod, node, placed));
  const [least, most] = [Math.min(...sums), Math.max(...sums)];
  return sums.map((sum) => (most === least ? 0 : Math.trunc((MOST * (sum - least)) / (most - least))));
}

const RESOURCES: readonly Measured[] = ["cpu", "memory"];

/** The scheduler assumes these requests for a container without requests: 100m of CPU and 200 MiB of memory. */
const UNREQUESTED = { cpu: 100, memory: 200 * 1024 ** 2 } as const;

/** Returns the amount in kube-scheduler's units: millicores of CPU, and bytes. */
function inUnits(resource: Measured, amount: number): number {
  return Math.round(resource === "cpu" ? amount * 1000 : amount);
}

function unitsOf(pod: Pod, resource: Measured): number {
  return inUnits(resource, requestOf(pod, resource));
}

function countedUnitsOf(pod: Pod, resource: Measured): number {
  const silent = (pod.spec?.containers ?? []).filter(({ resources }) => resources?.requests?.[resource] === undefined);
  return unitsOf(pod, resource) + silent.length * UNREQUESTED[resource];
}

interface Share {
  readonly taken: number;
  readonly own: number;
  readonly all: number;
}

/** Returns how much of the node's CPU and memory is requested if the pod runs on the node. `own` is the pod's part. */
function sharesOf(pod: Pod, { node, neighbours }: Candidate, requested: typeof unitsOf): readonly Share[] {
  return RESOURCES.flatMap((resource) => {
    const all = inUnits(resource, parseQuantity(node.status?.allocatable?.[resource] ?? 0));
    const own = requested(pod, resource);
    const taken = neighbours.reduce((sum, one) => sum + requested(one, resource), own);
    return all > 0 ? [{ taken, own, all }] : [];
  });
}

function roomOn(pod: Pod, candidate: Candidate, scoring: Scoring): number {
  const points = sharesOf(pod, candidate, countedUnitsOf).map(({ taken, all }) => {
    const used = Math.min(taken, all);
    return Math.trunc(((scoring === "MostAllocated" ? used : all - used) * MOST) / all);
  });
  return points.length === 0 ? 0 : Math.trunc(points.reduce((sum, one) => sum + one, 0) / points.length);
}

/**
 * Returns a higher score if the pod makes the node's use of CPU and memory more even, and a lower score if the pod
 * makes it less even. For a pod without requests, every node gets the score 0. Upstream: `balancedResourceScorer` of
 * 1.36.
 */
function balanceOn(pod: Pod, candidate: Candidate): number {
  if (RESOURCES.every((resource) => requestOf(pod, resource) === 0)) return 0;
  const shares = sharesOf(pod, candidate, unitsOf);
  const before = shares.map(({ taken, own, all }) => ({ taken: taken - own, all }));
  return MOST / 2 + Math.trunc((MOST / 2 + evennessOf(shares) - evennessOf(before)) / 2);
}

function evennessOf(shares: readonly Pick<Share, "taken" | "all">[]): number {
  const [cpu = 0, memory = cpu] = shares.map(({ taken, all }) => Math.min(1, taken / all));
  return Math.trunc(MOST * (1 - Math.abs(cpu - memory) / 2));
}
