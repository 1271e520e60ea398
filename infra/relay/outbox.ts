/** Events that the Worker has not taken yet: of every object the newest event of each type. */
import { LARGEST_BATCH_BYTES, type LifeboatEvent } from "../../shared/events/cloud-event.ts";

/** Those that have been put off are `Failed`, also when their object changes again. */
export type Part = "New" | "Failed";

export interface Outbox {
  readonly length: number;
  put(event: LifeboatEvent, now: Date): void;
  /**
   * The events that have waited longest, as many as one delivery takes, `New` ones unless another part is named; they stay until they are
   * settled.
   */
  first(limit: number, part?: Part): readonly LifeboatEvent[];
  /** Delivered or dropped. An object that has changed again since stays. */
  settle(events: readonly LifeboatEvent[]): void;
  /** They have failed: those that have not failed before come first among such, the others last. */
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
  const parts: Record<Part, Map<string, Waiting>> = { New: new Map(), Failed: new Map() };
  const partOf = (key: string) => (parts.Failed.has(key) ? parts.Failed : parts.New);

  return {
    get length() {
      return parts.New.size + parts.Failed.size;
    },
    put(event, now) {
      const key = keyOf(event);
      const part = partOf(key);
      part.set(key, { event, since: part.get(key)?.since ?? now, newest: now });
    },
    first(limit, part = "New") {
      const events: LifeboatEvent[] = [];
      let bytes = BRACKETS_BYTES;
      for (const { event } of parts[part].values()) {
        bytes += bytesOf(event);
        if (events.length === limit || (events.length > 0 && bytes > LARGEST_BATCH_BYTES)) break;
        events.push(event);
      }
      return events;
    },
    settle(events) {
      for (const event of events) {
        const key = keyOf(event);
        const part = partOf(key);
        const entry = part.get(key);
        part.delete(key);
        // To the end: an object that changes all the time must not make the others wait.
        if (entry !== undefined && entry.event !== event) parts.New.set(key, { ...entry, since: entry.newest });
      }
    },
    postpone(events) {
      const keys = new Set(events.map(keyOf));
      const [first = [], last = []] = [parts.New, parts.Failed].map((part) =>
        [...part].filter(([key]) => keys.has(key)),
      );
      for (const key of keys) partOf(key).delete(key);
      parts.Failed = new Map([...first, ...parts.Failed, ...last]);
    },
    waitingSince() {
      let oldest: Date | undefined;
      for (const part of Object.values(parts))
        for (const { since } of part.values()) if (oldest === undefined || since < oldest) oldest = since;
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
