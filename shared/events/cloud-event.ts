/**
 * Defines the relay's events: batches of CloudEvents 1.0 in JSON. An event names an object, and Lifeboat reads the
 * object's current state. Late or repeated events therefore do no harm.
 */
import * as z from "zod/mini";

export const BATCH_CONTENT_TYPE = "application/cloudevents-batch+json";
export const LARGEST_BATCH = 100;
/**
 * The maximum size of a batch. Lifeboat must read the whole batch before it can check the signature. Most events take
 * 500 to 700 bytes.
 */
export const LARGEST_BATCH_BYTES = 64 * 1024;

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
  "dev.lifeboat.nodeevacuation.changed.v1": z.lazy(() => z.object({ name: Name })),
  "dev.lifeboat.rollingmaintenance.changed.v1": z.lazy(() => z.object({ name: Name })),
} as const;

export type EventType = keyof typeof EVENT_DATA;
export type EventData<T extends EventType> = z.output<(typeof EVENT_DATA)[T]>;

const Text = z.lazy(() => z.string().check(z.minLength(1), z.maxLength(1024)));

const Timestamp = z.lazy(() =>
  z
    .string()
    .check(z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/, "expected an RFC 3339 time")),
);

function envelope<T extends EventType>(type: T) {
  return z.object({
    specversion: z.literal("1.0"),
    id: Text,
    source: Text,
    type: z.literal(type),
    subject: z.exactOptional(Text),
    time: z.exactOptional(Timestamp),
    data: EVENT_DATA[type],
  });
}

export const LifeboatEvent = z.lazy(() =>
  z.discriminatedUnion("type", [
    envelope("dev.lifeboat.pod.disrupted.v1"),
    envelope("dev.lifeboat.pod.killing.v1"),
    envelope("dev.lifeboat.vmi.changed.v1"),
    envelope("dev.lifeboat.migration.changed.v1"),
    envelope("dev.lifeboat.evacuation.changed.v1"),
    envelope("dev.lifeboat.node.changed.v1"),
    envelope("dev.lifeboat.nodeevacuation.changed.v1"),
    envelope("dev.lifeboat.rollingmaintenance.changed.v1"),
  ]),
);

export type LifeboatEvent = z.output<typeof LifeboatEvent>;

export const EventBatch = z.lazy(() => z.array(LifeboatEvent).check(z.maxLength(LARGEST_BATCH)));
