/** The counters in a cluster: read, created, added to; and what becomes of a count that fails. */
import { afterAll, beforeAll, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import { type Cluster, connect } from "../../shared/cluster/cluster.ts";
import { type Action, isOptional } from "../../shared/policy/action.ts";
import type { EvacuationCount } from "../../shared/policy/counters.ts";
import { startCannedCluster } from "../functions/support/canned-cluster.ts";
import { json, status } from "../functions/support/stub-server.ts";
import { startTestCluster, type TestCluster } from "../functions/support/test-cluster.ts";

let world: TestCluster;
let cluster: Cluster;
beforeAll(async () => {
  world = await startTestCluster();
  cluster = connectTo(world.entry);
});
afterAll(() => world.stop());

function connectTo({ server, token }: { server: string; token: string }): Cluster {
  const endpoint = { server, token, headers: {}, fetch: (url: string, init: RequestInit) => fetch(url, init) };
  const platform = { now: () => new Date(0), sleep: () => Promise.resolve(), onOddItem: () => undefined };
  return connect({ ...platform, endpoint, signal: AbortSignal.timeout(60_000) });
}

const SETTINGS = { kubevirtNamespace: "kubevirt", marking: "Impersonate" } as const;
const COUNT = { verb: "Count", cause: "Preemption", outcome: "Moved" } as const satisfies Action;
const key = { namespace: "lifeboat-system", name: "lifeboat-counters" };

async function counted(): Promise<readonly EvacuationCount[]> {
  return (await cluster.getCounters()).filter(({ count }) => count > 0);
}

test("Count: the first makes the ConfigMap, every other adds one", async () => {
  expect(await counted()).toEqual([]);
  for (const action of [COUNT, COUNT, { ...COUNT, outcome: "Gone" } as const]) {
    expect(await cluster.act(action, SETTINGS)).toBe("Done");
  }
  expect(await counted()).toEqual([
    { cause: "Preemption", outcome: "Moved", count: 2 },
    { cause: "Preemption", outcome: "Gone", count: 1 },
  ]);
  const found = await world.client.get(core.configMaps, key);
  expect(found?.metadata.labels).toEqual({ "app.kubernetes.io/managed-by": "lifeboat" });
});

test.each(["many", "-1", "1.5", "1e400"])("%j is no count: it begins anew", async (text) => {
  const body = { data: { "Preemption.Moved": text, other: "kept" } };
  await world.client.patch(core.configMaps, key, { type: "merge", body });
  expect(await counted()).not.toContainEqual(expect.objectContaining({ outcome: "Moved" }));
});

// prettier-ignore
test.each([
  ["may not be read",        status(403, "Forbidden"),       "403 Forbidden"],
  ["the server is busy",     status(429, "TooManyRequests"), "429 Too Many Requests"],
  ["the server is broken",   status(500, "InternalError"),   "with 500"],
  ["no ConfigMap",           json({ kind: "ConfigMap" }),    "is not what an API server says"],
])("%s: an error, which no evacuation waits for", async (_, other, expected) => {
  const server = await startCannedCluster({ other });
  const there = connectTo({ server: server.url, token: "t" });
  await expect(there.getCounters()).rejects.toThrow(expected);
  await expect(there.act(COUNT, SETTINGS)).rejects.toThrow(expected);
  expect(isOptional(COUNT)).toBe(true);
  await server.stop();
});

test("another function is always faster: given up after three tries", async () => {
  const found = { kind: "ConfigMap", metadata: { ...key, uid: "u", resourceVersion: "7" }, data: {} };
  const server = await startCannedCluster({
    other: (response, request) => (request.method === "GET" ? json(found) : status(409, "Conflict"))(response, request),
  });
  expect(await connectTo({ server: server.url, token: "t" }).act(COUNT, SETTINGS)).toBe("Conflict");
  expect(server.requests.filter(({ method }) => method === "PATCH")).toHaveLength(3);
  await server.stop();
});
