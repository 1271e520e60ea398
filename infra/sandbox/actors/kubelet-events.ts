/**
 * Writes a kubelet's Events about its node and its pods. Limits the number of Events about each object, as client-go's
 * `EventSourceObjectSpamFilter` does. Events above the limit are dropped.
 */
import type { KubeClient } from "./client.ts";
import type { Clock } from "./clock.ts";
import { createEventRecorder, type EventRecorder } from "./event-recorder.ts";
import { pods, type Pod } from "./resources.ts";

/**
 * The maximum number of Events about an object in a burst. After the burst, one Event is allowed every five minutes.
 */
const BURST = 25;
const REFILL_MS = 5 * 60 * 1000;
/**
 * The maximum number of objects whose Events are counted. If there are more objects, the count of the least recently
 * used object is dropped, as in client-go. All kubelets of a sandbox share this maximum.
 */
const MOST_OBJECTS = 4096;

interface Allowance {
  readonly left: number;
  readonly at: number;
}

/**
 * The number of Events that each kubelet may still write about each object. The outer key is the clock, which is the
 * same for all kubelets of a sandbox. The inner key is `NODE/UID`.
 */
const allowances = new WeakMap<Clock, Map<string, Allowance>>();

function passes(clock: Clock, key: string): boolean {
  const known = allowances.get(clock) ?? new Map<string, Allowance>();
  allowances.set(clock, known);
  const at = clock.now().getTime();
  const before = known.get(key) ?? { left: BURST, at };
  const left = Math.min(before.left + (at - before.at) / REFILL_MS, BURST);
  known.delete(key);
  known.set(key, { left: left < 1 ? left : left - 1, at });
  for (const oldest of known.keys()) if (known.size > MOST_OBJECTS) known.delete(oldest);
  return left >= 1;
}

export function createKubeletRecorder(kubelet: KubeClient, clock: Clock, node: string): EventRecorder {
  const recorder = createEventRecorder(kubelet, clock, "kubelet", node);
  return {
    async record(about, ...event) {
      if (passes(clock, `${node}/${about.metadata.uid}`)) await recorder.record(about, ...event);
    },
  };
}

export async function tellKilling(recorder: EventRecorder, pod: Pod): Promise<void> {
  await tellContainers(recorder, pod);
  await tellSidecars(recorder, pod);
}

export async function tellContainers(recorder: EventRecorder, pod: Pod): Promise<void> {
  for (const { name } of pod.spec?.containers ?? []) await tellOf(recorder, pod, "containers", name);
}

export async function tellSidecars(recorder: EventRecorder, pod: Pod): Promise<void> {
  for (const { name } of sidecarsOf(pod)) await tellOf(recorder, pod, "initContainers", name);
}

/**
 * Records Events about the pod's first image volume until the burst is used up. Later Events about the pod are then
 * dropped. A real kubelet also records many Events while such a pod starts.
 */
export async function tellImages(recorder: EventRecorder, pod: Pod): Promise<void> {
  const [reference] = imagesOf(pod);
  if (reference === undefined) return;
  const message = `Container image "${reference}" already present on machine and can be accessed by the pod`;
  for (let i = 0; i < BURST; i++) await recorder.record(pod, pods, { type: "Normal", reason: "Pulled", message });
}

function imagesOf({ spec }: Pod): readonly string[] {
  return (spec?.volumes ?? []).flatMap(({ image }) => image?.reference ?? []);
}

function sidecarsOf({ spec }: Pod) {
  return (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
}

async function tellOf(recorder: EventRecorder, pod: Pod, list: "containers" | "initContainers", name: string) {
  const [message, fieldPath] = [`Stopping container ${name}`, `spec.${list}{${name}}`];
  await recorder.record(pod, pods, { type: "Normal", reason: "Killing", message, fieldPath });
}
