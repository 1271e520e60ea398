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

/** What is set and does nothing, or less than is wanted of it, as other keys are. */
export function notesOn({ featureGates, descheduling }: Settings): readonly string[] {
  const isOn = featureGates.includes("EvictionsInBackground");
  const notes: readonly (readonly [note: string, applies: boolean])[] = [
    [
      "descheduling.intervalSeconds has no effect without the feature gate EvictionsInBackground",
      descheduling.intervalSeconds > 0 && !isOn,
    ],
    [
      "featureGates.EvictionsInBackground wants DeschedulerSupport beside it: annotations of pods keep a request from expiring",
      isOn && !featureGates.includes("DeschedulerSupport"),
    ],
  ];
  return notes.flatMap(([note, applies]) => (applies ? [note] : []));
}
