/**
 * Derives the launcher image of a deleted pod from launcher pods that were created before and after it. The ended pods
 * of migrations are often missing, because `kubectl drain` and Kubernetes' garbage collector delete them.
 */
import type { PlanPod } from "./facts.ts";

/** A period in which all new launcher pods had the same image. Times are in milliseconds since the epoch. */
export interface Run {
  readonly image: string;
  readonly from: number;
  readonly to: number;
}

/** Returns the periods, oldest first. Successive pods with the same image belong to the same period. */
export function runsOf(launchers: readonly PlanPod[]): readonly Run[] {
  const runs: Run[] = [];
  for (const { image, createdAt } of launchers.toSorted((a, b) => a.createdAt - b.createdAt)) {
    if (image === undefined) continue;
    const last = runs.at(-1);
    if (last?.image === image) runs[runs.length - 1] = { ...last, to: createdAt };
    else runs.push({ image, from: createdAt, to: createdAt });
  }
  return runs;
}

/** Returns the launcher image at a point in time. Returns undefined if the time lies between two periods. */
export function imageAt(runs: readonly Run[], time: number | undefined): string | undefined {
  return time === undefined ? undefined : runs.find(({ from, to }) => from <= time && time <= to)?.image;
}
