/** The relay's numbers and probes, over HTTP. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createCounters, outboxMetrics, syncedMetric } from "../../../infra/relay/metrics.ts";
import { createOutbox } from "../../../infra/relay/outbox.ts";
import { type ProbeServer, startProbes } from "../../../infra/relay/probes.ts";
import { OPEN_METRICS, renderOpenMetrics } from "../../../shared/metrics/open-metrics.ts";
import { vmiEvent } from "./fake-worker.ts";

describe("metrics", () => {
  test("say how many events wait in each lane, and for how long", () => {
    const [urgent, routine] = [createOutbox(), createOutbox()];
    const now = new Date("2026-11-20T12:00:00Z");
    routine.put(vmiEvent("a"), new Date(now.getTime() - 90_500));
    routine.put(vmiEvent("b"), now);
    const text = renderOpenMetrics(outboxMetrics({ urgent, routine }, now));
    expect(text).toContain(
      'lifeboat_relay_waiting_events{lane="urgent"} 0\nlifeboat_relay_waiting_events{lane="routine"} 2\n',
    );
    expect(text).toContain('lifeboat_relay_oldest_event_age_seconds{lane="urgent"} 0\n');
    expect(text).toContain('lifeboat_relay_oldest_event_age_seconds{lane="routine"} 90.5\n');
  });

  test("name every type the relay sends, also before the first", () => {
    const text = renderOpenMetrics([createCounters().events.metric()]);
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
    const text = renderOpenMetrics([syncedMetric(new Map([["pods", { isSynced: () => false }]]))]);
    expect(text).toContain('lifeboat_relay_synced{watch="pods"} 0\n');
  });
});

describe("probes", () => {
  let ready = false;
  let server: ProbeServer;
  beforeEach(async () => {
    server = await startProbes({ isReady: () => ready, metrics: () => "# EOF\n" }, 0);
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
    expect([response.headers.get("content-type"), await response.text()]).toEqual([OPEN_METRICS, "# EOF\n"]);
  });

  test("anything else is refused", async () => {
    expect([(await ask("/")).status, (await ask("/healthz", "POST")).status]).toEqual([404, 404]);
  });
});
