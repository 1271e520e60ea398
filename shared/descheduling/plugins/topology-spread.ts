/** RemovePodsViolatingTopologySpreadConstraint evicts pods from topology domains with too many pods. */
import * as z from "zod/mini";
import type { LabelSelector } from "../../kube/facts.ts";
import { isFinal, isWanted, matches, ownValue, untolerated } from "../../kube/objects.ts";
import type { ScheduledNode, ScheduledPod, SpreadConstraint } from "../../kube/scheduled-pod.ts";
import { flag, mapping } from "./fields.ts";
import { isSelected, selection } from "./nominate.ts";
import { nodeFit } from "./node-fit.ts";
import type { ArgumentsOf, Nomination, Plugin, PluginWorld, Verdict } from "./plugin.ts";
import { by, inLevels, type Order, podOrder, SORTERS } from "./sort.ts";
import { PLUGIN_MESSAGES as MESSAGES } from "./messages.ts";

const ACTIONS = ["DoNotSchedule", "ScheduleAnyway"] as const;

const Arguments = z.lazy(() =>
  mapping({
    ...selection,
    constraints: z._default(z.array(z.enum(ACTIONS, MESSAGES.or(ACTIONS)), MESSAGES.list), ["DoNotSchedule"]),
    topologyBalanceNodeFit: flag(true),
  }),
);
export type Arguments = ArgumentsOf<typeof Arguments>;

export const topologySpread: Plugin<Arguments> = {
  name: "RemovePodsViolatingTopologySpreadConstraint",
  extensionPoint: "balance",
  arguments: Arguments,
  *nominate(args, world) {
    const pods = world.nodes.flatMap(({ name }) => world.podsOn(name)).filter((pod) => !isFinal(pod) && !pod.deleting);
    const run: Run = { args, world, gone: new Set(), fullNodes: new Set() };
    for (const [, own] of [...Map.groupBy(pods, ({ namespace }) => namespace)].toSorted(by(([name]) => name))) {
      for (const constraint of constraintsOf(own, args)) {
        if ((yield* balance(constraint, own, run)) === "TotalLimit") return;
      }
    }
  },
};

interface Run {
  readonly args: Arguments;
  readonly world: PluginWorld;
  readonly gone: Set<string>;
  readonly fullNodes: Set<string>;
}

/**
 * A topology spread constraint of one or more pods. `counts` returns whether the constraint applies to a node. This
 * depends on the pods' node affinity and tolerations.
 */
interface Constraint extends Pick<SpreadConstraint, "maxSkew" | "topologyKey"> {
  readonly selector: LabelSelector | undefined;
  readonly counts: (node: ScheduledNode) => boolean;
}

function constraintsOf(pods: readonly ScheduledPod[], args: Arguments): Iterable<Constraint> {
  const found = new Map<string, Constraint>();
  for (const pod of pods.filter((one) => one.spread !== undefined && isSelected(args, one))) {
    for (const constraint of pod.spread ?? []) {
      if (!args.constraints.some((action) => action === constraint.whenUnsatisfiable)) continue;
      const { maxSkew, topologyKey, nodeAffinityPolicy, nodeTaintsPolicy } = constraint;
      const selector = selectorOf(constraint, pod);
      const placement = nodeAffinityPolicy === "Ignore" ? undefined : pod.placement;
      const tolerations = nodeTaintsPolicy === "Honor" ? (pod.tolerations ?? []) : undefined;
      const counts = (node: ScheduledNode) =>
        (placement === undefined || isWanted(placement, node)) &&
        (tolerations === undefined || untolerated(node.taints.filter(isHard), tolerations) === undefined);
      const key = JSON.stringify([maxSkew, topologyKey, selector, placement, tolerations]);
      if (!found.has(key)) found.set(key, { maxSkew, topologyKey, selector, counts });
    }
  }
  return found.values();
}

function isHard({ effect }: { readonly effect: string }): boolean {
  return effect !== "PreferNoSchedule";
}

function selectorOf({ selector, matchLabelKeys }: SpreadConstraint, { labels }: ScheduledPod) {
  if (selector === undefined) return undefined;
  const own = matchLabelKeys.flatMap((key) => {
    const value = ownValue(labels, key);
    return value === undefined ? [] : [{ key, operator: "In", values: [value] }];
  });
  return { ...selector, matchExpressions: [...selector.matchExpressions, ...own] };
}

interface Domain {
  readonly name: string;
  readonly nodes: readonly string[];
  size: number;
  /** The pods that may be evicted. The pod at the end of the list is evicted first. */
  readonly candidates: ScheduledPod[];
}

function* balance(
  constraint: Constraint,
  pods: readonly ScheduledPod[],
  run: Run,
): Generator<Nomination, Verdict | undefined, Verdict> {
  const domains = domainsOf(constraint, pods, run);
  let mayGo: ((pod: ScheduledPod) => boolean) | undefined;
  for (let uneven = unevenIn(domains, constraint); uneven !== undefined; uneven = unevenIn(domains, constraint)) {
    const { largest, smallest, pod } = uneven;
    mayGo ??= mayGoFrom(domains, run);
    if (!mayGo(pod)) continue;
    const reason = MESSAGES.uneven(constraint.topologyKey, largest, smallest);
    const verdict = yield { pod, reason };
    if (verdict === "TotalLimit") return verdict;
    if (verdict === "NodeLimit") run.fullNodes.add(pod.nodeName);
    if (verdict !== "Accepted") continue;
    run.gone.add(pod.uid);
    largest.size -= 1;
    smallest.size += 1;
  }
  return undefined;
}

/** Takes the next candidate of the largest domain. Returns undefined if the constraint is met or no pod is left. */
function unevenIn(domains: readonly Domain[], { maxSkew }: Constraint) {
  const withCandidates = domains.filter(({ candidates }) => candidates.length > 0);
  const [smallest, largest] = [firstOf(domains, SMALLEST_FIRST), firstOf(withCandidates, LARGEST_FIRST)];
  if (smallest === undefined || largest === undefined || largest.size - smallest.size <= maxSkew) return undefined;
  const pod = largest.candidates.pop();
  return pod === undefined ? undefined : { largest, smallest, pod };
}

function firstOf(domains: readonly Domain[], order: Order<Domain>): Domain | undefined {
  const [first, ...others] = domains;
  return others.reduce((best, one) => (best === undefined || order(one, best) < 0 ? one : best), first);
}

const SMALLEST_FIRST: Order<Domain> = inLevels(
  by(({ size }) => size),
  by(({ name }) => name),
);
const LARGEST_FIRST: Order<Domain> = inLevels(
  by(({ size }) => -size),
  by(({ name }) => name),
);

/** Counts the pods in each domain. Like the scheduler and unlike upstream, includes pods that must not be evicted. */
function domainsOf({ topologyKey, selector, counts }: Constraint, pods: readonly ScheduledPod[], run: Run): Domain[] {
  const { args, world, gone } = run;
  const nodes = world.nodes.filter((node) => ownValue(node.labels, topologyKey) !== undefined && counts(node));
  const domainOf = new Map(nodes.map(({ name, labels }) => [name, ownValue(labels, topologyKey)]));
  const selected = pods.filter((pod) => !gone.has(pod.uid) && matches(selector, pod.labels));
  const byDomain = Map.groupBy(selected, (pod) => domainOf.get(pod.nodeName));
  const mayLeave = (pod: ScheduledPod) => isSelected(args, pod) && world.evictor.filter(pod);
  const order = podOrder(args, world, FREE_FIRST, SORTERS.LowestPriority);
  return [...Map.groupBy(nodes, ({ labels }) => ownValue(labels, topologyKey) ?? "")].map(([name, own]) => {
    const there = byDomain.get(name) ?? [];
    const candidates = there.filter(mayLeave).toSorted(order).toReversed();
    return { name, nodes: own.map((node) => node.name), size: there.length, candidates };
  });
}

/** Pods with a nodeSelector or a required node affinity are evicted last. */
const FREE_FIRST = by(({ placement: { nodeSelector, required } }: ScheduledPod) =>
  required !== undefined || Object.keys(nodeSelector).length > 0 ? 1 : 0,
);

/**
 * Returns a filter for pods that may leave. The pod's node must not have reached its limit. A pod whose eviction is not
 * in progress must also fit a node in a domain of below-average size.
 */
function mayGoFrom(domains: readonly Domain[], { args, world, fullNodes }: Run): (pod: ScheduledPod) => boolean {
  const average = domains.reduce((sum, { size }) => sum + size, 0) / domains.length;
  const below = new Set(domains.filter(({ size }) => size < average).flatMap(({ nodes }) => nodes));
  const nodes = world.nodes.filter(({ name }) => below.has(name));
  const fits = args.topologyBalanceNodeFit ? nodeFit(nodes, world).fitsAnyOther : () => true;
  return (pod) => {
    if (fullNodes.has(pod.nodeName)) return false;
    return world.isInProgress(pod) || (fits(pod) && world.evictor.preEvictionFilter(pod));
  };
}
