/**
 * The settings in force: KubeVirt's CR and the LifeboatConfiguration, merged.
 * Owns: the merge, and remarks on it. Does not own: reading either (load-settings.ts), defaults
 * (shared/policy/settings.ts).
 */
import type { KubeVirtFacts } from "../cluster/kinds/kubevirt.ts";
import { DEFAULT_SETTINGS, FEATURE_GATES, type Settings } from "../policy/settings.ts";
import type { LifeboatConfiguration } from "./lifeboat-configuration.ts";

const NO_KUBEVIRT: KubeVirtFacts = { namespace: DEFAULT_SETTINGS.kubevirtNamespace, featureGates: [] };

export function mergeSettings(kubevirt: KubeVirtFacts = NO_KUBEVIRT, own: LifeboatConfiguration): Settings {
  const { namespace, featureGates, evictionStrategy, drainTaintKey, ...limits } = kubevirt;
  return {
    ...(evictionStrategy === undefined ? {} : { clusterStrategy: evictionStrategy }),
    kubevirtNamespace: namespace,
    marking: own.marking,
    // The union of both lists: who switches a gate on anywhere wants it.
    featureGates: FEATURE_GATES.filter((gate) => own.featureGates[gate] === true || featureGates.includes(gate)),
    drainTaintKey: drainTaintKey ?? DEFAULT_SETTINGS.drainTaintKey,
    evictionsCovered: false,
    limits: { ...DEFAULT_SETTINGS.limits, ...limits },
    reconcilers: own.reconcilers,
    evacuation: own.evacuation,
    guard: own.guard,
    descheduling: own.descheduling,
  };
}

/** What is set and does nothing, as other keys are. */
export function notesOn({ featureGates, descheduling }: Settings): readonly string[] {
  if (descheduling.intervalSeconds <= 0 || featureGates.includes("EvictionsInBackground")) return [];
  return ["descheduling.intervalSeconds has no effect without the feature gate EvictionsInBackground"];
}
