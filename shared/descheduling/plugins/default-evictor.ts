/** DefaultEvictor: which pods may be evicted at all. Upstream: defaultevictor of the descheduler. */
import { matches } from "../../kube/selector.ts";
import {
  CONFIG_SOURCE_ANNOTATION,
  CONFIG_SOURCE_API,
  EVICT_ANNOTATION,
  MIRROR_POD_ANNOTATION,
  PREFER_NO_EVICTION_ANNOTATION,
} from "../../kube/names.ts";
import type { ScheduledPod } from "../../kube/scheduled-pod.ts";
import { type EvictorArguments, type PodProtection, SYSTEM_CRITICAL_PRIORITY } from "./default-evictor-arguments.ts";
import { nodeFit } from "./node-fit.ts";
import type { Evictor, EvictorWorld } from "./plugin.ts";

type Predicate = (pod: ScheduledPod) => boolean;

export function defaultEvictor(args: EvictorArguments): (world: EvictorWorld) => Evictor {
  return (world) => {
    const isEvictable = all([
      (pod) => !isStatic(pod) && !pod.deleting,
      // Without the protection a pod without an owner may go as well, but only if it has failed.
      (pod) => pod.owners.length > 0 || (!args.protections.includes("FailedBarePods") && pod.phase === "Failed"),
      ...args.protections.map((protection) => PROTECTIONS[protection](args, world)),
      (pod) => args.labelSelector === undefined || matches(args.labelSelector, pod.labels),
      (pod) => hasReplicas(pod, args, world),
      (pod) => isOldEnough(pod, args, world),
    ]);
    return {
      filter: (pod) => {
        if (Object.hasOwn(pod.annotations, EVICT_ANNOTATION)) return true;
        return !(args.obeysPreference && prefersNoEviction(pod)) && isEvictable(pod);
      },
      preEvictionFilter: all([isInNamespace(args, world), fitsElsewhere(args, world)]),
    };
  };
}

export function prefersNoEviction(pod: ScheduledPod): boolean {
  return Object.hasOwn(pod.annotations, PREFER_NO_EVICTION_ANNOTATION);
}

function all(predicates: readonly Predicate[]): Predicate {
  return (pod) => predicates.every((predicate) => predicate(pod));
}

/** The kubelet runs a static pod again after its mirror pod is gone. */
function isStatic({ annotations }: ScheduledPod): boolean {
  const source = annotations[CONFIG_SOURCE_ANNOTATION];
  return Object.hasOwn(annotations, MIRROR_POD_ANNOTATION) || (source ?? CONFIG_SOURCE_API) !== CONFIG_SOURCE_API;
}

/** The pods that pass each protection. */
const PROTECTIONS = {
  PodsWithLocalStorage: () => (pod) => !pod.localStorage,
  SystemCriticalPods: (args, world) => {
    const below = Math.min(SYSTEM_CRITICAL_PRIORITY, thresholdOf(args, world));
    return (pod) => pod.priority === undefined || pod.priority < below;
  },
  // The filter itself has this rule: a part of it holds without the protection.
  FailedBarePods: () => () => true,
  DaemonSetPods: () => (pod) => !pod.owners.some(({ kind }) => kind === "DaemonSet"),
  PodsWithPVC: () => (pod) => pod.claims.length === 0,
  PodsWithoutPDB: (_, { budgets }) => {
    return (pod) => budgets.get(pod.namespace)?.some(({ selector }) => matches(selector, pod.labels)) ?? false;
  },
  PodsWithResourceClaims: () => (pod) => !pod.hasResourceClaims,
} as const satisfies Record<PodProtection, (args: EvictorArguments, world: EvictorWorld) => Predicate>;

/** A PriorityClass that does not exist protects every pod that has a priority. */
function thresholdOf({ priorityThreshold }: EvictorArguments, { priorityClasses }: EvictorWorld): number {
  const { value, name } = priorityThreshold ?? {};
  if (name) return priorityClasses.get(name) ?? -Infinity;
  return value ?? SYSTEM_CRITICAL_PRIORITY;
}

/** Applies to pods with exactly one owner. Upstream also counts pods of other namespaces, whose tenants may claim any owner. */
function hasReplicas({ namespace, owners }: ScheduledPod, { minReplicas }: EvictorArguments, world: EvictorWorld) {
  const [owner] = owners;
  if (minReplicas < 2 || owner === undefined || owners.length > 1) return true;
  return world.replicasOf(namespace, owner.uid) >= minReplicas;
}

/** A pod that has not started yet is too young. */
function isOldEnough(pod: ScheduledPod, { minPodAgeSeconds }: EvictorArguments, { now }: EvictorWorld) {
  if (minPodAgeSeconds === undefined) return true;
  return pod.startedAt !== undefined && now.getTime() - pod.startedAt >= minPodAgeSeconds * 1000;
}

/** Upstream overlooks a selector that has nothing but matchExpressions, and so evicts from everywhere; here it counts. */
function isInNamespace({ namespaceLabelSelector }: EvictorArguments, world: EvictorWorld): Predicate {
  return (pod) => {
    const labels = world.namespaces.get(pod.namespace);
    return namespaceLabelSelector === undefined || (labels !== undefined && matches(namespaceLabelSelector, labels));
  };
}

function fitsElsewhere({ nodeFit: isAsked, nodeSelector }: EvictorArguments, world: EvictorWorld): Predicate {
  if (!isAsked) return () => true;
  const nodes = world.nodes.filter((node) => nodeSelector === undefined || matches(nodeSelector, node.labels));
  return nodeFit(nodes, world).fitsAnyOther;
}
