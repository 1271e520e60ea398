/**
 * Lists the optional features. A new feature needs a `feature.ts` in its own folder, manifests, and a line in this
 * list. A setting in settings.ts turns the feature on.
 */
import { deschedulerSupport } from "./annotations/feature.ts";
import { descheduling } from "./descheduling/feature.ts";
import { guard } from "./guard/feature.ts";
import { maintenance } from "./maintenance/feature.ts";
import { pressure } from "./pressure/feature.ts";
import { type Feature, isFeatureOn } from "./settings/feature.ts";
import type { Settings } from "./settings/settings.ts";
import { shield } from "./shield/feature.ts";

/** The features, in the order in which a reconcile runs their rules. */
export const FEATURES = [
  guard,
  shield,
  pressure,
  deschedulerSupport,
  maintenance,
  descheduling,
  manifestsOnly("migration-policy", "makes urgent migrations converge"),
  manifestsOnly("restriction", "limits what Lifeboat's account can change"),
] as const satisfies readonly Feature[];

function manifestsOnly(name: string, about: string) {
  return { name, about, gates: [], manifests: [name] } as const;
}

const all: readonly Feature[] = FEATURES;

/** Describes settings that have no effect or less effect than expected. */
export function notesOn(settings: Settings): readonly string[] {
  return all.flatMap(({ notes }) => notes?.(settings) ?? []);
}

export function featuresOn(settings: Settings): readonly Feature[] {
  return all.filter((feature) => isFeatureOn(feature, settings));
}
