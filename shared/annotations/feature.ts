/** Defines the feature that annotates launcher pods for a descheduler. */
import { type Feature, grant } from "../settings/feature.ts";
import { planAnnotations } from "./descheduler-annotations.ts";

export const deschedulerSupport = {
  name: "descheduler-support",
  about: "annotates launcher pods for another descheduler",
  gates: ["DeschedulerSupport"],
  manifests: ["descheduler-support"],
  permissions: [grant("patch", "pods", "pods lack the annotations for evictions in the background")],
  plan: planAnnotations,
} as const satisfies Feature;
