/**
 * kube-controller-manager's taint manager. It deletes pods that do not tolerate a NoExecute taint of their node. If a
 * pod's toleration has `tolerationSeconds`, the pod is deleted after this time. Upstream: kubernetes 1.36
 * `pkg/controller/tainteviction/taint_eviction.go` (`deletePodHandler`, `addConditionAndDeletePod`),
 * `timed_workers.go`.
 */
import type { Actor } from "./actor.ts";
import { pause } from "./clock.ts";
import { markDisruptionTarget, type Disruption } from "./disruption-target.ts";
import { createEventRecorder } from "./event-recorder.ts";
import type { NodeControllerOptions } from "./node-caches.ts";
import { keyOf, pods, type Node, type Pod } from "./resources.ts";
import { StatusError } from "./status-error.ts";
import { noExecuteTaints, toleratedFor } from "./tolerations.ts";

/** After this many attempts, the taint manager gives up until the pod's tolerations or the node's taints change. */
const ATTEMPTS = 5;
const BETWEEN_ATTEMPTS_MS = 10;
const DISRUPTION: Disruption = {
  reason: "DeletionByTaintManager",
  message: "Taint manager: deleting due to NoExecute taint",
};

export function startTaintManager(options: NodeControllerOptions): Actor {
  const { clock, caches } = options;
  const recorder = createEventRecorder(options.client, clock, "taint-eviction-controller");
  /**
   * Maps a pod's key to its deletion. For a planned deletion, the value is a function that cancels the timer. For a
   * running deletion, the value is undefined.
   */
  const work = new Map<string, (() => void) | undefined>();
  const stopped = new AbortController();
  const client = options.client.withRetryAfter({ clock, signal: stopped.signal });

  const consider = (pod: Pod, node: Node): void => {
    const ms = toleratedFor(pod, noExecuteTaints(node)) * 1000;
    const isLater = ms > 0 && ms < Infinity;
    // A change of tolerationSeconds does not change the time of a planned deletion. A running deletion is not planned
    // again.
    if (isLater && work.has(keyOf(pod))) return;
    forget(pod);
    if (isLater) work.set(keyOf(pod), plan(pod, ms));
    else if (ms === 0) work.set(keyOf(pod), void act(pod));
  };

  const plan = (pod: Pod, ms: number): (() => void) => {
    const cancel = clock.setTimer(ms, () => void act(pod));
    stopped.signal.addEventListener("abort", cancel);
    return cancel;
  };

  const forget = (pod: Pod): void => {
    const cancel = work.get(keyOf(pod));
    work.delete(keyOf(pod));
    cancel?.();
    if (cancel !== undefined) void tell(pod, `Cancelling deletion of Pod ${keyOf(pod)}`);
  };

  const act = async (pod: Pod): Promise<void> => {
    await tell(pod, `Marking for deletion Pod ${keyOf(pod)}`);
    for (let attempt = 1; attempt <= ATTEMPTS && !(await isRemoved(pod)); attempt++)
      await pause(clock, BETWEEN_ATTEMPTS_MS, stopped.signal);
    work.delete(keyOf(pod));
  };

  /** Deletes the pod. Does not check whether the node still has the taint. Returns false if the deletion failed. */
  const isRemoved = async (pod: Pod): Promise<boolean> => {
    if (stopped.signal.aborted) return true;
    try {
      const current = await client.get(pods, pod.metadata);
      if (current !== undefined) await markDisruptionTarget(client, clock, current, DISRUPTION);
      await client.delete(pods, pod.metadata);
      return true;
    } catch (error) {
      if (!(error instanceof StatusError) && !stopped.signal.aborted) options.onError?.(error, keyOf(pod));
      return false;
    }
  };

  const tell = (pod: Pod, message: string): Promise<void> =>
    recorder.record(pod, pods, { type: "Normal", reason: "TaintManagerEviction", message });

  caches.pods.onChange((pod, previous) => {
    if (pod === undefined) return previous && forget(previous);
    const node = caches.nodes.get(pod.spec?.nodeName ?? "");
    if (node !== undefined && (previous === undefined || placeOf(previous) !== placeOf(pod))) consider(pod, node);
  });
  caches.nodes.onChange((node, previous) => {
    // If a node is deleted, the planned deletions of its pods are not cancelled.
    if (node === undefined) return;
    if (JSON.stringify(noExecuteTaints(node)) === JSON.stringify(noExecuteTaints(previous))) return;
    for (const pod of caches.podsOn(node.metadata.name)) consider(pod, node);
  });
  return {
    async stop() {
      stopped.abort();
    },
  };
}

/** Returns the pod's node and tolerations as text. If this text changes, the taint manager handles the pod again. */
function placeOf({ spec }: Pod): string {
  return JSON.stringify([spec?.nodeName, spec?.tolerations]);
}
