/** How much of a node its pods ask for. */
import { isCompleted } from "../../policy/facts.ts";
import { ownValue } from "../../policy/kube/own-value.ts";
import type { ResourceThresholds } from "./arguments.ts";
import type { DeschedulerNode, DeschedulerPod } from "./facts.ts";

export interface NodeUsage {
  readonly node: DeschedulerNode;
  /** Of every resource counted, the sum of requests; of `pods`, their number. */
  readonly usage: ReadonlyMap<string, number>;
}

/** Those that have a threshold; CPU, memory and pods are counted in any case, as room for them must not run out. */
export function countedResources(thresholds: ResourceThresholds): readonly string[] {
  return [...new Set([...Object.keys(thresholds), "cpu", "memory", "pods"])].toSorted();
}

/** Pods that have ended ask for nothing any more. */
export function usageOf(
  node: DeschedulerNode,
  pods: readonly DeschedulerPod[],
  resources: readonly string[],
): NodeUsage {
  const usage = new Map(resources.map((resource) => [resource, 0]));
  for (const pod of pods) {
    if (isCompleted(pod)) continue;
    for (const resource of resources) usage.set(resource, (usage.get(resource) ?? 0) + requestOf(pod, resource));
  }
  return { node, usage };
}

export function requestOf(pod: DeschedulerPod, resource: string): number {
  return resource === "pods" ? 1 : (ownValue(pod.requests, resource) ?? 0);
}

/** Undefined: the node knows nothing of that resource. */
export function percentOf({ node, usage }: NodeUsage, resource: string): number | undefined {
  const capacity = ownValue(node.allocatable, resource);
  if (capacity === undefined) return undefined;
  return capacity > 0 ? ((usage.get(resource) ?? 0) / capacity) * 100 : 0;
}

/** What the pods of a node ask for in all, in one number: memory decides unless there is none. */
export function weightOf({ usage }: NodeUsage): number {
  return [...usage.values()].reduce((sum, amount) => sum + amount, 0);
}
