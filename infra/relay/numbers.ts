/**
 * What the relay says of itself.
 * Owns: names and meaning of its metrics. Does not own: their format (metrics.ts), when they are counted (relay.ts).
 */
import { EVENT_DATA } from "../../shared/events/event-types.ts";
import { createCounter, type Family, type Sample } from "./metrics.ts";
import type { Outbox } from "./outbox.ts";

export function createCounters() {
  const events = createCounter("lifeboat_relay_events", "Changes the Worker has to know of, by type.");
  for (const type of Object.keys(EVENT_DATA)) if (type !== NOT_OURS) events.add({ type }, 0);
  return {
    events,
    deliveries: createCounter("lifeboat_relay_deliveries", "Attempts to deliver a batch, by result."),
    delivered: createCounter("lifeboat_relay_delivered_events", "Events the Worker has taken."),
    failures: createCounter("lifeboat_relay_watch_failures", "Lists and watches that failed and were begun again."),
  };
}

/** Sent by node agents. */
const NOT_OURS = "dev.lifeboat.domain.shutdown.v1";

export function outboxFamilies(outboxes: Readonly<Record<string, Outbox>>, now: Date): readonly Family[] {
  const of = (value: (outbox: Outbox) => number): readonly Sample[] =>
    Object.entries(outboxes).map(([lane, outbox]) => ({ labels: { lane }, value: value(outbox) }));
  return [
    {
      name: "lifeboat_relay_waiting_events",
      type: "gauge",
      help: "Events not yet taken by the Worker.",
      samples: of((outbox) => outbox.length),
    },
    {
      name: "lifeboat_relay_oldest_event_age_seconds",
      type: "gauge",
      help: "For how long the oldest of them has waited; 0: none waits.",
      samples: of((outbox) => (now.getTime() - (outbox.waitingSince() ?? now).getTime()) / 1000),
    },
  ];
}

export function syncedFamily(watches: ReadonlyMap<string, { isSynced(): boolean }>): Family {
  const samples = [...watches].map(([watch, watched]) => ({ labels: { watch }, value: watched.isSynced() ? 1 : 0 }));
  return { name: "lifeboat_relay_synced", type: "gauge", help: "Whether a watch has had its first list.", samples };
}

export function memoryFamily(): Family {
  const samples = [{ labels: {}, value: process.memoryUsage.rss() }];
  return { name: "process_resident_memory_bytes", type: "gauge", help: "Resident memory size in bytes.", samples };
}
