/** The arguments of DefaultEvictor. Upstream: defaultevictor/{types,validation}.go of the descheduler. */
import * as z from "zod/mini";
import { Count, Duration, flag, Int32, listOf, mapping, Selector, SelectorText, text } from "./fields.ts";
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

/** Each switches a protection: those that are there by default off, the others on. */
const DEPRECATED = [
  ["evictLocalStoragePods", "PodsWithLocalStorage"],
  ["evictDaemonSetPods", "DaemonSetPods"],
  ["evictSystemCriticalPods", "SystemCriticalPods"],
  ["evictFailedBarePods", "FailedBarePods"],
  ["ignorePvcPods", "PodsWithPVC"],
  ["ignorePodsWithoutPDB", "PodsWithoutPDB"],
] as const satisfies readonly (readonly [string, PodProtection])[];

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
    config: z.exactOptional(
      mapping({
        PodsWithPVC: z.exactOptional(
          mapping({ protectedStorageClasses: listOf(mapping({ name: text("expected the name of a StorageClass") })) }),
        ),
      }),
    ),
  }),
);

const File = z.lazy(() =>
  mapping({
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
    evictLocalStoragePods: flag(false),
    evictDaemonSetPods: flag(false),
    evictSystemCriticalPods: flag(false),
    evictFailedBarePods: flag(false),
    ignorePvcPods: flag(false),
    ignorePodsWithoutPDB: flag(false),
  }),
);
type File = z.output<typeof File>;

function deprecatedIn(file: File): readonly PodProtection[] {
  return DEPRECATED.flatMap(([flag, protection]) => (file[flag] ? [protection] : []));
}

/** Those in force. */
function protectionsIn(file: File): readonly PodProtection[] {
  const { defaultDisabled, extraEnabled } = file.podProtections;
  const switched = new Set<PodProtection>([...deprecatedIn(file), ...defaultDisabled, ...extraEnabled]);
  return [...DEFAULT_PROTECTIONS.filter((p) => !switched.has(p)), ...EXTRA_PROTECTIONS.filter((p) => switched.has(p))];
}

function storageClassesIn({ podProtections: { config } }: File): readonly string[] {
  return config?.PodsWithPVC?.protectedStorageClasses.map(({ name }) => name) ?? [];
}

function isMixed(file: File): boolean {
  const { defaultDisabled, extraEnabled } = file.podProtections;
  return deprecatedIn(file).length > 0 && defaultDisabled.length + extraEnabled.length > 0;
}

export const EvictorArguments = z.lazy(() =>
  z.pipe(
    File.check(
      z.refine((file) => !isMixed(file), {
        path: ["podProtections"],
        error: "expected no deprecated key (evict… or ignore…) beside it",
      }),
      z.refine((file) => storageClassesIn(file).length === 0 || protectionsIn(file).includes("PodsWithPVC"), {
        path: ["podProtections", "config", "PodsWithPVC"],
        error: "expected PodsWithPVC in extraEnabled, without which it has no effect",
      }),
    ),
    z.transform((file) => ({
      /** Of the nodes that `nodeFit` looks at. */
      nodeSelector: file.nodeSelector,
      labelSelector: file.labelSelector,
      namespaceLabelSelector: file.namespaceLabelSelector,
      /** At most one of value and name. */
      priorityThreshold: file.priorityThreshold,
      nodeFit: file.nodeFit,
      /** Counts from 2 on. */
      minReplicas: file.minReplicas,
      minPodAgeSeconds: file.minPodAge,
      /** `prefer-no-eviction` on a pod is obeyed. */
      obeysPreference: file.noEvictionPolicy === "Mandatory",
      protections: protectionsIn(file),
      /** Names; empty: all. */
      protectedStorageClasses: storageClassesIn(file),
    })),
  ),
);

export type EvictorArguments = ArgumentsOf<typeof EvictorArguments>;
