/** What a request costs that is not authenticated. */
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { startCannedCluster } from "../../support/canned-cluster.ts";
import { type Doors, entry, NOW, openDoors } from "../../support/doors.ts";
import { evictionReview } from "../../support/reviews.ts";
import type { Stub } from "../../support/answers.ts";
import { filledIn, PAGES, ROUTES } from "./routes.ts";

const SECRET = "whsec_dGhpcnR5LXR3byBieXRlcyBvZiBhIHNlY3JldC4uLi4=";
/** What a stranger may know. */
const OPEN = new Set(["/healthz", "/readyz"]);

let server: Stub;
let doors: Doors;
beforeAll(async () => {
  server = startCannedCluster();
  const relaySecret = [SECRET, SECRET];
  const unbound = entry("binding:OF_NOTHING", { relaySecret });
  doors = openDoors({ CLUSTERS: { prod: entry(server.url, { relaySecret }), unbound } });
});
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

  test.each(PAGES)("%s %s: of the pages, no more than the form to sign in", async (method, path) => {
    const before = server.requests.length;
    for (const cluster of ["prod", "unbound", "none"]) {
      const answer = await doors.request(filledIn(path, { cluster }), { method });
      const open = path.startsWith("/assets/") || (method === "GET" && path === "/signin");
      const isForm = method === "POST";
      expect(answer.code).toBe(open ? 200 : isForm ? 403 : 303);
      expect(answer.text).not.toMatch(/OF_NOTHING|prod/);
    }
    expect(server.requests).toHaveLength(before);
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
