/** The feature that lets VMs migrate after SIGTERM. */
import { PLUGINS_GATE, SHIELD_PLUGIN } from "../kube/names.ts";
import { applying, type Feature, grant } from "../settings/feature.ts";
import { isShieldWanted } from "../settings/settings.ts";
import { VERSIONS, versionText } from "../settings/versions.ts";
import { planShield } from "./shield.ts";

const needs = VERSIONS.plugins;

export const shield = {
  name: "shield",
  about: `experimental: guests under node pressure keep running after SIGTERM, while they migrate (${versionText(needs.of, needs.since)}, gate Plugins)`,
  gates: ["NodePressureEvictionLiveMigration"],
  isOn: isShieldWanted,
  manifests: ["shield"],
  permissions: [
    grant(
      "list",
      "events",
      "Lifeboat ends a VM's shield and deletes the VM's unfinished migration, even if the shield refused no shutdown",
    ),
    grant("get", "plugin.kubevirt.io/plugins", "the shield covers no VM", { name: SHIELD_PLUGIN }),
  ],
  needs,
  kubevirtGate: PLUGINS_GATE,
  plan: planShield,
  notes: (settings) => {
    const isSet = settings.shield.maxPodGracePeriodSeconds > 0;
    const isWanted = isShieldWanted(settings);
    return applying([
      ["the shield is on: VMs of a node under pressure can migrate even after SIGTERM", settings.isShieldOn],
      [
        "shield.maxPodGracePeriodSeconds has no effect without the feature gate NodePressureEvictionLiveMigration",
        isSet && !isWanted,
      ],
      [
        "shield.maxPodGracePeriodSeconds has no effect without `--with shield` and KubeVirt's feature gate Plugins",
        isWanted && !settings.isShieldOn,
      ],
    ]);
  },
} as const satisfies Feature;
