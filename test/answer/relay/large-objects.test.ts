/**
 * Tests objects that are malformed or larger than real objects. A watch keeps only the identity of such an object.
 * Readers then read the object from the API server.
 */
import { KubeConfig } from "@kubernetes/client-node";
import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { apiServerOf } from "../../../infra/relay/api-server.ts";
import { PODS } from "../../../infra/relay/kinds.ts";
import { keptOf, storeOf } from "../../../infra/relay/stores.ts";
import { startWatch } from "../../../infra/relay/watch.ts";
import { createSteppedClock } from "../../../infra/sandbox/index.ts";
import { readsFrom, type Store } from "../../../shared/kube/cache.ts";
import type { FactsOf } from "../../../shared/kube/resources.ts";
import { startHttpServer } from "../../support/stub-server.ts";
import { connectTo } from "../../support/client.ts";
import { soon } from "./stage.ts";

const KEY = { namespace: "apps", name: "web" };

function podOf(
  name: string,
  tweak: { readonly labels?: object; readonly spec?: unknown; readonly version?: number } = {},
) {
  const { labels = {}, spec = { containers: [] }, version = 1 } = tweak;
  const own = { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "uid-of-vmi", ...labels };
  const metadata = { namespace: "apps", name, uid: `uid-of-${name}`, resourceVersion: String(version), labels: own };
  return { apiVersion: "v1", kind: "Pod", metadata, spec, status: { phase: "Running" } };
}

const many = (bytes: number) =>
  Object.fromEntries(Array.from({ length: bytes / 100 }, (_, i) => [`label-${i}`, "x".repeat(90)]));

async function watching(pods: readonly object[]) {
  let stream: ServerResponse | undefined;
  let live = pods;
  const api = await startHttpServer(({ query, path }, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    if (query.has("watch")) {
      stream = response;
      return response.flushHeaders();
    }
    const one = live.find((pod) => JSON.stringify(pod).includes(`"name":"${path.split("/").at(-1)}"`));
    const list = { kind: "PodList", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: live };
    response.end(JSON.stringify(path.endsWith("/pods") ? list : one));
  });
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromClusterAndUser({ name: "c", server: api.url, skipTLSVerify: true }, { name: "u" });
  const log: string[] = [];
  const watched = startWatch(keptOf("pods", PODS, true), {
    api: apiServerOf(kubeConfig),
    clock: createSteppedClock(),
    random: () => 0,
    log: (level, message, details) => void log.push(JSON.stringify({ level, message, ...details })),
    onChange: () => undefined,
    onFailure: () => undefined,
  });
  onTestFinished(async () => {
    watched.stop();
    await api.stop();
  });
  await soon(() => expect(watched.isCurrent()).toBe(true));
  const store: Store<FactsOf<"pods">> = storeOf(watched);
  const none: Store<never> = {
    ...store,
    get: () => undefined,
    all: () => [],
    isOdd: () => false,
    hasOddIn: () => false,
    note: () => undefined,
  };
  const stores = {
    pods: store,
    nodes: none,
    poddisruptionbudgets: none,
    virtualmachineinstances: none,
    virtualmachineinstancemigrations: none,
    evacuations: none,
  };
  return {
    store,
    log,
    cluster: readsFrom(stores, connectTo({ server: api.url })),
    change: (type: string, pod: object): void => {
      live = [pod];
      stream?.write(`${JSON.stringify({ type, object: pod })}\n`);
    },
  };
}

// prettier-ignore
test.each([
  ["labels of 17 KB",               podOf("web", { labels: many(17_000) }),  "16 KiB of labels and annotations"],
  ["labels of a megabyte",          podOf("web", { labels: many(1_000_000) }), "16 KiB of labels and annotations"],
  ["a malformed field", podOf("web", { spec: { nodeName: 7 } }), "nodeName"],
])("a pod with %s is logged and counts as unreadable, and the other pod is stored", async (_, pod, why) => {
  const { store, log, cluster } = await watching([pod, podOf("other")]);
  expect([store.get(KEY), store.isOdd(KEY), store.hasOddIn("apps"), store.hasOddIn("shop")]).toEqual([undefined, true, true, false]);
  expect(store.get({ ...KEY, name: "other" })).toMatchObject({ name: "other" });
  expect(log.join()).toContain('"level":"error"');
  expect(log.join()).toContain(`"namespace":"apps","name":"web","reason":`);
  await expect(cluster.get("pods", KEY)).rejects.toMatchObject({ failure: { odd: true, issue: expect.stringContaining(why) } });
  const launchers = { namespace: "apps", labels: { "kubevirt.io/created-by": "uid-of-vmi" } };
  await expect(cluster.list("pods", launchers)).rejects.toThrow(`pods: apps/web: `);
});

test("only labels that a rule reads are stored", async () => {
  const { store } = await watching([podOf("web", { labels: many(10_000) })]);
  expect(Object.keys(store.get(KEY)?.labels ?? {})).toEqual(["kubevirt.io", "kubevirt.io/created-by"]);
});

test("a pod shown in a line above 256 KB is read live until the watch shows it again", async () => {
  const { store, log, cluster, change } = await watching([podOf("web")]);
  change("MODIFIED", podOf("web", { version: 2, spec: { containers: [], note: "x".repeat(300_000) } }));
  await soon(() => expect(store.isOdd(KEY)).toBe(true));
  expect([store.get(KEY), ...store.all()]).toEqual([undefined]);
  expect(log.join()).toContain("256 KiB");
  expect(await cluster.get("pods", KEY)).toMatchObject({ name: "web" });
  change("MODIFIED", podOf("web", { version: 3 }));
  await soon(() => expect(store.get(KEY)).toMatchObject({ name: "web" }));
  expect(store.isOdd(KEY)).toBe(false);
});

test("a pod whose deletion is shown in a line above 256 KB is removed", async () => {
  const { store, change } = await watching([podOf("web"), podOf("other")]);
  change("DELETED", podOf("web", { version: 2, spec: { containers: [], note: "x".repeat(300_000) } }));
  await soon(() => expect([...store.all()].map(({ name }) => name)).toEqual(["other"]));
  expect(store.isOdd(KEY)).toBe(false);
});
