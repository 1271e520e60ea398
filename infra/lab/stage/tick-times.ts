/** Calculates the times at which Lifeboat's scheduled work runs for a cluster. Tests and tools use these times. */
import { isFullScan } from "../../../functions/schedule.ts";

const MINUTE_MS = 60_000;

/**
 * Returns the time of the cluster's first tick of this kind at or after `since`. A `full` tick includes a full scan,
 * and a `small` tick does not.
 */
export function tickTime(cluster: string, kind: "full" | "small", since = new Date(0)): Date {
  for (let time = since.getTime(); ; time += MINUTE_MS) {
    if (isFullScan(cluster, time) === (kind === "full")) return new Date(time);
  }
}
