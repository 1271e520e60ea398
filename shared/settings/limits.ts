/** KubeVirt's limits of migrations. */
import type { Settings } from "./settings.ts";

/** KubeVirt compares what runs with its limits before it starts a migration: a limit of 0 is never met. */
export function offBecause({ limits }: Pick<Settings, "limits">): string | undefined {
  const fields = ["parallelMigrationsPerCluster", "parallelOutboundMigrationsPerNode"] as const;
  const off = fields.find((field) => limits[field] <= 0);
  return (
    off && `KubeVirt starts no migration: spec.configuration.migrations.${off} of the KubeVirt CR is ${limits[off]}`
  );
}
