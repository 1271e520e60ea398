/**
 * Policy files, made from their parts.
 * Owns: a head, plugins with the least of arguments. Does not own: what is expected of any of them.
 */
import { dump } from "js-yaml";
import { parseDeschedulerPolicy } from "../../../shared/descheduling/policy-file/parse-descheduler-policy.ts";

export const HEAD = { apiVersion: "descheduler/v1alpha2", kind: "DeschedulerPolicy" };

/** A file with these keys besides. */
export function parse(tweak: Readonly<Record<string, unknown>>) {
  return parseDeschedulerPolicy(dump({ ...HEAD, ...tweak }));
}

/** Every plugin that there is, with the least of arguments. */
const CONFIG = {
  LowNodeUtilization: { thresholds: { cpu: 20 }, targetThresholds: { cpu: 50 } },
  RemovePodsViolatingNodeTaints: {},
  RemovePodsViolatingNodeAffinity: { nodeAffinityType: ["requiredDuringSchedulingIgnoredDuringExecution"] },
  PodLifeTime: { maxPodLifeTimeSeconds: 60 },
  DefaultEvictor: {},
};

export function configured(...names: readonly (keyof typeof CONFIG)[]) {
  return names.map((name) => ({ name, args: CONFIG[name] }));
}

const ALL = Object.entries(CONFIG).map(([name, args]) => ({ name, args }));

/** One profile with these plugins, all of which are configured. */
export function withPlugins(plugins: unknown, pluginConfig: unknown = ALL) {
  return { profiles: [{ name: "p", pluginConfig, plugins }] };
}
