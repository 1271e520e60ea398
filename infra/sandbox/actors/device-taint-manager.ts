/**
 * kube-controller-manager's device taint manager. It deletes a pod whose resource claim does not tolerate the NoExecute
 * taint of a device. The sandbox has no resource claims, so a test chooses the pod. Upstream: kubernetes 1.36
 * `pkg/controller/devicetainteviction/device_taint_eviction.go` (`maybeDeletePod`, `addConditionAndDeletePod`).
 */
import type { Actor, ActorOptions } from "./actor.ts";
import { pause } from "./clock.ts";
import { type Disruption, markDisruptionTarget } from "./disruption-target.ts";
import { pods, type Pod } from "./resources.ts";
import { isNotFound, StatusError } from "./status-error.ts";

export interface DeviceTaint extends ActorOptions {
  /** A client with the controller's identity: `client.as(USERS.deviceTaintManager.user, …)`. */
  readonly client: ActorOptions["client"];
  readonly pod: Pod;
}

const DISRUPTION: Disruption = {
  reason: "DeletionByDeviceTaintManager",
  message: "Device Taint manager: deleting due to NoExecute taint",
};
/** The back-off of client-go's default work queue. */
const FIRST_BACKOFF_MS = 5;
const LONGEST_BACKOFF_MS = 1_000_000;

/** Taints a pod's device. Stopping the returned actor removes the taint. */
export function taintDeviceOf({ clock, onError, pod: { metadata }, ...options }: DeviceTaint): Actor {
  const stopped = new AbortController();
  const { signal } = stopped;
  const client = options.client.withRetryAfter({ clock, signal });

  const remove = async (): Promise<void> => {
    const pod = await client.get(pods, metadata);
    if (pod?.metadata.uid !== metadata.uid || pod.metadata.deletionTimestamp !== undefined) return;
    await markDisruptionTarget(client, clock, pod, DISRUPTION);
    await client.delete(pods, metadata, { preconditions: { uid: metadata.uid } });
  };

  const running = (async () => {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        return await remove();
      } catch (error) {
        if (isNotFound(error)) return;
        if (!(error instanceof StatusError) && !signal.aborted) onError?.(error, metadata.name);
      }
      await pause(clock, Math.min(FIRST_BACKOFF_MS * 2 ** failures, LONGEST_BACKOFF_MS), signal);
    }
  })();
  return {
    async stop() {
      stopped.abort();
      await running;
    },
  };
}
