/**
 * Selects the Events in which a kubelet reports the end of a pod. Decides which Events the relay watches, and which of
 * the watched Events the relay reports.
 */
import * as z from "zod/mini";
import { Text } from "../../shared/kube/schemas/fields.ts";
import { watchedKind, type Notice, type WatchedPod, type KeptObject, type WatchedKind } from "./kinds.ts";

export interface KubeletEventFacts {
  readonly pod: string;
  readonly podUid: string;
  readonly reason: string;
  /** How often the kubelet has reported the Event. `at`: the time of the last report. */
  readonly count: number;
  readonly at: string | undefined;
}

/**
 * The names of pods of VMs. Events do not have their pods' labels, so the name is checked first to keep most other
 * Events out of memory. The length is limited, because a tenant's Event may contain a name of 16 KB.
 */
const POD_NAMES = /^(virt-launcher|hp-volume)-[a-z0-9.-]{1,239}$/;
const LONGEST_UID = 128;

/**
 * The field of a sidecar in an Event. After each migration, the kubelet stops the sidecar guest-console-log of the old
 * pod. A kubelet that ends a guest also writes an Event about the container compute.
 */
const SIDECAR = "spec.initContainers{";

type PodOf = (namespace: string, name: string) => Pick<KeptObject<WatchedPod>, "metadata" | "facts"> | undefined;

/**
 * Returns one watch of Events for each reason with which a kubelet ends a pod, because a field selector cannot combine
 * reasons. A kubelet ends a pod without a request to the API server, and sets the pod's condition only afterwards.
 */
export function kubeletEvents(podOf: PodOf, now: () => Date): readonly WatchedKind<KubeletEventFacts>[] {
  return ["Evicted", "Preempting", "Killing"].map((reason) =>
    watchedKind({
      name: `events-${reason.toLowerCase()}`,
      path: "/api/v1/events",
      fieldSelector: `involvedObject.kind=Pod,reason=${reason}`,
      fields: {
        reason: z.string(),
        involvedObject: z.object({ name: z.string(), uid: z.prefault(z.string(), ""), fieldPath: Text }),
        source: z.nullish(z.object({ component: Text })),
        reportingComponent: Text,
        count: z.nullish(z.number()),
        lastTimestamp: Text,
        eventTime: Text,
      },
      facts: ({ involvedObject, ...event }): KubeletEventFacts | undefined => {
        const { name: pod, uid: podUid, fieldPath = "" } = involvedObject;
        if (fieldPath.startsWith(SIDECAR)) return undefined;
        const component = event.source?.component ?? event.reportingComponent;
        if (component !== "kubelet" || !POD_NAMES.test(pod) || podUid.length > LONGEST_UID) return undefined;
        const { count, lastTimestamp, eventTime } = event;
        return { pod, podUid, reason: event.reason, count: count ?? 1, at: lastTimestamp ?? eventTime };
      },
      notice: ({ object: { namespace = "" }, facts, gone }) =>
        gone ? undefined : killingOf(facts, podOf(namespace, facts.pod), now()),
    }),
  );
}

/**
 * The age after which an Event is ignored. Events stay for an hour, but a launcher ends within
 * `evictionMaxPodGracePeriod` (300 s).
 */
const STALE_MS = 10 * 60 * 1000;

/**
 * Returns the notice that a kubelet ends a pod, or undefined if no notice is needed. A pod in deletion needs no notice:
 * the watch of pods reports the pod, or the owner wants the deletion.
 */
export function killingOf(
  event: KubeletEventFacts,
  pod: Pick<KeptObject<WatchedPod>, "metadata" | "facts"> | undefined,
  now: Date,
): Notice | undefined {
  if (pod === undefined || pod.metadata.uid !== event.podUid) return undefined;
  if (event.at !== undefined && now.getTime() - Date.parse(event.at) > STALE_MS) return undefined;
  if (pod.facts.deleting || pod.facts.completed) return undefined;
  const { namespace = "", name, uid } = pod.metadata;
  return { type: "dev.lifeboat.pod.killing.v1", data: { namespace, name, uid, reason: event.reason } };
}
