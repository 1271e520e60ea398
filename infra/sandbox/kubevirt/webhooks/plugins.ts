/** virt-api's admission of Plugins. */
import type { KubeClient } from "../../actors/client.ts";
import { kubeVirts, type Plugin } from "../resources.ts";
import { ALLOWED, type Admit, refused } from "./review.ts";

export const PLUGINS_GATE = "Plugins";

export function admitPlugin(client: KubeClient): Admit<Plugin> {
  return async ({ operation }) => {
    if (operation !== "CREATE") return ALLOWED;
    const { items } = await client.list(kubeVirts);
    const gates = items.flatMap(({ spec }) => spec.configuration?.developerConfiguration?.featureGates ?? []);
    return gates.includes(PLUGINS_GATE) ? ALLOWED : refused("Plugins feature gate is not enabled");
  };
}
