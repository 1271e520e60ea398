/** The shield: its setting, its Plugin and KubeVirt's feature gate go together. */
import { notesOn } from "../../../shared/config/settings.ts";
import { PLUGINS_GATE } from "../../../shared/policy/names.ts";
import { isShieldOn, isShieldWanted } from "../../../shared/policy/shield/shield.ts";
import { enablingPlugins } from "../plugins-gate.ts";
import { failed, type Finding, judged, ok, valueOf, warning } from "./check.ts";
import type { Facts } from "./facts.ts";
import { settingsOf } from "./settings.ts";

const PLUGIN = "infra/kubernetes/optional/shield/shield.yaml";

export function judgeShield(facts: Facts): readonly Finding[] {
  const settings = settingsOf(facts);
  const seconds = settings.shield.maxPodGracePeriodSeconds;
  return judged("Plugin lifeboat-shield", facts.hasPlugin, (hasPlugin) => {
    if (isShieldOn(settings)) return ok(`the shield is on: VMs have ${seconds} s to move after SIGTERM`);
    if (isShieldWanted(settings)) return [...missing(hasPlugin, facts)];
    const notes = notesOn(settings).filter((note) => note.includes("shield"));
    const edit = "kubectl edit lifeboatconfiguration lifeboat";
    if (notes.length > 0) return notes.map((note) => warning("the shield covers no VM", note, edit));
    if (!hasPlugin) return ok("the shield is off");
    const reason = "shield.maxPodGracePeriodSeconds is 0, so the Plugin covers no VM";
    return warning(
      "Plugin lifeboat-shield is installed and the shield is off",
      reason,
      "kubectl delete plugin lifeboat-shield",
    );
  });
}

function missing(hasPlugin: boolean, { kubevirt }: Facts): readonly Finding[] {
  const message = "the shield is set and covers no VM";
  const found = valueOf(kubevirt);
  const enabling = found && enablingPlugins({ ...found.facts, name: found.name });
  return [
    ...(hasPlugin ? [] : [failed(message, "Plugin lifeboat-shield is missing", `kubectl apply -f ${PLUGIN}`)]),
    ...(enabling === undefined
      ? []
      : [failed(message, `KubeVirt's feature gate ${PLUGINS_GATE} is off: virt-handler asks no plugin`, enabling)]),
  ];
}
