/**
 * Events that the Worker has not taken yet: of every object the newest event of each type.
 * Owns: coalescing and order. The number of objects bounds its memory, however long the Worker is away.
 * Does not own: time, delivery.
 */
import type { LifeboatEvent } from "../../shared/events/cloud-event.ts";

export interface Outbox {
  readonly length: number;
  put(event: LifeboatEvent, now: Date): void;
  /** The events that have waited longest; they stay until they are settled. */
  first(limit: number): readonly LifeboatEvent[];
  /** Delivered or dropped. An object that has changed again since stays. */
  settle(events: readonly LifeboatEvent[]): void;
  /** Moves them behind the others, which must not wait for them. */
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

  return {
    get length() {
      return waiting.size;
    },
    put(event, now) {
      const key = keyOf(event);
      const since = waiting.get(key)?.since ?? now;
      waiting.set(key, { event, since, newest: now });
    },
    first(limit) {
      const events: LifeboatEvent[] = [];
      for (const { event } of waiting.values()) {
        if (events.length === limit) break;
        events.push(event);
      }
      return events;
    },
    settle(events) {
      for (const event of events) {
        const key = keyOf(event);
        const entry = waiting.get(key);
        waiting.delete(key);
        // To the end: an object that changes all the time must not make the others wait.
        if (entry !== undefined && entry.event !== event) waiting.set(key, { ...entry, since: entry.newest });
      }
    },
    postpone(events) {
      for (const event of events) {
        const key = keyOf(event);
        const entry = waiting.get(key);
        if (entry !== undefined && waiting.delete(key)) waiting.set(key, entry);
      }
    },
    waitingSince() {
      let oldest: Date | undefined;
      for (const { since } of waiting.values()) if (oldest === undefined || since < oldest) oldest = since;
      return oldest;
    },
  };
}

function keyOf({ type, subject }: LifeboatEvent): string {
  return `${type} ${subject}`;
}
