/** Topology spread: in which domains one more pod would be too many. Upstream: plugin PodTopologySpread of kube-scheduler. */
import { isWanted } from "../kube/node-selector.ts";
import { ownValue } from "../kube/own-value.ts";
import type { SpreadConstraint } from "../kube/placement.ts";
import { matches } from "../kube/selector.ts";
import { untolerated } from "../kube/taints.ts";
import type { NeighbourPod, PreflightNode, PreflightPod } from "./facts.ts";
import { taintsOf } from "./node-taints.ts";

/** Whether one more pod on the node would be too many. */
export type Uneven = (node: PreflightNode) => boolean;

/** `nodes`: every one, the drained one included: its pods count until they have gone. */
export function unevenOf(pod: PreflightPod, there: readonly NeighbourPod[], nodes: readonly PreflightNode[]): Uneven {
  if (pod.spread.length === 0) return () => false;
  const hasKeys = (node: PreflightNode) =>
    pod.spread.every(({ topologyKey }) => valueOf(node, topologyKey) !== undefined);
  const eligible = nodes.filter(hasKeys);
  const living = there.filter(({ namespace, deleting }) => namespace === pod.namespace && !deleting);
  const rules = pod.spread.map((constraint) => ruleOf(constraint, pod, { eligible, living }));
  return (node) => rules.some((isUneven) => isUneven(node));
}

interface Counted {
  readonly eligible: readonly PreflightNode[];
  readonly living: readonly NeighbourPod[];
}

function ruleOf(constraint: SpreadConstraint, pod: PreflightPod, { eligible, living }: Counted): Uneven {
  const { topologyKey, maxSkew, minDomains, selector } = constraint;
  const counts = domainsOf(
    constraint,
    eligible.filter((node) => isIncluded(node, pod, constraint)),
    living,
  );
  const emptiest = counts.size < Math.max(1, minDomains) ? 0 : Math.min(...counts.values());
  const itself = matches(selector, pod.labels) ? 1 : 0;
  return (node) => {
    const value = valueOf(node, topologyKey);
    return value === undefined || (counts.get(value) ?? 0) + itself - emptiest > maxSkew;
  };
}

/** How many pods each domain has, those with none included. */
function domainsOf(
  { topologyKey, selector }: SpreadConstraint,
  nodes: readonly PreflightNode[],
  living: readonly NeighbourPod[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const domains = new Map<string, string>();
  for (const node of nodes) {
    const value = valueOf(node, topologyKey) ?? "";
    counts.set(value, 0);
    domains.set(node.name, value);
  }
  for (const { nodeName, labels } of living) {
    const value = domains.get(nodeName);
    if (value !== undefined && matches(selector, labels)) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return counts;
}

function isIncluded(node: PreflightNode, { placement, tolerations }: PreflightPod, c: SpreadConstraint): boolean {
  if (c.honorsAffinity && !isWanted(placement, node)) return false;
  return !c.honorsTaints || untolerated(taintsOf(node), tolerations) === undefined;
}

function valueOf({ labels }: PreflightNode, key: string): string | undefined {
  return ownValue(labels, key);
}
