/**
 * With what the world is observed.
 * Owns: that. Does not own: observing (world.ts, pressure-world.ts).
 */
import type { Cluster } from "../cluster/cluster.ts";
import type { Settings } from "../policy/settings.ts";

export interface Observer {
  readonly cluster: Cluster;
  readonly settings: Settings;
  readonly now: Date;
}
