/**
 * Finds out which launcher image a deleted pod had. `kubectl drain` and Kubernetes' garbage collector delete the ended
 * pods that migrations leave behind.
 */
import type { PlanPod } from "./facts.ts";

/** A period in which KubeVirt created pods with one image. Times are milliseconds since the epoch. */
export interface Run {
  readonly image: string;
  readonly from: number;
  readonly to: number;
}

/** Returns the periods, the oldest first. Two successive pods with the same image belong to one period. */
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

/** Returns the image at that time. Returns undefined if the time is between two periods. */
export function imageAt(runs: readonly Run[], time: number | undefined): string | undefined {
  return time === undefined ? undefined : runs.find(({ from, to }) => from <= time && time <= to)?.image;
}
