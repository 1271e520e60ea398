/** Creates the event for a change of an object. */
import type { LifeboatEvent } from "../../shared/events/cloud-event.ts";
import type { EventType } from "../../shared/events/cloud-event.ts";
import type { ObjectIdentity, Notice, KeptObject, WatchedKind } from "./kinds.ts";

/**
 * The two queues of events. An urgent event has its own queue, so that it does not wait for routine events or for a
 * slow answer to them. After a restart of the relay, there are thousands of routine events.
 */
export const LANES = ["urgent", "routine"] as const;
export type Lane = (typeof LANES)[number];

export const LANE_OF = {
  "dev.lifeboat.pod.disrupted.v1": "urgent",
  "dev.lifeboat.pod.killing.v1": "urgent",
  "dev.lifeboat.node.changed.v1": "urgent",
  "dev.lifeboat.vmi.changed.v1": "routine",
  "dev.lifeboat.migration.changed.v1": "routine",
  "dev.lifeboat.evacuation.changed.v1": "routine",
  "dev.lifeboat.nodeevacuation.changed.v1": "routine",
  "dev.lifeboat.rollingmaintenance.changed.v1": "routine",
} as const satisfies Record<EventType, Lane>;

export interface Noticed {
  readonly object: ObjectIdentity;
  readonly gone: boolean;
  readonly notice: Notice;
}

/** Returns the notice of a change to an object. Returns undefined if Lifeboat does not need to know of the change. */
export function noticeOf<Facts>(
  kind: WatchedKind<Facts, unknown>,
  now: KeptObject<Facts, unknown> | undefined,
  before: KeptObject<Facts, unknown> | undefined,
): Noticed | undefined {
  const seen = now ?? before;
  if (seen === undefined) return undefined;
  // Compares the UIDs, because a new object can have the name of a deleted object.
  const known = before?.metadata.uid === seen.metadata.uid ? before.facts : undefined;
  const [object, gone] = [seen.metadata, now === undefined];
  if (!gone && known !== undefined && JSON.stringify(known) === JSON.stringify(seen.facts)) return undefined;
  const notice = kind.notice({ object, facts: seen.facts, before: known, gone });
  return notice && { object, gone, notice };
}

/** Creates an event. The id depends only on the object's state, so both replicas create the same event. */
export function eventOf({ object: { uid, resourceVersion }, gone, notice }: Noticed, now: Date): LifeboatEvent {
  const { data } = notice;
  return {
    specversion: "1.0",
    id: [uid, resourceVersion, ...(gone ? ["gone"] : []), notice.type].join("."),
    source: "/relay",
    subject: "namespace" in data ? `${data.namespace}/${data.name}` : data.name,
    time: now.toISOString(),
    ...notice,
  };
}
