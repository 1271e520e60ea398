/** Tests the answer of each route to an unauthenticated caller, and the work that an unauthenticated request causes. */
import { afterEach, expect, test, vi } from "vitest";
import { createApp } from "../../../functions/app.ts";
import { createPages } from "../../../functions/page/routes.ts";
import { newIsolateState } from "../../../functions/target.ts";
import { clusterWith } from "../../support/cluster/one-vm.ts";
import { entry, newPlatform, openApp } from "../../support/app.ts";
import { NOW } from "../../support/fixtures.ts";
import { evictionReview } from "../../support/reviews.ts";

/** Returns the app's routes. Routes for all methods are omitted, because they lead to the pages. */
const listed = ({ routes }: Pick<ReturnType<typeof createApp>, "routes">) =>
  routes.filter(({ method }) => method !== "ALL").map(({ method, path }) => [method, path] as const);
const { platform } = newPlatform();
const ROUTES = listed(createApp(platform, newIsolateState()));
const PAGES = listed(createPages(platform, newIsolateState()));

const OPEN = new Set(["/healthz", "/readyz"]);

const relaySecret = [
  "whsec_dGhpcnR5LXR3byBieXRlcyBvZiBhIHNlY3JldC4uLi4=",
  "whsec_dGhlIG9sZCBzZWNyZXQgb2YgdGhlIHJlbGF5",
];
const server = clusterWith();
const unbound = entry("binding:OF_NOTHING", { relaySecret });
const app = openApp({ CLUSTERS: { prod: entry(server.url, { relaySecret }), unbound } });
afterEach(() => {
  vi.restoreAllMocks();
  expect(server.requests).toEqual([]);
});

async function ask(method: string, path: string, cluster: string) {
  const body = method === "POST" ? { body: JSON.stringify(evictionReview()) } : {};
  const filledIn = path.replaceAll(/:(\w+)/g, (_, name: string) => (name === "cluster" ? cluster : "x"));
  const answer = await app.request(filledIn, { method, ...body });
  await app.settle();
  return answer;
}

test.each(ROUTES)(
  "%s %s refuses an unauthenticated request, and does not show whether the cluster's API server is known",
  async (method, path) => {
    for (const cluster of ["prod", "unbound"]) {
      const { code, text } = await ask(method, path, cluster);
      expect(code).toBe(OPEN.has(path) ? 200 : 401);
      expect(text).not.toContain("OF_NOTHING");
    }
  },
);

test.each(PAGES)("%s %s shows an unauthenticated visitor only the form to sign in", async (method, path) => {
  for (const cluster of ["prod", "unbound", "none"]) {
    const { code, text } = await ask(method, path, cluster);
    const isOpen = path.startsWith("/assets/") || (method === "GET" && path === "/signin");
    const isForm = method === "POST";
    expect(code).toBe(isOpen ? 200 : isForm ? 403 : 303);
    expect(text).not.toMatch(/OF_NOTHING|prod/);
  }
});

test("an unauthenticated request computes one signature per secret, for any number of claimed signatures", async () => {
  const digest = vi.spyOn(crypto.subtle, "digest");
  const headers = {
    "content-type": "application/cloudevents-batch+json",
    "webhook-id": "forged",
    "webhook-timestamp": String(NOW.getTime() / 1000),
    "webhook-signature": Array.from({ length: 30_000 }, () => "v1,x").join(" "),
  };
  const { code } = await app.request("/clusters/prod/events", { method: "POST", headers, body: "[]" });
  expect(code).toBe(401);
  // The limit is 8 signatures × 2 secrets × 2 digests for a comparison.
  expect(digest.mock.calls.length).toBeLessThanOrEqual(32);
});

test("unauthenticated requests look up each name once in 30 s, and at most a hundred names", async () => {
  const get = vi.fn(async () => null);
  const list = vi.fn(async () => ({ keys: [{ name: "prod" }], list_complete: true }));
  const there = openApp({ CLUSTER_REGISTRY: { get, list } });
  const ask = async (name: string) => (await there.request(`/clusters/${name}/reconcile`, { method: "POST" })).code;
  for (let i = 0; i < 3; i++) expect(await ask("other")).toBe(404);
  expect([get.mock.calls, list.mock.calls]).toEqual([[["other"]], []]);
  for (let i = 0; i < 300; i++) expect(await ask(`c${i}`)).toBe(404);
  expect([get.mock.calls.length, list.mock.calls.length]).toEqual([100, 1]);
  expect(await ask("prod")).toBe(404);
  expect(get.mock.lastCall).toEqual(["prod"]);
  there.pass(31);
  expect(await ask("other")).toBe(404);
  expect([get.mock.calls.length, list.mock.calls.length]).toEqual([102, 1]);
});

test("visits to the form before the sign-in cost the registry one list in 30 s", async () => {
  const list = vi.fn(async () => ({ keys: [{ name: "prod" }], list_complete: true }));
  const there = openApp({ CLUSTER_REGISTRY: { get: async () => null, list } });
  for (let i = 0; i < 5; i++) expect(await there.request("/signin")).toMatchObject({ code: 200 });
  expect(list).toHaveBeenCalledTimes(1);
});
