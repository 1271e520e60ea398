/** The feature that moves VMs off nodes under pressure. */
import type { Feature } from "../settings/feature.ts";
import { planPressure } from "./pressure.ts";

export const pressure = {
  name: "pressure",
  about: "moves VMs off nodes under memory, disk or PID pressure",
  gates: ["NodePressureEvictionLiveMigration"],
  manifests: [],
  withoutRelay: "Lifeboat checks node pressure only every ten minutes, which is too late",
  events: ["NodeUnderPressure"],
  plan: planPressure,
} as const satisfies Feature;
