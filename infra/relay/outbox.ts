/** Stores events that the Worker has not accepted. For each object, only the newest event of each type is stored. */
import { LARGEST_BATCH_BYTES, type LifeboatEvent } from "../../shared/events/cloud-event.ts";

export interface Outbox {
  readonly length: number;
  /** Adds an event. Returns false if the event replaces a postponed event of the same object and type. */
  put(event: LifeboatEvent, now: Date): boolean;
  /**
   * Returns the events of the next delivery. They remain stored until `settle`. Includes a postponed event only after
   * its `until`, unless all events are postponed.
   */
  first(limit: number, now: Date): readonly LifeboatEvent[];
  /** Removes delivered or dropped events. If an object has changed since the delivery, its new event remains. */
  settle(events: readonly LifeboatEvent[]): void;
  /**
   * Postpones failed events, so that other events do not wait. The next batch with a failed event is at most half as
   * large as `events`.
   */
  postpone(events: readonly LifeboatEvent[], until: Date): void;
  waitingSince(): Date | undefined;
}

interface Waiting {
  readonly event: LifeboatEvent;
  readonly since: Date;
  /**
   * The arrival time of `event`. If `event` has replaced an older event, `since` is the arrival time of the older
   * event.
   */
  readonly newest: Date;
  readonly postponed?: { readonly until: Date; readonly most: number } | undefined;
}

export function createOutbox(): Outbox {
  const waiting = new Map<string, Waiting>();
  const remove = (event: LifeboatEvent) => {
    const key = keyOf(event);
    const entry = waiting.get(key);
    waiting.delete(key);
    return entry;
  };
  return {
    get length() {
      return waiting.size;
    },
    put(event, now) {
      const key = keyOf(event);
      const { since = now, postponed } = waiting.get(key) ?? {};
      waiting.set(key, { event, since, newest: now, postponed });
      return postponed === undefined;
    },
    first(limit, now) {
      const events: LifeboatEvent[] = [];
      let [bytes, most] = [BRACKETS_BYTES, limit];
      const due = [...waiting.values()].filter(({ postponed }) => postponed === undefined || postponed.until <= now);
      for (const { event, postponed } of due.length > 0 ? due : waiting.values()) {
        bytes += bytesOf(event);
        most = Math.min(most, postponed?.most ?? limit);
        if (events.length >= most || (events.length > 0 && bytes > LARGEST_BATCH_BYTES)) break;
        events.push(event);
      }
      return events;
    },
    settle(events) {
      for (const event of events) {
        const entry = remove(event);
        // Moves the new event to the end, so that an object that changes constantly does not delay other objects.
        if (entry !== undefined && entry.event !== event)
          waiting.set(keyOf(event), { ...entry, since: entry.newest, postponed: undefined });
      }
    },
    postpone(events, until) {
      const postponed = { until, most: halfOf(events) };
      for (const event of events) {
        const entry = remove(event);
        if (entry !== undefined) waiting.set(keyOf(event), { ...entry, postponed });
      }
    },
    waitingSince() {
      let oldest: Date | undefined;
      for (const { since } of waiting.values()) if (oldest === undefined || since < oldest) oldest = since;
      return oldest;
    },
  };
}

const BRACKETS_BYTES = 2;

/** Returns the size of an event in a batch, including the comma. */
function bytesOf(event: LifeboatEvent): number {
  return Buffer.byteLength(JSON.stringify(event)) + 1;
}

function keyOf({ type, subject }: LifeboatEvent): string {
  return `${type} ${subject}`;
}

export function halfOf({ length }: readonly LifeboatEvent[]): number {
  return Math.max(1, length >> 1);
}
