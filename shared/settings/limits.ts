/** KubeVirt's limits on parallel migrations. */
import type { Settings } from "./settings.ts";
import { SETTINGS_MESSAGES as MESSAGES } from "./messages.ts";

/** Returns the limit that switches migrations off, or undefined. If a limit is 0, KubeVirt starts no migration. */
export function offBecause({ limits }: Pick<Settings, "limits">): string | undefined {
  const fields = ["parallelMigrationsPerCluster", "parallelOutboundMigrationsPerNode"] as const;
  const off = fields.find((field) => limits[field] <= 0);
  return off && MESSAGES.migrationsOff(off, limits[off]);
}
