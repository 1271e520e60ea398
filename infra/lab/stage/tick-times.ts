/** Calculates times of a cluster's ticks, for tests and tools that fire these ticks. */
import { isFullScan } from "../../../functions/schedule.ts";

const MINUTE_MS = 60_000;

/**
 * Returns the first full minute after `since` whose tick is a full scan of the cluster (`full`) or is not (`small`).
 */
export function tickTime(cluster: string, kind: "full" | "small", since = new Date(0)): Date {
  for (let time = since.getTime(); ; time += MINUTE_MS) {
    if (isFullScan(cluster, time) === (kind === "full")) return new Date(time);
  }
}
