/** The settings in force: KubeVirt's CR and the LifeboatConfiguration, merged. */
import type { KubeVirtFacts } from "../kube/schemas/kubevirt.ts";
import { DEFAULT_SETTINGS, FEATURE_GATES, isShieldOn, type Settings } from "./settings.ts";
import type { LifeboatConfiguration } from "./lifeboat-configuration.ts";

const NO_KUBEVIRT: KubeVirtFacts = { namespace: "", featureGates: [] };

export function mergeSettings(kubevirt: KubeVirtFacts = NO_KUBEVIRT, own: LifeboatConfiguration): Settings {
  const { namespace: _, featureGates, evictionStrategy, drainTaintKey, ...limits } = kubevirt;
  const { featureGates: gates, ...set } = own;
  return {
    ...set,
    ...(evictionStrategy === undefined ? {} : { clusterStrategy: evictionStrategy }),
    // The union of both lists: who switches a gate on anywhere wants it.
    featureGates: FEATURE_GATES.filter((gate) => gates[gate] === true || featureGates.includes(gate)),
    drainTaintKey: drainTaintKey ?? DEFAULT_SETTINGS.drainTaintKey,
    evictionsCovered: false,
    pluginServed: false,
    limits: { ...DEFAULT_SETTINGS.limits, ...limits },
  };
}

/** What is set and does nothing, or less than is wanted of it, as other keys are. */
export function notesOn(settings: Settings): readonly string[] {
  const { featureGates, descheduling, shield, pluginServed } = settings;
  const isShielding = shield.maxPodGracePeriodSeconds > 0;
  const isRelieving = featureGates.includes("NodePressureEvictionLiveMigration");
  const isOn = featureGates.includes("EvictionsInBackground");
  const notes: readonly (readonly [note: string, applies: boolean])[] = [
    [
      "descheduling.intervalSeconds has no effect without the feature gate EvictionsInBackground",
      descheduling.intervalSeconds > 0 && !isOn,
    ],
    ["the shield is in force: VMs of a node under pressure may move after SIGTERM", isShieldOn(settings)],
    [
      "shield.maxPodGracePeriodSeconds has no effect without the feature gate NodePressureEvictionLiveMigration",
      isShielding && !isRelieving,
    ],
    [
      "shield.maxPodGracePeriodSeconds has no effect without optional/shield and KubeVirt's feature gate Plugins",
      isShielding && isRelieving && !pluginServed,
    ],
  ];
  return notes.flatMap(([note, applies]) => (applies ? [note] : []));
}
