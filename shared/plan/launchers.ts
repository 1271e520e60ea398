/**
 * Which launcher image a pod had that may be gone: `kubectl drain` and Kubernetes' garbage collector delete the ended pods that migrations leave
 * behind.
 */
import type { PlanPod } from "./facts.ts";

/** A time in which KubeVirt created pods with one image. Milliseconds since the epoch. */
export interface Run {
  readonly image: string;
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the runs, the oldest first. KubeVirt creates every pod with the image that it uses at the time. Between two pods with one image, and no other
 * pod between them, it used that image.
 */
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

/** Returns undefined if the time is between two runs. */
export function imageAt(runs: readonly Run[], time: number | undefined): string | undefined {
  return time === undefined ? undefined : runs.find(({ from, to }) => from <= time && time <= to)?.image;
}
