/** The arguments of DefaultEvictor. Upstream: defaultevictor/{types,validation}.go of the descheduler. */
import * as z from "zod/mini";
import { Count, Duration, flag, Int32, listOf, mapping, Selector, SelectorText, unsupported } from "./fields.ts";
import type { ArgumentsOf } from "./plugin.ts";

/** Priority of the PriorityClass `system-cluster-critical`: pods from it on are protected in any case. */
export const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

export const DEFAULT_PROTECTIONS = [
  "PodsWithLocalStorage",
  "SystemCriticalPods",
  "FailedBarePods",
  "DaemonSetPods",
] as const;
export const EXTRA_PROTECTIONS = ["PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims"] as const;

export type PodProtection = (typeof DEFAULT_PROTECTIONS)[number] | (typeof EXTRA_PROTECTIONS)[number];

const LARGEST = `expected no more than ${SYSTEM_CRITICAL_PRIORITY}`;
const PriorityThreshold = z.lazy(() =>
  mapping({
    value: z.exactOptional(Int32.check(z.maximum(SYSTEM_CRITICAL_PRIORITY, LARGEST))),
    name: z.exactOptional(z.string("expected the name of a PriorityClass")),
  }).check(z.refine(({ value, name }) => value === undefined || !name, "expected value or name, not both")),
);

function protections<Name extends PodProtection>(names: readonly [Name, ...Name[]]) {
  return listOf(z.enum(names, `expected one of ${names.join(", ")}`)).check(
    z.refine((list) => new Set(list).size === list.length, "expected each protection once"),
  );
}

const PodProtections = z.lazy(() =>
  mapping({
    defaultDisabled: protections(DEFAULT_PROTECTIONS),
    extraEnabled: protections(EXTRA_PROTECTIONS),
  }),
);

const DEPRECATED = unsupported("not supported, as the descheduler has deprecated it: expected podProtections");

export const EvictorArguments = z.lazy(() =>
  z.pipe(
    mapping({
      /** Of the nodes that `nodeFit` looks at. */
      nodeSelector: z.exactOptional(SelectorText),
      labelSelector: z.exactOptional(Selector),
      namespaceLabelSelector: z.exactOptional(Selector),
      priorityThreshold: z.exactOptional(PriorityThreshold),
      nodeFit: flag(false),
      minReplicas: z._default(Count, 0),
      minPodAge: z.exactOptional(Duration),
      noEvictionPolicy: z._default(
        z.enum(["", "Preferred", "Mandatory"], "expected Preferred or Mandatory"),
        "Preferred",
      ),
      podProtections: z.prefault(PodProtections, {}),
      evictLocalStoragePods: DEPRECATED,
      evictDaemonSetPods: DEPRECATED,
      evictSystemCriticalPods: DEPRECATED,
      evictFailedBarePods: DEPRECATED,
      ignorePvcPods: DEPRECATED,
      ignorePodsWithoutPDB: DEPRECATED,
    }),
    z.transform(({ minPodAge: minPodAgeSeconds, noEvictionPolicy, podProtections, ...args }) => ({
      ...args,
      minPodAgeSeconds,
      /** `prefer-no-eviction` on a pod is obeyed. */
      obeysPreference: noEvictionPolicy === "Mandatory",
      /** Those in force. */
      protections: protectionsIn(podProtections),
    })),
  ),
);

export type EvictorArguments = ArgumentsOf<typeof EvictorArguments>;

function protectionsIn({ defaultDisabled, extraEnabled }: z.output<typeof PodProtections>): readonly PodProtection[] {
  const disabled = new Set<PodProtection>(defaultDisabled);
  return [...DEFAULT_PROTECTIONS.filter((p) => !disabled.has(p)), ...extraEnabled];
}
