/** Calculates times of a cluster's ticks, for tests and tools that fire these ticks. */
import { isFullScan } from "../../../functions/schedule.ts";

const MINUTE_MS = 60_000;

/**
 * Returns the time of the cluster's first full scan (`full`), or of its first other tick (`small`). Starts at `since`,
 * and continues in steps of a minute.
 */
export function tickTime(cluster: string, kind: "full" | "small", since = new Date(0)): Date {
  for (let time = since.getTime(); ; time += MINUTE_MS) {
    if (isFullScan(cluster, time) === (kind === "full")) return new Date(time);
  }
}
