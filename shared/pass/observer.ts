/**
 * With what the world is observed.
 * Owns: that. Does not own: observing (world.ts, pressure-world.ts).
 */
import type { Cluster } from "../cluster/cluster.ts";
import type { ClusterError } from "../cluster/failure.ts";
import type { Settings } from "../policy/settings.ts";

export interface Observer {
  readonly cluster: Cluster;
  readonly settings: Settings;
  readonly now: Date;
  /** Told of what could not be observed, and can wait. */
  readonly onFailure?: (what: string, failure: ClusterError) => void;
}
