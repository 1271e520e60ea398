/** The relay's numbers and probes, over HTTP. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createCounter, METRICS_CONTENT_TYPE, renderMetrics } from "../../infra/relay/metrics.ts";
import { createCounters, outboxFamilies, syncedFamily } from "../../infra/relay/numbers.ts";
import { createOutbox } from "../../infra/relay/outbox.ts";
import { type ProbeServer, startServer } from "../../infra/relay/server.ts";
import { vmiEvent } from "./fake-worker.ts";

/** Every line of an exposition, by the grammar of OpenMetrics for counters and gauges. */
const LINE =
  /^(?:# (?:TYPE|HELP) [a-z_]+ .+|[a-z_]+(?:\{[a-z]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z]+="(?:[^"\\\n]|\\["\\n])*")*\})? -?\d+(?:\.\d+)?|# EOF)$/;

describe("metrics", () => {
  test("are OpenMetrics", () => {
    const counter = createCounter("lifeboat_relay_events", "What was seen.");
    counter.add({ type: "a" });
    counter.add({ type: "a" }, 2);
    counter.add({ type: 'odd "\\\n' });
    const text = renderMetrics([
      counter.family(),
      { name: "memory_bytes", type: "gauge", help: "Used.", samples: [{ labels: {}, value: 1.5 }] },
    ]);
    expect(text).toBe(
      [
        "# TYPE lifeboat_relay_events counter",
        "# HELP lifeboat_relay_events What was seen.",
        'lifeboat_relay_events_total{type="a"} 3',
        'lifeboat_relay_events_total{type="odd \\"\\\\\\n"} 1',
        "# TYPE memory_bytes gauge",
        "# HELP memory_bytes Used.",
        "memory_bytes 1.5",
        "# EOF",
        "",
      ].join("\n"),
    );
    for (const line of text.trimEnd().split("\n")) expect(line).toMatch(LINE);
  });

  test("say how many events wait in each lane, and for how long", () => {
    const [urgent, routine] = [createOutbox(), createOutbox()];
    const now = new Date("2026-11-20T12:00:00Z");
    routine.put(vmiEvent("a"), new Date(now.getTime() - 90_500));
    routine.put(vmiEvent("b"), now);
    const text = renderMetrics(outboxFamilies({ urgent, routine }, now));
    expect(text).toContain(
      'lifeboat_relay_waiting_events{lane="urgent"} 0\nlifeboat_relay_waiting_events{lane="routine"} 2\n',
    );
    expect(text).toContain('lifeboat_relay_oldest_event_age_seconds{lane="urgent"} 0\n');
    expect(text).toContain('lifeboat_relay_oldest_event_age_seconds{lane="routine"} 90.5\n');
  });

  test("name every type the relay sends, also before the first", () => {
    const text = renderMetrics([createCounters().events.family()]);
    const types = [...text.matchAll(/type="dev\.lifeboat\.([a-z.]+)\.v1"\} 0/g)].map(([, type]) => type);
    expect(types).toEqual([
      "pod.disrupted",
      "pod.killing",
      "vmi.changed",
      "migration.changed",
      "evacuation.changed",
      "node.changed",
    ]);
  });

  test("say which watch has not had its list", () => {
    const text = renderMetrics([syncedFamily(new Map([["pods", { isSynced: () => false }]]))]);
    expect(text).toContain('lifeboat_relay_synced{watch="pods"} 0\n');
  });
});

describe("probes", () => {
  let ready = false;
  let server: ProbeServer;
  beforeEach(async () => {
    server = await startServer({ isReady: () => ready, metrics: () => "# EOF\n" }, 0);
  });
  afterEach(() => server.stop());
  const codes = async () => [(await ask("/healthz")).status, (await ask("/readyz")).status];
  const ask = (path: string, method = "GET") => fetch(`http://127.0.0.1:${server.port}${path}`, { method });

  test("alive from the start, ready when every watch is", async () => {
    ready = false;
    expect(await codes()).toEqual([200, 503]);
    ready = true;
    expect(await codes()).toEqual([200, 200]);
  });

  test("metrics have their content type", async () => {
    const response = await ask("/metrics");
    expect([response.headers.get("content-type"), await response.text()]).toEqual([METRICS_CONTENT_TYPE, "# EOF\n"]);
  });

  test("anything else is refused", async () => {
    expect([(await ask("/")).status, (await ask("/healthz", "POST")).status]).toEqual([404, 405]);
  });
});
