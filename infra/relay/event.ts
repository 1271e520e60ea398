/** From a notice to the event that is delivered. */
import type { LifeboatEvent } from "../../shared/events/cloud-event.ts";
import type { EventType } from "../../shared/events/event-types.ts";
import type { Identity, Notice } from "./watched/kind.ts";

export const SOURCE = "/relay";

/** Two queues: a disruption never waits behind ten thousand VMs after a restart, nor behind a slow answer about them. */
export const LANES = ["urgent", "routine"] as const;
export type Lane = (typeof LANES)[number];

export const LANE_OF = {
  "dev.lifeboat.pod.disrupted.v1": "urgent",
  "dev.lifeboat.pod.killing.v1": "urgent",
  "dev.lifeboat.node.changed.v1": "urgent",
  "dev.lifeboat.vmi.changed.v1": "routine",
  "dev.lifeboat.migration.changed.v1": "routine",
  "dev.lifeboat.evacuation.changed.v1": "routine",
} as const satisfies Record<EventType, Lane>;

export interface Told {
  readonly object: Identity;
  readonly gone: boolean;
  readonly notice: Notice;
}

/** The id depends on the state of the object only: both replicas give the same, also after a restart. */
export function eventOf({ object, gone, notice }: Told, now: Date): LifeboatEvent {
  const { uid, resourceVersion } = object;
  return {
    specversion: "1.0",
    id: [uid, resourceVersion, ...(gone ? ["gone"] : []), notice.type].join("."),
    source: SOURCE,
    subject: subjectOf(notice),
    time: now.toISOString(),
    ...notice,
  };
}

function subjectOf({ data }: Notice): string {
  return "namespace" in data ? `${data.namespace}/${data.name}` : data.name;
}
