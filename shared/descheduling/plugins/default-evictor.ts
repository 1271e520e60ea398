/** DefaultEvictor decides which pods may be evicted. Upstream: defaultevictor of the descheduler. */
import * as z from "zod/mini";
import { matches } from "../../kube/objects.ts";
import {
  CONFIG_SOURCE_ANNOTATION,
  CONFIG_SOURCE_API,
  EVICT_ANNOTATION,
  MIRROR_POD_ANNOTATION,
  PREFER_NO_EVICTION_ANNOTATION,
} from "../../kube/names.ts";
import type { ScheduledPod } from "../../kube/scheduled-pod.ts";
import { CountArgument, flag, Int32, listArgument, mapping, SelectorArgument } from "./fields.ts";
import { nodeFit } from "./node-fit.ts";
import type { ArgumentsOf, Evictor, EvictorWorld } from "./plugin.ts";
import { PLUGIN_MESSAGES as MESSAGES } from "./messages.ts";

/** The priority of the PriorityClass `system-cluster-critical`. */
const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

export const DEFAULT_PROTECTIONS = [
  "PodsWithLocalStorage",
  "SystemCriticalPods",
  "FailedBarePods",
  "DaemonSetPods",
] as const;
export const EXTRA_PROTECTIONS = ["PodsWithPVC", "PodsWithResourceClaims"] as const;

export type PodProtection = (typeof DEFAULT_PROTECTIONS)[number] | (typeof EXTRA_PROTECTIONS)[number];

const LARGEST = MESSAGES.atMost(SYSTEM_CRITICAL_PRIORITY);

function protections<Name extends PodProtection>(names: readonly [Name, ...Name[]]) {
  return listArgument(z.enum(names, MESSAGES.oneOf(names)));
}

/** The arguments of the plugin. Unknown keys are errors. Upstream: defaultevictor/{types,validation}.go. */
export const EvictorArguments = z.lazy(() =>
  z.pipe(
    mapping({
      labelSelector: z.exactOptional(SelectorArgument),
      priorityThreshold: z.exactOptional(mapping({ value: Int32.check(z.maximum(SYSTEM_CRITICAL_PRIORITY, LARGEST)) })),
      nodeFit: flag(false),
      minReplicas: z._default(CountArgument, 0),
      noEvictionPolicy: z._default(
        z.enum(["", "Preferred", "Mandatory"], MESSAGES.or(["Preferred", "Mandatory"])),
        "Preferred",
      ),
      podProtections: z.prefault(
        mapping({ defaultDisabled: protections(DEFAULT_PROTECTIONS), extraEnabled: protections(EXTRA_PROTECTIONS) }),
        {},
      ),
    }),
    z.transform(({ noEvictionPolicy, podProtections: { defaultDisabled, extraEnabled }, ...args }) => ({
      ...args,
      obeysPreference: noEvictionPolicy === "Mandatory",
      protections: [...DEFAULT_PROTECTIONS.filter((one) => !defaultDisabled.includes(one)), ...extraEnabled],
    })),
  ),
);

export type EvictorArguments = ArgumentsOf<typeof EvictorArguments>;

export function defaultEvictor(args: EvictorArguments): (world: EvictorWorld) => Evictor {
  return (world) => ({
    filter: (pod) => {
      if (Object.hasOwn(pod.annotations, EVICT_ANNOTATION)) return true;
      return !(args.obeysPreference && prefersNoEviction(pod)) && isEvictable(pod, args, world);
    },
    preEvictionFilter: args.nodeFit ? nodeFit(world.nodes, world).fitsAnyOther : () => true,
  });
}

export function prefersNoEviction(pod: ScheduledPod): boolean {
  return Object.hasOwn(pod.annotations, PREFER_NO_EVICTION_ANNOTATION);
}

function isEvictable(pod: ScheduledPod, args: EvictorArguments, world: EvictorWorld): boolean {
  if (isStatic(pod) || pod.deleting) return false;
  if (!args.protections.every((protection) => PASSES[protection](pod, args))) return false;
  // A pod without an owner may be evicted only if it has failed.
  if (pod.owners.length === 0 && pod.phase !== "Failed") return false;
  if (args.labelSelector !== undefined && !matches(args.labelSelector, pod.labels)) return false;
  return hasReplicas(pod, args, world);
}

/** Returns whether the pod is a mirror pod of a static pod. Deleting it does not stop the static pod. */
function isStatic({ annotations }: ScheduledPod): boolean {
  const source = annotations[CONFIG_SOURCE_ANNOTATION];
  return Object.hasOwn(annotations, MIRROR_POD_ANNOTATION) || (source ?? CONFIG_SOURCE_API) !== CONFIG_SOURCE_API;
}

/** Functions that return whether a protection allows the eviction of the pod, keyed by protection. */
const PASSES = {
  PodsWithLocalStorage: ({ localStorage }) => !localStorage,
  SystemCriticalPods: ({ priority = -Infinity }, { priorityThreshold }) =>
    priority < (priorityThreshold?.value ?? SYSTEM_CRITICAL_PRIORITY),
  FailedBarePods: ({ owners }) => owners.length > 0,
  DaemonSetPods: ({ owners }) => !owners.some(({ kind }) => kind === "DaemonSet"),
  PodsWithPVC: ({ claims }) => claims.length === 0,
  PodsWithResourceClaims: ({ hasResourceClaims }) => !hasResourceClaims,
} as const satisfies Record<PodProtection, (pod: ScheduledPod, args: EvictorArguments) => boolean>;

/**
 * Returns whether the pod's only owner has enough replicas. Unlike upstream, ignores pods of other namespaces, because
 * a tenant can write any owner into a pod.
 */
function hasReplicas({ namespace, owners }: ScheduledPod, { minReplicas }: EvictorArguments, world: EvictorWorld) {
  const [owner] = owners;
  if (minReplicas < 2 || owner === undefined || owners.length > 1) return true;
  return world.replicasOf(namespace, owner.uid) >= minReplicas;
}
