/** Pods that are deleted and do not go: a drain waits for each of them without end. */
import { durationText } from "../duration-text.ts";
import type { PreflightFacts, PreflightPod } from "./facts.ts";

/** A kubelet kills at the end of the grace period, and then takes the pod's volumes and cgroups away. */
const AFTERWARDS_SECONDS = 60;

export interface Terminating {
  /** Absent: it may go yet, or not. */
  readonly cause?: "Finalizers" | "DeadKubelet";
  readonly message: string;
}

/** Undefined: it is not deleted, or still has time to go. */
export function hangingIn(
  { goneBy, finalizers }: PreflightPod,
  { node, now }: Pick<PreflightFacts, "node" | "now">,
): Terminating | undefined {
  const seconds = goneBy === undefined ? 0 : (now.getTime() - goneBy) / 1000;
  if (seconds < AFTERWARDS_SECONDS) return undefined;
  const since = `Terminating, and its grace period ended ${durationText(seconds)} ago`;
  if (finalizers.length > 0) return { cause: "Finalizers", message: `${since}: finalizers ${finalizers.join(", ")}` };
  if (!node.ready) return { cause: "DeadKubelet", message: `${since}: the kubelet of ${node.name} is not ready` };
  return { message: since };
}
