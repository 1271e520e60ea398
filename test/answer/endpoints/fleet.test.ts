/** Which clusters there are, and how each is reached: CLUSTERS, the registry, bindings. */
import { beforeEach, describe, expect, test } from "vitest";
import type { ClusterRegistry } from "../../../functions/env.ts";
import { startCannedCluster } from "../../support/canned-cluster.ts";
import { asWebhook, type Doors, entry, NOW, openDoors, TOKENS, type TestEnv } from "../../support/doors.ts";
import { evictionReview, refusal, review, UID } from "../../support/reviews.ts";
import { REGISTRY_KEY, sealed } from "../../support/sealed.ts";
import { SECRET_OF_UPSTREAM, reach } from "../../support/answers.ts";

const TRIGGERED = 'Eviction triggered evacuation of VMI "apps/web"';

const secret = startCannedCluster();
const far = startCannedCluster();

let seen: { secret: number; far: number };
beforeEach(() => (seen = { secret: secret.requests.length, far: far.requests.length }));
const isAsked = (which: "secret" | "far") => (which === "secret" ? secret : far).requests.length > seen[which];

/** A KV namespace, two keys a page, encrypted but for `plain`. */
function registry(entries: Readonly<Record<string, unknown>>, plain = false): ClusterRegistry {
  const texts = new Map(
    Object.entries(entries).map(([name, e]) => [name, typeof e === "string" ? e : JSON.stringify(e)]),
  );
  const names = [...texts.keys()].map((name) => ({ name }));
  return {
    get: async (name) => {
      const text = texts.get(name) ?? null;
      return text === null || plain ? text : await sealed(name, text);
    },
    list: async ({ cursor = "0" }) => {
      const end = Number(cursor) + 2;
      const keys = names.slice(Number(cursor), end);
      return end >= names.length ? { keys, list_complete: true } : { keys, list_complete: false, cursor: String(end) };
    },
  };
}

/** Entries of which one was kept under another name. */
function swapped(): ClusterRegistry {
  return { ...registry({ prod: "" }), get: () => sealed("other", JSON.stringify(entry("https://x"))) };
}

const outage: ClusterRegistry = {
  get: () => Promise.reject(new Error("KV GET failed: 500")),
  list: () => Promise.reject(new Error("KV LIST failed: 500")),
};

describe("the registry", () => {
  // prettier-ignore
  test.each<[string, (cluster: unknown) => TestEnv, "secret" | "far"]>([
    ["has the cluster",                              (prod) => ({ CLUSTER_REGISTRY: registry({ prod }) }),                           "far"],
    ["has it on its third page",                     (prod) => ({ CLUSTER_REGISTRY: registry({ a: "", b: "", c: "", d: "", prod }) }), "far"],
    ["has it too: CLUSTERS wins",                    (prod) => ({ CLUSTERS: { prod: entry(secret.url) }, CLUSTER_REGISTRY: registry({ prod }) }), "secret"],
    ["fails, but CLUSTERS has it",                   () => ({ CLUSTERS: { prod: entry(secret.url) }, CLUSTER_REGISTRY: outage }),   "secret"],
  ])("%s", async (_, env, asked) => {
    const doors = openDoors(env(entry(far.url)));
    expect(await review(doors)).toMatchObject({ code: 200, body: refusal(TRIGGERED) });
    await doors.settle();
    expect(isAsked(asked)).toBe(true);
    expect(isAsked(asked === "far" ? "secret" : "far")).toBe(false);
    seen = { secret: secret.requests.length, far: far.requests.length };
    await doors.tick(NOW);
    expect(isAsked(asked)).toBe(true);
    expect(isAsked(asked === "far" ? "secret" : "far")).toBe(false);
  });
});

describe("a malformed entry", () => {
  const noServer = "expected an https:// URL, http:// to loopback, or binding:NAME of a Workers VPC service";
  // prettier-ignore
  const MALFORMED: readonly (readonly [string, TestEnv, string, string])[] = [
    ["a bad server",             { CLUSTERS: { prod: entry("http://api.example.com") } },                "CLUSTERS.prod.server",         noServer],
    ["a missing token",          { CLUSTERS: { prod: entry("https://x", { token: undefined }) } },       "CLUSTERS.prod.token",          "expected a token"],
    ["an unknown key",           { CLUSTERS: { prod: entry("https://x", { Token: "secret-value" }) } },  "CLUSTERS.prod.Token",          "unknown key"],
    ["of the registry",          { CLUSTER_REGISTRY: registry({ prod: entry("ftp://x") }) },             "CLUSTER_REGISTRY.prod.server", noServer],
    ["of the registry, not encrypted", { CLUSTER_REGISTRY: registry({ prod: entry("https://x") }, true) }, "CLUSTER_REGISTRY.prod", "expected an encrypted entry"],
    ["of the registry, another's", { CLUSTER_REGISTRY: swapped() },                                      "CLUSTER_REGISTRY.prod",        "encrypted for this name"],
    ["of the registry, without its key", { CLUSTER_REGISTRY: registry({ prod: entry("https://x") }), REGISTRY_KEY: "secret-value" }, "REGISTRY_KEY", "expected one or more keys"],
    ["all of CLUSTERS, no JSON", { CLUSTERS: "{secret-value" },                                          "CLUSTERS",                     "expected JSON"],
    ["a binding that is missing", { CLUSTERS: { prod: entry("binding:PROD_API") } },                     "server",                       "expected a Workers VPC binding named PROD_API in this Worker's environment"],
  ];
  const secrets = [...Object.values(TOKENS), "secret-value", REGISTRY_KEY];

  test.each(MALFORMED)(
    "%s: every door says so, naming the field, and no secret",
    async (...[, env, field, message]) => {
      const doors = openDoors(env);
      const scan = () => doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
      const error = { reason: "InvalidConfiguration", field, message: expect.stringContaining(message) };
      for (const answer of [await scan(), await review(doors)]) {
        expect(answer).toMatchObject({ code: 503, body: { error } });
        for (const value of secrets) expect(answer.text).not.toContain(value);
      }
    },
  );

  test("that is not the caller's is not told to a stranger: a missing binding", async () => {
    const doors = openDoors({ CLUSTERS: { prod: entry("binding:PROD_API") } });
    const init = { method: "POST", body: JSON.stringify(evictionReview()) };
    const answer = await doors.request("/clusters/prod/admission/evictions", init);
    expect(answer).toMatchObject({ code: 401 });
    expect(answer.text).not.toContain("PROD_API");
  });
});

describe("a Workers VPC binding", () => {
  test("is fetched from under the name that every API server's certificate has", async () => {
    const urls: string[] = [];
    const binding = {
      fetch: (url: string, init: RequestInit) => {
        urls.push(url);
        return reach(url.replace("https://kubernetes.default.svc", secret.url), init);
      },
    };
    const doors: Doors = openDoors({ CLUSTERS: { prod: entry("binding:PROD_API") }, PROD_API: binding });
    expect(await review(doors)).toMatchObject({ body: refusal(TRIGGERED) });
    await doors.settle();
    expect(urls[0]).toBe("https://kubernetes.default.svc/api/v1/namespaces/apps/pods/virt-launcher-web-abcde");
  });
});

test("headers of the entry go out with every request, and nowhere else", async () => {
  const server = startCannedCluster();
  const headers = { "CF-Access-Client-Secret": SECRET_OF_UPSTREAM };
  const doors = openDoors({ CLUSTERS: { prod: entry(`${server.url}/`, { headers }) } });
  const answer = await review(doors);
  await doors.settle();
  expect(new Set(server.requests.map((r) => r.headers["cf-access-client-secret"]))).toEqual(
    new Set([SECRET_OF_UPSTREAM]),
  );
  expect(answer.text + JSON.stringify(doors.log)).not.toContain(SECRET_OF_UPSTREAM);
  expect(answer.text).toContain(UID);
});
