/**
 * The settings in force: KubeVirt's CR and the LifeboatConfiguration, merged.
 * Owns: the merge, and saying what in it has no effect. Does not own: reading either (load-settings.ts).
 */
import type { KubeVirtFacts } from "../cluster/projections.ts";
import { DEFAULT_SETTINGS, FEATURE_GATES, type Settings } from "../policy/settings.ts";
import type { LifeboatConfiguration } from "./lifeboat-configuration.ts";

const NO_KUBEVIRT: KubeVirtFacts = { namespace: DEFAULT_SETTINGS.kubevirtNamespace, featureGates: [] };

export function mergeSettings(kubevirt: KubeVirtFacts = NO_KUBEVIRT, own: LifeboatConfiguration): Settings {
  const { evacuation, budget, annotations, disruption, pressure } = own.reconcilers;
  const { namespace, featureGates, evictionStrategy, drainTaintKey, ...limits } = kubevirt;
  return {
    ...(evictionStrategy === undefined ? {} : { clusterStrategy: evictionStrategy }),
    kubevirtNamespace: namespace,
    marking: own.marking,
    // The union of both lists: who switches a gate on anywhere wants it.
    featureGates: FEATURE_GATES.filter((gate) => own.featureGates[gate] === true || featureGates.includes(gate)),
    drainTaintKey: drainTaintKey ?? DEFAULT_SETTINGS.drainTaintKey,
    limits: { ...DEFAULT_SETTINGS.limits, ...limits },
    reconcilers: { evacuation, budget, annotations, disruption, pressure },
    evacuation: own.evacuation,
    guard: own.guard,
    descheduling: own.descheduling,
  };
}

/** Keys that are set and do nothing as the others are. */
export function withoutEffect({ featureGates, descheduling }: Settings): readonly string[] {
  const isIdle = descheduling.intervalSeconds > 0 && !featureGates.includes("EvictionsInBackground");
  return isIdle ? ["descheduling.intervalSeconds has no effect without the feature gate EvictionsInBackground"] : [];
}
