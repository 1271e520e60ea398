/** KubeVirt's limits of migrations. */
import type { Settings } from "./settings.ts";
import { SETTINGS_MESSAGES as MESSAGES } from "./messages.ts";

/**
 * Returns which limit switches migrations off. KubeVirt compares running migrations with its limits first: with a limit
 * of 0 no migration starts.
 */
export function offBecause({ limits }: Pick<Settings, "limits">): string | undefined {
  const fields = ["parallelMigrationsPerCluster", "parallelOutboundMigrationsPerNode"] as const;
  const off = fields.find((field) => limits[field] <= 0);
  return off && MESSAGES.migrationsOff(off, limits[off]);
}
