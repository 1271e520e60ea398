/** Tests a watch that the API server does not answer. A proxy that buffers streams has the same effect. */
import { KubeConfig } from "@kubernetes/client-node";
import { expect, onTestFinished, test, vi } from "vitest";
import { apiServerOf } from "../../../infra/relay/api-server.ts";
import { NODES } from "../../../infra/relay/kinds.ts";
import { startWatch } from "../../../infra/relay/watch.ts";
import { createSteppedClock } from "../../../infra/sandbox/index.ts";
import { startHttpServer } from "../../support/stub-server.ts";

test("a watch that is never answered is not current, and counts as a failure", async () => {
  const asked = Promise.withResolvers<void>();
  const list = { kind: "NodeList", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: [] };
  const api = await startHttpServer((request, response) => {
    if (request.query.has("watch")) return asked.resolve();
    response.setHeader("content-type", "application/json").end(JSON.stringify(list));
  });
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromClusterAndUser({ name: "c", server: api.url, skipTLSVerify: true }, { name: "u" });
  // The timer of @kubernetes/client-node expires after 30 s, so the test replaces the timer.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const failed = Promise.withResolvers<void>();
  const watched = startWatch(NODES, {
    api: apiServerOf(kubeConfig),
    clock: createSteppedClock(),
    random: () => 0,
    log: () => undefined,
    onChange: () => undefined,
    onFailure: failed.resolve,
  });
  onTestFinished(async () => {
    vi.useRealTimers();
    watched.stop();
    await api.stop();
  });
  await asked.promise;
  expect([watched.isSynced(), watched.isCurrent()]).toEqual([true, false]);
  await vi.advanceTimersByTimeAsync(30_000);
  await failed.promise;
  expect(watched.isCurrent()).toBe(false);
});
