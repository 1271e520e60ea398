/** KubeVirt's feature gate Plugins, which the shield needs: KubeVirt refuses to create a Plugin without it, and asks none. */
import { PLUGINS_GATE } from "../../shared/policy/names.ts";

export interface KubeVirtObject {
  readonly namespace: string;
  readonly name: string;
  readonly featureGates: readonly string[];
}

/** Undefined: it is on. */
export function enablingPlugins({ namespace, name, featureGates }: KubeVirtObject): string | undefined {
  if (featureGates.includes(PLUGINS_GATE)) return undefined;
  const developerConfiguration = { featureGates: [...featureGates, PLUGINS_GATE] };
  const body = JSON.stringify({ spec: { configuration: { developerConfiguration } } });
  return `kubectl -n ${namespace} patch kubevirt ${name} --type merge -p '${body}'`;
}
