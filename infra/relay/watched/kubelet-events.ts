/** Events of the kubelet about pods that it ends: it does not ask the API server, and sets the pod's condition only afterwards. */
import * as z from "zod/mini";
import { identityOf, Metadata, type Notice, type Seen, Text, type WatchedKind } from "./kind.ts";
import type { PodFacts } from "./pods.ts";

export interface KubeletEventFacts {
  readonly pod: string;
  readonly podUid: string;
  readonly reason: string;
  /** How often the kubelet reported it, and when last. */
  readonly count: number;
  readonly at: string | undefined;
}

/** Events stay for an hour; a launcher ends sooner than this (`evictionMaxPodGracePeriod` is 300 s). */
const STALE_MS = 10 * 60 * 1000;

const REASONS = ["Evicted", "Preempting", "Killing"] as const;

/** Events lack their pods' labels. The name keeps most other Events out of memory; the pod's labels decide. */
const NAMES = /^(virt-launcher|hp-volume)-/;

const Event = z.object({
  metadata: Metadata,
  reason: z.string(),
  involvedObject: z.object({ name: z.string(), uid: z.prefault(z.string(), "") }),
  source: z.nullish(z.object({ component: Text })),
  reportingComponent: Text,
  count: z.nullish(z.number()),
  lastTimestamp: Text,
  eventTime: Text,
});

/** One watch for each reason: field selectors have no "or", and few of the kubelet's Events have these reasons. */
export function kubeletEvents(
  podOf: (namespace: string, name: string) => Seen<PodFacts> | undefined,
  now: () => Date,
): readonly WatchedKind<KubeletEventFacts>[] {
  return REASONS.map((reason): WatchedKind<KubeletEventFacts> => ({
    name: `events-${reason.toLowerCase()}`,
    path: "/api/v1/events",
    fieldSelector: `involvedObject.kind=Pod,reason=${reason}`,
    read: readKubeletEvent,
    notice: ({ object, facts, gone }) =>
      gone ? undefined : killingOf(facts, podOf(object.namespace ?? "", facts.pod), now()),
  }));
}

function readKubeletEvent(object: unknown): Seen<KubeletEventFacts> | undefined {
  const { metadata, reason, involvedObject, count, ...event } = Event.parse(object);
  const component = event.source?.component ?? event.reportingComponent;
  if (component !== "kubelet" || !NAMES.test(involvedObject.name)) return undefined;
  const facts = {
    pod: involvedObject.name,
    podUid: involvedObject.uid,
    reason,
    count: count ?? 1,
    at: event.lastTimestamp ?? event.eventTime,
  };
  return { metadata: identityOf(metadata), facts };
}

/** Undefined for a pod that has been deleted: pods.ts reports that, or the owner wants it. */
export function killingOf(event: KubeletEventFacts, pod: Seen<PodFacts> | undefined, now: Date): Notice | undefined {
  if (pod === undefined || pod.metadata.uid !== event.podUid) return undefined;
  if (event.at !== undefined && now.getTime() - Date.parse(event.at) > STALE_MS) return undefined;
  if (pod.facts.deleting || pod.facts.completed) return undefined;
  const { namespace = "", name, uid } = pod.metadata;
  return { type: "dev.lifeboat.pod.killing.v1", data: { namespace, name, uid, reason: event.reason } };
}
