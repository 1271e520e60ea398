/** KubeVirt's limits of migrations. */
import type { Settings } from "./settings.ts";

/**
 * Returns which limit switches migrations off. KubeVirt compares running migrations with its limits first: with a limit
 * of 0 no migration starts.
 */
export function offBecause({ limits }: Pick<Settings, "limits">): string | undefined {
  const fields = ["parallelMigrationsPerCluster", "parallelOutboundMigrationsPerNode"] as const;
  const off = fields.find((field) => limits[field] <= 0);
  return (
    off && `KubeVirt starts no migration: spec.configuration.migrations.${off} of the KubeVirt CR is ${limits[off]}`
  );
}
