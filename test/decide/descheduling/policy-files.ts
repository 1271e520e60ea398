/** Policy files, made from their parts. */
import { dump } from "js-yaml";
import { parseDeschedulerPolicy } from "../../../shared/descheduling/policy-file.ts";

const HEAD = { apiVersion: "descheduler/v1alpha2", kind: "DeschedulerPolicy" };

/** A file with these keys besides. */
export function parse(tweak: Readonly<Record<string, unknown>>) {
  return parseDeschedulerPolicy(dump({ ...HEAD, ...tweak }));
}

/** Every plugin, with the fewest arguments that it takes. */
export const LEAST = {
  LowNodeUtilization: { thresholds: { cpu: 20 }, targetThresholds: { cpu: 50 } },
  RemovePodsViolatingNodeTaints: {},
  RemovePodsViolatingNodeAffinity: { nodeAffinityType: ["requiredDuringSchedulingIgnoredDuringExecution"] },
  PodLifeTime: { maxPodLifeTimeSeconds: 60 },
  DefaultEvictor: {},
};

export type PluginName = keyof typeof LEAST;

export function configured(...names: readonly PluginName[]) {
  return names.map((name) => ({ name, args: LEAST[name] }));
}

const ALL = Object.entries(LEAST).map(([name, args]) => ({ name, args }));

/** One profile with these plugins, all of which are configured. */
export function withPlugins(plugins: unknown, pluginConfig: unknown = ALL) {
  return { profiles: [{ name: "p", pluginConfig, plugins }] };
}
