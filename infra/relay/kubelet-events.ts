/** The kubelet's Events about pods that it ends: which the relay watches, and which it reports to the Worker. */
import * as z from "zod/mini";
import { Text } from "../../shared/kube/schemas/fields.ts";
import { watchedKind, type Notice, type WatchedPod, type KeptObject, type WatchedKind } from "./kinds.ts";

export interface KubeletEventFacts {
  readonly pod: string;
  readonly podUid: string;
  readonly reason: string;
  /** How often the kubelet reported it, and when it last did. */
  readonly count: number;
  readonly at: string | undefined;
}

/**
 * Events lack their pods' labels. The name keeps most other Events out of memory; the pod's labels decide. The API server does not check what an
 * Event names: a tenant's may name 16 KB.
 */
const POD_NAMES = /^(virt-launcher|hp-volume)-[a-z0-9.-]{1,239}$/;
const LONGEST_UID = 128;

type PodOf = (namespace: string, name: string) => Pick<KeptObject<WatchedPod>, "metadata" | "facts"> | undefined;

/**
 * Returns the watched kinds of a kubelet's Events about pods that it ends. The kubelet does not ask the API server, and
 * sets the pod's condition only afterwards. Each reason has its own watch, because field selectors have no "or"; few
 * Events have these reasons.
 */
export function kubeletEvents(podOf: PodOf, now: () => Date): readonly WatchedKind<KubeletEventFacts>[] {
  return ["Evicted", "Preempting", "Killing"].map((reason) =>
    watchedKind({
      name: `events-${reason.toLowerCase()}`,
      path: "/api/v1/events",
      fieldSelector: `involvedObject.kind=Pod,reason=${reason}`,
      fields: {
        reason: z.string(),
        involvedObject: z.object({ name: z.string(), uid: z.prefault(z.string(), "") }),
        source: z.nullish(z.object({ component: Text })),
        reportingComponent: Text,
        count: z.nullish(z.number()),
        lastTimestamp: Text,
        eventTime: Text,
      },
      facts: ({ involvedObject: { name: pod, uid: podUid }, ...event }): KubeletEventFacts | undefined => {
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

/** Events stay for an hour; a launcher ends sooner than this (`evictionMaxPodGracePeriod` is 300 s). */
const STALE_MS = 10 * 60 * 1000;

/** Returns undefined for a deleted pod: PODS reports it, or the owner wants the deletion. */
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
