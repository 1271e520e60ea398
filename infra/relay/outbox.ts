/** Events that the Worker has not taken yet: of every object the newest event of each type. */
import { LARGEST_BATCH_BYTES, type LifeboatEvent } from "../../shared/events/cloud-event.ts";

export interface Outbox {
  readonly length: number;
  put(event: LifeboatEvent, now: Date): void;
  /** The next events, as many as one delivery takes; they stay until they are settled. */
  first(limit: number): readonly LifeboatEvent[];
  /** Delivered or dropped. An object that has changed again since stays. */
  settle(events: readonly LifeboatEvent[]): void;
  /** To the end: those behind them must not wait for them. */
  postpone(events: readonly LifeboatEvent[]): void;
  /** Since when the oldest waits. */
  waitingSince(): Date | undefined;
}

interface Waiting {
  readonly event: LifeboatEvent;
  readonly since: Date;
  /** When this event came; an earlier one of the same object may have come before. */
  readonly newest: Date;
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
      waiting.set(key, { event, since: waiting.get(key)?.since ?? now, newest: now });
    },
    first(limit) {
      const events: LifeboatEvent[] = [];
      let bytes = BRACKETS_BYTES;
      for (const { event } of waiting.values()) {
        bytes += bytesOf(event);
        if (events.length === limit || (events.length > 0 && bytes > LARGEST_BATCH_BYTES)) break;
        events.push(event);
      }
      return events;
    },
    settle(events) {
      for (const event of events) {
        const entry = remove(event);
        // To the end: an object that changes all the time must not make the others wait.
        if (entry !== undefined && entry.event !== event) waiting.set(keyOf(event), { ...entry, since: entry.newest });
      }
    },
    postpone(events) {
      for (const event of events) {
        const entry = remove(event);
        if (entry !== undefined) waiting.set(keyOf(event), entry);
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

/** With the comma after it. */
function bytesOf(event: LifeboatEvent): number {
  return Buffer.byteLength(JSON.stringify(event)) + 1;
}

function keyOf({ type, subject }: LifeboatEvent): string {
  return `${type} ${subject}`;
}
