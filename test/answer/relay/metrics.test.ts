/** The relay's numbers and probes, over HTTP. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createCounters } from "../../../infra/relay/metrics.ts";
import { type ProbeServer, startProbes } from "../../../infra/relay/probes.ts";
import { renderOpenMetrics } from "../../../shared/metrics/open-metrics.ts";

describe("metrics", () => {
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
      "nodeevacuation.changed",
    ]);
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
});
