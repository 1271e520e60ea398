/** The Events a kubelet writes about the pods of its node. */
import type { KubeClient } from "./client.ts";
import type { Clock } from "./clock.ts";
import { createEventRecorder, type EventRecorder } from "./event-recorder.ts";
import { pods, type Pod } from "./resources.ts";

/** `kubelet` acts as the node. */
export function createKubeletRecorder(kubelet: KubeClient, clock: Clock, node: string): EventRecorder {
  return createEventRecorder(kubelet, clock, "kubelet", node);
}

export async function tellKilling(recorder: EventRecorder, pod: Pod): Promise<void> {
  for (const { name } of pod.spec?.containers ?? [])
    await recorder.record(pod, pods, { type: "Normal", reason: "Killing", message: `Stopping container ${name}` });
}
