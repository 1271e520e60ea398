/** Which clusters there are. */
import { parseClusters } from "../shared/config/clusters.ts";
import type { Surroundings } from "./target.ts";

export async function clusterNames({ env, platform, state }: Surroundings): Promise<readonly string[]> {
  const clusters = parseClusters(env.CLUSTERS);
  if (!clusters.ok) {
    for (const problem of clusters.problems)
      platform.log({ level: "error", reason: "InvalidConfiguration", ...problem });
  }
  const ofSecret = clusters.ok ? [...clusters.value.keys()] : [];
  try {
    return [...new Set([...ofSecret, ...(await state.registry.names(env))])];
  } catch (error) {
    // A registry that fails does not hurt the clusters of the secret.
    const stack = error instanceof Error ? error.stack : undefined;
    platform.log({ level: "error", doing: "reading CLUSTER_REGISTRY", error: stack });
    return ofSecret;
  }
}
