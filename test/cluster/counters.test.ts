/** The counters in a cluster: read, created, compared and set; and who may not. */
import { afterAll, beforeAll, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import { type Cluster, connect } from "../../shared/cluster/cluster.ts";
import type { Action } from "../../shared/policy/action.ts";
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
const act = (action: Action) => cluster.act(action, SETTINGS);
const evacuations = [{ cause: "Preemption", outcome: "Moved", count: 3 }] as const;
const counted = ["vmi-uid/0000000a"];
const key = { namespace: "lifeboat-system", name: "lifeboat-counters" };

async function overwrite(text: string): Promise<void> {
  await world.client.patch(core.configMaps, key, { type: "merge", body: { data: { "counters.json": text } } });
}

async function versionOf(): Promise<string> {
  return (await world.client.get(core.configMaps, key))?.metadata.resourceVersion ?? "";
}

test("WriteCounters: created, then replaced by whoever has seen them as they are", async () => {
  expect(await cluster.getCounters()).toEqual({ evacuations: [], counted: [] });
  expect(await act({ verb: "WriteCounters", evacuations, counted })).toBe("Done");
  expect(await act({ verb: "WriteCounters", evacuations: [], counted: [] })).toBe("Conflict");
  const found = await cluster.getCounters();
  expect(found).toEqual({ evacuations, counted, resourceVersion: expect.any(String) });
  const resourceVersion = await versionOf();
  const two = { verb: "WriteCounters", evacuations, counted: [...counted, "b"], resourceVersion } as const;
  expect([await act(two), await act(two)]).toEqual(["Done", "Conflict"]);
  expect(await cluster.getCounters()).toMatchObject({ counted: [...counted, "b"] });
  expect((await world.client.get(core.configMaps, key))?.metadata.labels).toEqual({
    "app.kubernetes.io/managed-by": "lifeboat",
  });
});

test("somebody else's text there: counting is off", async () => {
  await overwrite("{}");
  expect(await cluster.getCounters()).toBe("Off");
});

test("deleted since they were read: look again", async () => {
  await overwrite('{"evacuations":[],"counted":[]}');
  const resourceVersion = await versionOf();
  await world.client.delete(core.configMaps, key);
  expect(await act({ verb: "WriteCounters", evacuations, counted, resourceVersion })).toBe("Conflict");
});

// prettier-ignore
test.each([
  ["may not be read: counting is off",   status(403, "Forbidden"),      "Off"],
  ["there are none",                     status(404, "NotFound"),       { evacuations: [], counted: [] }],
  ["the server is busy",                 status(429, "TooManyRequests"), "429 Too Many Requests"],
  ["the server is broken",               status(500, "InternalError"),  "with 500"],
  ["no ConfigMap",                       json({ kind: "ConfigMap" }),   "is not what an API server says"],
])("%s", async (_, other, expected) => {
  const server = await startCannedCluster({ other });
  const read = connectTo({ server: server.url, token: "t" }).getCounters();
  if (typeof expected === "string" && expected !== "Off") await expect(read).rejects.toThrow(expected);
  else expect(await read).toEqual(expected);
  await server.stop();
});

test.each(["POST", "PATCH"])("%s forbidden: an error, for whoever performs it to go on without", async (method) => {
  const server = await startCannedCluster({ other: status(403, "Forbidden") });
  const action = { verb: "WriteCounters", evacuations, counted } as const;
  const write = connectTo({ server: server.url, token: "t" }).act(
    method === "POST" ? action : { ...action, resourceVersion: "7" },
    SETTINGS,
  );
  await expect(write).rejects.toThrow(`${method} /api/v1/namespaces/lifeboat-system/configmaps`);
  await server.stop();
});
