/**
 * The arguments of DefaultEvictor: keys, defaults and rules as upstream's. Upstream: kubernetes-sigs/descheduler,
 * pkg/framework/plugins/defaultevictor/{types,validation}.go.
 */
import * as z from "zod/mini";
import { present } from "../../cluster/kinds/fields.ts";
import {
  DEFAULT_PROTECTIONS,
  type DefaultEvictorArguments,
  EXTRA_PROTECTIONS,
  type PodProtection,
} from "../plugins/arguments.ts";
import { Count, Duration, flag, Int32, listOf, mapping, Selector, SelectorText, text } from "./fields.ts";

/** Of system-cluster-critical: pods from it on are protected in any case. */
const HIGHEST_PRIORITY = 2_000_000_000;

const PriorityThreshold = z.lazy(() =>
  mapping({
    value: z.exactOptional(Int32.check(z.maximum(HIGHEST_PRIORITY, `expected no more than ${HIGHEST_PRIORITY}`))),
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

/** The deprecated flags that are set, as the protections that they switch. */
function deprecated(file: File): readonly PodProtection[] {
  const flags: readonly (readonly [PodProtection, boolean])[] = [
    ["PodsWithLocalStorage", file.evictLocalStoragePods],
    ["DaemonSetPods", file.evictDaemonSetPods],
    ["SystemCriticalPods", file.evictSystemCriticalPods],
    ["FailedBarePods", file.evictFailedBarePods],
    ["PodsWithPVC", file.ignorePvcPods],
    ["PodsWithoutPDB", file.ignorePodsWithoutPDB],
  ];
  return flags.flatMap(([protection, set]) => (set ? [protection] : []));
}

function protectionsOf(file: File): readonly PodProtection[] {
  const { defaultDisabled, extraEnabled } = file.podProtections;
  const switched = new Set<PodProtection>([...deprecated(file), ...defaultDisabled, ...extraEnabled]);
  return [...DEFAULT_PROTECTIONS.filter((p) => !switched.has(p)), ...EXTRA_PROTECTIONS.filter((p) => switched.has(p))];
}

function storageClassesOf({ podProtections: { config } }: File): readonly string[] {
  return config?.PodsWithPVC?.protectedStorageClasses.map(({ name }) => name) ?? [];
}

function isMixed(file: File): boolean {
  const { defaultDisabled, extraEnabled } = file.podProtections;
  return deprecated(file).length > 0 && defaultDisabled.length + extraEnabled.length > 0;
}

function thresholdOf({ priorityThreshold }: File): Pick<DefaultEvictorArguments, "priorityThreshold"> {
  const { value, name } = priorityThreshold ?? {};
  if (value !== undefined) return { priorityThreshold: { value } };
  return name ? { priorityThreshold: { name } } : {};
}

function argumentsOf(file: File): DefaultEvictorArguments {
  const { nodeSelector, labelSelector, namespaceLabelSelector, nodeFit, minReplicas } = file;
  return {
    ...present({ nodeSelector, labelSelector, namespaceLabelSelector, minPodAgeSeconds: file.minPodAge }),
    ...thresholdOf(file),
    nodeFit,
    minReplicas,
    noEvictionPolicy: file.noEvictionPolicy || "Preferred",
    protections: protectionsOf(file),
    protectedStorageClasses: storageClassesOf(file),
  };
}

export const EvictorArguments = z.lazy(() =>
  z.pipe(
    File.check(
      z.refine((file) => !isMixed(file), {
        path: ["podProtections"],
        error: "expected no deprecated key (evict… or ignore…) beside it",
      }),
      z.refine((file) => storageClassesOf(file).length === 0 || protectionsOf(file).includes("PodsWithPVC"), {
        path: ["podProtections", "config", "PodsWithPVC"],
        error: "expected PodsWithPVC in extraEnabled, without which it has no effect",
      }),
    ),
    z.transform(argumentsOf),
  ),
);
