/** Selects the Events in which a kubelet reports that it ends a pod. */
import * as z from "zod/mini";
import { Text } from "../../shared/kube/schemas/fields.ts";
import { watchedKind, type Notice, type WatchedPod, type KeptObject, type WatchedKind } from "./kinds.ts";

export interface KubeletEventFacts {
  readonly pod: string;
  readonly podUid: string;
  readonly reason: string;
  /** How many times the kubelet has reported the Event. The last time is in `at`. */
  readonly count: number;
  readonly at: string | undefined;
}

/**
 * The names of virt-launcher and hotplug pods. Events about other pods are ignored. The length is limited, because a
 * tenant's Event can contain a name of 16 KB.
 */
const POD_NAMES = /^(virt-launcher|hp-volume)-[a-z0-9.-]{1,239}$/;
const LONGEST_UID = 128;

/**
 * The start of `fieldPath` in an Event about a sidecar. A kubelet also stops sidecars after a migration, so these
 * Events do not report the end of a guest. A kubelet that ends a guest also writes an Event about the container
 * `compute`.
 */
const SIDECAR = "spec.initContainers{";

type PodOf = (namespace: string, name: string) => Pick<KeptObject<WatchedPod>, "metadata" | "facts"> | undefined;

/**
 * Returns one watch of Events for each reason with which a kubelet ends a pod. A field selector cannot combine several
 * reasons. The relay needs these Events, because a kubelet ends a pod without a request to the API server, and sets the
 * pod's condition only afterwards.
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
 * The age after which an Event is ignored. Events exist for an hour, but a virt-launcher pod ends within
 * `evictionMaxPodGracePeriod` (300 s).
 */
const STALE_MS = 10 * 60 * 1000;

/**
 * Returns the notice that a kubelet ends a pod. Returns undefined for a pod that is being deleted: either the watch of
 * pods has already reported the pod, or the pod's owner wants the deletion.
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
