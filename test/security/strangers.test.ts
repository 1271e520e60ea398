/** What a request costs that nobody has authenticated, and what one with a token can be multiplied to. */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { questionOf, startCannedCluster } from "../functions/support/canned-cluster.ts";
import { type Doors, entry, NOW, openDoors } from "../functions/support/doors.ts";
import { evictionReview, review } from "../functions/support/reviews.ts";
import type { StubServer } from "../functions/support/stub-server.ts";
import { filledIn, ROUTES } from "./routes.ts";

const SECRET = "whsec_dGhpcnR5LXR3byBieXRlcyBvZiBhIHNlY3JldC4uLi4=";
/** What anybody may know. */
const OPEN = new Set(["/healthz", "/readyz"]);

let server: StubServer;
let doors: Doors;
beforeAll(async () => {
  server = await startCannedCluster();
  const relaySecret = [SECRET, SECRET];
  const unbound = entry("binding:OF_NOTHING", { relaySecret });
  doors = openDoors({ CLUSTERS: { prod: entry(server.url, { relaySecret }), unbound } });
});
afterAll(() => server.stop());
afterEach(() => vi.restoreAllMocks());

describe("a stranger, at every route there is", () => {
  test.each(ROUTES)("%s %s", async (method, path) => {
    const before = server.requests.length;
    const body = method === "POST" ? { body: JSON.stringify(evictionReview()) } : {};
    const answer = await doors.request(filledIn(path, { cluster: "prod" }), { method, ...body });
    await doors.settle();
    expect(answer.code).toBe(OPEN.has(path) ? 200 : 401);
    expect(server.requests).toHaveLength(before);
  });

  test.each(ROUTES)("%s %s: is not told that its API server cannot be found", async (method, path) => {
    const { code, text } = await doors.request(filledIn(path, { cluster: "unbound" }), { method });
    expect(code).toBe(OPEN.has(path) ? 200 : 401);
    expect(text).not.toContain("OF_NOTHING");
  });

  test("has a signature of each secret computed, however many are claimed", async () => {
    const digest = vi.spyOn(crypto.subtle, "digest");
    const headers = {
      "content-type": "application/cloudevents-batch+json",
      "webhook-id": "forged",
      "webhook-timestamp": String(NOW.getTime() / 1000),
      "webhook-signature": Array.from({ length: 30_000 }, () => "v1,x").join(" "),
    };
    const answer = await doors.request("/clusters/prod/events", { method: "POST", headers, body: "[]" });
    expect(answer.code).toBe(401);
    // Eight signatures, two secrets, both sides of a comparison.
    expect(digest.mock.calls.length).toBeLessThanOrEqual(32);
  });

  test("costs the registry one look-up, where there is one", async () => {
    const asked: string[] = [];
    const get = async (name: string) => {
      asked.push(name);
      return null;
    };
    const there = openDoors({ CLUSTER_REGISTRY: { get, list: () => Promise.reject(new Error("not asked")) } });
    expect(await there.request("/clusters/other/reconcile", { method: "POST" })).toMatchObject({ code: 404 });
    expect(asked).toEqual(["other"]);
  });
});

test("twenty evictions at once cost nine requests each, one look at the VM after the answer included", async () => {
  const TIMES = 20;
  const busy = await startCannedCluster();
  const there = openDoors({ CLUSTERS: { prod: entry(busy.url) } });
  await review(there);
  await there.settle();
  const before = busy.requests.length;
  await Promise.all(Array.from({ length: TIMES }, () => review(there)));
  await there.settle();
  const asked = Map.groupBy(busy.requests.slice(before), (request) => questionOf(request));
  const each = Object.fromEntries([...asked].map(([question, { length }]) => [question, length / TIMES]));
  // Evacuations are listed before the answer and after it; the settings are known.
  expect(each).toEqual({ pod: 1, vmi: 1, list: 2, begin: 1, grow: 1, mark: 1, event: 1, budget: 1 });
  await busy.stop();
});
