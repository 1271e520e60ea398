/** Counters of ended evacuations: made, added to, tried again when another function counts, and who may not. */
import { afterAll, describe, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import { tell } from "../../shared/policy/action.ts";
import { countsOf, refusalKey } from "../../shared/policy/counters.ts";
import { COUNTERS_CONFIG_MAP, LIFEBOAT_NAMESPACE } from "../../shared/policy/names.ts";
import { type Behaviour, json, status } from "../functions/support/stub-server.ts";
import { startTestCluster } from "../functions/support/test-cluster.ts";
import * as fixtures from "../policy/fixtures.ts";
import { canned, connectTo, SETTINGS } from "./connected.ts";

const MOVED = { verb: "Count", cause: "Preemption", outcome: "Moved" } as const;
const GONE = { verb: "Count", cause: "ApiEviction", outcome: "Gone" } as const;

const world = await startTestCluster();
afterAll(() => world.stop());
const cluster = connectTo(world.entry);

const key = { namespace: LIFEBOAT_NAMESPACE, name: COUNTERS_CONFIG_MAP };
const counted = async () => countsOf(await cluster.getCounters()).evacuations.filter(({ count }) => count > 0);

describe("in an API server", () => {
  test("the first one makes them, others add", async () => {
    expect(await counted()).toEqual([]);
    for (const action of [MOVED, GONE, MOVED]) expect(await cluster.act(action, SETTINGS)).toBe("Done");
    expect(await counted()).toEqual([
      { cause: "ApiEviction", outcome: "Gone", count: 1 },
      { cause: "Preemption", outcome: "Moved", count: 2 },
    ]);
    const { metadata } = (await world.client.get(core.configMaps, key)) ?? {};
    expect(metadata?.labels).toEqual({ "app.kubernetes.io/managed-by": "lifeboat" });
  });

  test("what is no number begins anew, what is not ours stays", async () => {
    const data = { "Preemption.Moved": "many", theirs: "kept" };
    await world.client.patch(core.configMaps, key, { type: "merge", body: { data } });
    expect(await cluster.act(MOVED, SETTINGS)).toBe("Done");
    expect((await world.client.get(core.configMaps, key))?.data).toMatchObject({
      "Preemption.Moved": "1",
      theirs: "kept",
    });
  });

  test("several at the same time: none is counted twice", async () => {
    await world.client.delete(core.configMaps, key);
    const results = await Promise.all(Array.from({ length: 6 }, () => cluster.act(MOVED, SETTINGS)));
    const done = results.filter((result) => result === "Done").length;
    expect(await counted()).toEqual([{ cause: "Preemption", outcome: "Moved", count: done }]);
    expect(done).toBeGreaterThan(0);
  });
});

test("an Event is counted when it is sent, and not when it is sent again", async () => {
  const vmi = { namespace: "default", name: "web", uid: "u" } as const;
  const told = tell({ ...fixtures.vmi(), ...vmi }, "EvictionRefused", "it cannot move", "pod-uid");
  const refused = { ...told, counter: refusalKey("ApiEviction") };
  for (let i = 0; i < 3; i++) expect(await cluster.act(refused, SETTINGS)).toBe("Done");
  expect(countsOf(await cluster.getCounters()).refusals).toEqual([
    { cause: "ApiEviction", count: 1 },
    { cause: "Descheduler", count: 0 },
  ]);
});

describe("each answer", () => {
  const FOUND = json({ kind: "ConfigMap", metadata: { name: "c", uid: "u", resourceVersion: "7" } });
  const NOTHING = status(404, "NotFound");
  const DONE = json({});

  /** To reads, and to the writes in turn, the last of them for ever. */
  function answering(read: Behaviour, ...writes: readonly Behaviour[]): Behaviour {
    let tried = 0;
    return (response, request) => {
      const answer = request.method === "GET" ? read : writes[Math.min(tried++, writes.length - 1)];
      return (answer ?? DONE)(response, request);
    };
  }

  // prettier-ignore
  test.each<[string, Behaviour, string | RegExp, number]>([
    ["made",                                 answering(NOTHING, DONE),                                        "Done",          2],
    ["added",                                answering(FOUND, DONE),                                          "Done",          2],
    ["another function was faster",          answering(FOUND, status(409, "Conflict"), DONE),                 "Done",          4],
    ["… to make them",                       answering(NOTHING, status(409, "AlreadyExists"), DONE),          "Done",          4],
    ["… three times: not counted",           answering(FOUND, status(409, "Conflict")),                       "Conflict",      6],
    ["removed meanwhile",                    answering(FOUND, NOTHING, DONE),                                 "Done",          4],
    ["may not be read",                      answering(status(403, "Forbidden")),                             /403 Forbidden/, 1],
    ["may not be made",                      answering(NOTHING, status(403, "Forbidden")),                    /403 Forbidden/, 2],
    ["may not be written",                   answering(FOUND, status(403, "Forbidden")),                      /403 Forbidden/, 2],
    ["the server is broken",                 answering(FOUND, status(500, "InternalError")),                  /with 500/,      2],
    ["no ConfigMap",                         answering(json({ kind: "ConfigMap" })),                          /is not what an API server says/, 1],
  ])("%s", async (_, other, expected, requests) => {
    const given = await canned({ other });
    expect(await given.cluster.act(MOVED, SETTINGS).catch(String)).toMatch(expected);
    expect(given.requests).toHaveLength(requests);
  });
});
