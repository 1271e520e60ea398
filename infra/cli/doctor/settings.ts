/** The settings in force, from what could be read: shared/config decides, as in the Worker. */
import { defaultConfiguration, parseConfiguration } from "../../../shared/config/lifeboat-configuration.ts";
import { mergeSettings } from "../../../shared/config/settings.ts";
import { PLUGINS_GATE } from "../../../shared/policy/names.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import { isShieldWanted } from "../../../shared/policy/shield/shield.ts";
import { valueOf } from "./check.ts";
import type { Facts } from "./facts.ts";

type Configured = Pick<Facts, "kubevirt" | "configuration" | "hasPlugin">;

export function settingsOf({ kubevirt, configuration, hasPlugin }: Configured): Settings {
  const facts = valueOf(kubevirt)?.facts;
  const parsed = parseConfiguration(valueOf(configuration)?.spec ?? {});
  const merged = mergeSettings(facts, parsed.ok ? parsed.value : defaultConfiguration());
  const isAsked = facts?.featureGates.includes(PLUGINS_GATE) === true && valueOf(hasPlugin) === true;
  return { ...merged, pluginServed: isAsked && isShieldWanted(merged) };
}
