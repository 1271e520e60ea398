/** Returns policies of the descheduler, as an administrator writes them. */
export type PolicyFile = Readonly<Record<string, unknown>>;

const EVICTOR = { name: "DefaultEvictor", args: { podProtections: { defaultDisabled: ["PodsWithLocalStorage"] } } };

const BALANCING = ["LowNodeUtilization", "RemovePodsViolatingTopologySpreadConstraint"];

export function policyOf(plugin: string, args: PolicyFile, keys: PolicyFile = {}): PolicyFile {
  const point = BALANCING.includes(plugin) ? "balance" : "deschedule";
  const profile = {
    name: "vms",
    pluginConfig: [EVICTOR, { name: plugin, args }],
    plugins: { [point]: { enabled: [plugin] } },
  };
  return { apiVersion: "descheduler/v1alpha2", kind: "DeschedulerPolicy", ...keys, profiles: [profile] };
}
