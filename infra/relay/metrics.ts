/** The relay's metrics: their names, descriptions and counters. */
import { EVENT_DATA } from "../../shared/events/cloud-event.ts";
import type { Family, Sample } from "../../shared/metrics/open-metrics.ts";
import { LANES } from "./event.ts";
import type { Outbox } from "./outbox.ts";
import { RESULTS } from "./send.ts";

export type Metric = readonly [Family, readonly Sample[]];

/** Creates the counters. Counters with alerts start at zero, so that an alert recognizes the first increase. */
export function createCounters() {
  const events = createCounter(
    "lifeboat_relay_events",
    "Changes that the relay reports to the Worker, by type.",
    "type",
  );
  for (const type of Object.keys(EVENT_DATA)) events.add([type], 0);
  const help = "Attempts to deliver a batch, by result.";
  const deliveries = createCounter("lifeboat_relay_deliveries", help, "lane", "result");
  for (const lane of LANES) for (const result of RESULTS) deliveries.add([lane, result], 0);
  return {
    events,
    deliveries,
    delivered: createCounter("lifeboat_relay_delivered_events", "Events that the Worker has accepted.", "lane"),
    failures: createCounter("lifeboat_relay_watch_failures", "Failed lists and watches. The relay retries.", "watch"),
  };
}

function createCounter(name: string, help: string, ...labels: readonly string[]) {
  const samples = new Map<string, Sample>();
  return {
    add(values: readonly string[], by = 1) {
      const key = values.join();
      samples.set(key, { labels: values, value: (samples.get(key)?.value ?? 0) + by });
    },
    metric: (): Metric => [{ name, type: "counter", unit: "", help, labels }, [...samples.values()]],
  };
}

function gauge(name: string, help: string, label: string, values: Iterable<readonly [string, number]>): Metric {
  const samples = [...values].map(([of, value]) => ({ labels: [of], value }));
  return [{ name, type: "gauge", unit: "", help, labels: [label] }, samples];
}

export function outboxMetrics(outboxes: Readonly<Record<string, Outbox>>, now: Date): readonly Metric[] {
  const each = (value: (outbox: Outbox) => number) =>
    Object.entries(outboxes).map(([lane, outbox]) => [lane, value(outbox)] as const);
  const ages = each((outbox) => (now.getTime() - (outbox.waitingSince() ?? now).getTime()) / 1000);
  const help = "How long the oldest event has waited for the Worker; 0 if no event waits.";
  return [
    gauge(
      "lifeboat_relay_waiting_events",
      "Events that the Worker has not accepted yet.",
      "lane",
      each(({ length }) => length),
    ),
    gauge("lifeboat_relay_oldest_event_age_seconds", help, "lane", ages),
  ];
}

export function watchingMetric(watches: ReadonlyMap<string, { isCurrent(): boolean }>): Metric {
  const watching = [...watches].map(([watch, watched]) => [watch, watched.isCurrent() ? 1 : 0] as const);
  return gauge("lifeboat_relay_watching", "1 if a watch is open and its first list is complete.", "watch", watching);
}

export function memoryMetric(): Metric {
  const help = "Resident memory size in bytes.";
  const family = { name: "process_resident_memory_bytes", type: "gauge", unit: "", help, labels: [] } as const;
  return [family, [{ labels: [], value: process.memoryUsage.rss() }]];
}
