/**
 * What a relay may tell the Worker from inside a cluster. An event only says where to look: the Worker reads the object named and decides
 * by that, so a duplicate, late or reordered event is harmless.
 */
import * as z from "zod/mini";

/** Bounded as the API server bounds them; a batch of the largest events stays far below the limit of a delivery. */
const Namespace = z.lazy(() => z.string().check(z.minLength(1), z.maxLength(63)));
const Name = z.lazy(() => z.string().check(z.minLength(1), z.maxLength(253)));
const Uid = z.lazy(() => z.string().check(z.minLength(1), z.maxLength(128)));
const Reason = z.lazy(() => z.string().check(z.minLength(1), z.maxLength(128)));

const Namespaced = { namespace: Namespace, name: Name, uid: Uid };

export const EVENT_DATA = {
  "dev.lifeboat.pod.disrupted.v1": z.lazy(() => z.object({ ...Namespaced, node: z.exactOptional(Name) })),
  "dev.lifeboat.pod.killing.v1": z.lazy(() => z.object({ ...Namespaced, reason: Reason })),
  "dev.lifeboat.vmi.changed.v1": z.lazy(() => z.object(Namespaced)),
  "dev.lifeboat.migration.changed.v1": z.lazy(() => z.object({ namespace: Namespace, name: Name, migration: Name })),
  "dev.lifeboat.evacuation.changed.v1": z.lazy(() => z.object({ namespace: Namespace, name: Name, evacuation: Name })),
  "dev.lifeboat.node.changed.v1": z.lazy(() => z.object({ name: Name })),
} as const;

export type EventType = keyof typeof EVENT_DATA;
export type EventData<T extends EventType> = z.output<(typeof EVENT_DATA)[T]>;
