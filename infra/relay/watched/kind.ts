/** What a watched kind is: a few facts of each object, and which changes of them the Worker is told. */
import * as z from "zod/mini";
import type { EventData, EventType } from "../../../shared/events/event-types.ts";

/** What is kept of an object. */
export interface Seen<Facts> {
  readonly metadata: Identity;
  readonly facts: Facts;
}

export interface Identity {
  /** Absent on what is not namespaced. */
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** What the Worker is told, before it becomes an event. */
export type Notice = { readonly [T in EventType]: { readonly type: T; readonly data: EventData<T> } }[EventType];

export interface Change<Facts> {
  readonly object: Identity;
  readonly facts: Facts;
  /** Undefined: seen for the first time. */
  readonly before: Facts | undefined;
  readonly gone: boolean;
}

export interface WatchedKind<Facts> {
  /** In metrics and log. */
  readonly name: string;
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** The few facts of an object; undefined: ignored. Throws what zod throws. */
  readonly read: (object: unknown) => Seen<Facts> | undefined;
  /** Called when an object appears, when any of its facts change, and when it goes. */
  readonly notice: (change: Change<Facts>) => Notice | undefined;
}

/** A text that Go may have left out, or written empty, to mean absent. */
export const Text = z.pipe(
  z.nullish(z.string()),
  z.transform((text) => text || undefined),
);

export const Metadata = z.object({
  namespace: z.exactOptional(z.string()),
  name: z.string(),
  uid: z.string(),
  resourceVersion: z.string(),
  deletionTimestamp: Text,
  labels: z.nullish(z.record(z.string(), z.string())),
});

export const Conditions = z.pipe(
  z.nullish(z.array(z.object({ type: z.string(), status: z.string(), reason: Text, lastTransitionTime: Text }))),
  z.transform((conditions) => conditions ?? []),
);

export function identityOf({ namespace, name, uid, resourceVersion }: z.output<typeof Metadata>): Identity {
  return { ...(namespace === undefined ? {} : { namespace }), name, uid, resourceVersion };
}

/** What the Worker is told, if anything, when an object changes from one state to the next. */
export function noticeOf<Facts>(
  { notice }: WatchedKind<Facts>,
  now: Seen<Facts> | undefined,
  before: Seen<Facts> | undefined,
): { readonly object: Identity; readonly gone: boolean; readonly notice: Notice } | undefined {
  const seen = now ?? before;
  if (seen === undefined) return undefined;
  // The same name with another uid is another object.
  const known = before?.metadata.uid === seen.metadata.uid ? before.facts : undefined;
  const gone = now === undefined;
  if (!gone && known !== undefined && JSON.stringify(known) === JSON.stringify(seen.facts)) return undefined;
  const object = seen.metadata;
  const told = notice({ object, facts: seen.facts, before: known, gone });
  return told && { object, gone, notice: told };
}
