/**
 * Tests which clusters Lifeboat knows, and their addresses: from the variable CLUSTERS, from the registry in Workers
 * KV, and from bindings of the Worker.
 */
import { expect, test } from "vitest";
import type { ClusterRegistry } from "../../../functions/env.ts";
import { clusterWith } from "../../support/cluster/one-vm.ts";
import { asWebhook, entry, openApp, type TestEnv, TOKENS } from "../../support/app.ts";
import { NOW } from "../../support/fixtures.ts";
import { evictionReview, refusal } from "../../support/reviews.ts";
import { REGISTRY_KEY, sealed } from "../../support/sealed.ts";
import { SECRET_OF_UPSTREAM } from "../../support/answers.ts";
import { reach } from "../../support/cluster/network.ts";

const TRIGGERED = refusal('Eviction triggered evacuation of VMI "apps/web"');

/** Creates a Workers KV namespace with two keys per page. The entries are encrypted unless `plain` is set. */
function registry(entries: Readonly<Record<string, unknown>>, plain = false): ClusterRegistry {
  const names = Object.keys(entries).map((name) => ({ name }));
  return {
    get: async (name) => {
      const text = name in entries ? JSON.stringify(entries[name]) : null;
      return text === null || plain ? text : await sealed(name, text);
    },
    list: async ({ cursor = "0" }) => {
      const end = Number(cursor) + 2;
      const keys = names.slice(Number(cursor), end);
      return end >= names.length ? { keys, list_complete: true } : { keys, list_complete: false, cursor: String(end) };
    },
  };
}

const outage: ClusterRegistry = {
  get: () => Promise.reject(new Error("KV GET failed: 500")),
  list: () => Promise.reject(new Error("KV LIST failed: 500")),
};

const [own, far] = [clusterWith(), clusterWith()];
const CLUSTERS = { prod: entry(own.url) };
const fourth = { a: "", b: "", c: "", prod: entry(far.url) };

// prettier-ignore
test.each<[string, TestEnv, asked: typeof own]>([
  ["only in the registry, on its second page",  { CLUSTER_REGISTRY: registry(fourth) },           far],
  ["in both, of which CLUSTERS wins",           { CLUSTERS, CLUSTER_REGISTRY: registry(fourth) }, own],
  ["in CLUSTERS while the registry fails",      { CLUSTERS, CLUSTER_REGISTRY: outage },           own],
])("evictions and ticks reach the API server of a cluster %s", async (_, env, asked) => {
  const app = openApp(env);
  const before = [own, far].map(({ requests }) => requests.length);
  const seen = () => [own, far].map(({ requests }, i) => requests.length > (before[i] ?? 0));
  expect(await app.evict(evictionReview())).toMatchObject({ code: 200, body: TRIGGERED });
  await app.settle();
  const reviewed = asked.requests.length;
  await app.tick(NOW);
  expect(seen()).toEqual([asked === own, asked === far]);
  expect(asked.requests.length).toBeGreaterThan(reviewed);
});

const OTHERS = { ...registry({ prod: "" }), get: () => sealed("other", JSON.stringify(entry("https://x"))) };
const FAR = registry({ prod: entry("https://x") });
const NO_SERVER = "expected an https:// URL, http:// to loopback, or binding:NAME of a Workers VPC service";

// prettier-ignore
test.each<[string, TestEnv, string, string]>([
  ["a wrong server",                { CLUSTERS: { prod: entry("http://api.example.com") } },               "CLUSTERS.prod.server",         NO_SERVER],
  ["an unknown key",                { CLUSTERS: { prod: entry("https://x", { Token: "secret-value" }) } }, "CLUSTERS.prod.Token",          "unknown key"],
  ["text that is not JSON",         { CLUSTERS: "{secret-value" },                                         "CLUSTERS",                     "expected JSON"],
  ["a missing binding",             { CLUSTERS: { prod: entry("binding:PROD_API") } },                     "server",                       "expected a Workers VPC binding named PROD_API in this Worker's environment"],
  ["a wrong server in KV",          { CLUSTER_REGISTRY: registry({ prod: entry("ftp://x") }) },            "CLUSTER_REGISTRY.prod.server", NO_SERVER],
  ["a plain entry in KV",           { CLUSTER_REGISTRY: registry({ prod: entry("https://x") }, true) },    "CLUSTER_REGISTRY.prod",        "expected an encrypted entry"],
  ["another cluster's entry in KV", { CLUSTER_REGISTRY: OTHERS },                                          "CLUSTER_REGISTRY.prod",        "encrypted for the cluster of this name"],
  ["a wrong key for KV",            { CLUSTER_REGISTRY: FAR, REGISTRY_KEY: "secret-value" },               "REGISTRY_KEY",                 "expected one or more keys"],
])("with %s, every endpoint names the wrong field and shows no secret", async (...[, env, field, message]) => {
  const app = openApp(env);
  const error = { reason: "InvalidConfiguration", field, message: expect.stringContaining(message) };
  const scan = await app.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  for (const answer of [scan, await app.evict(evictionReview())]) {
    expect(answer).toMatchObject({ code: 503, body: { error } });
    for (const value of [...Object.values(TOKENS), "secret-value", REGISTRY_KEY]) expect(answer.text).not.toContain(value);
  }
});

test("a Workers VPC binding is called by the host name in every API server's certificate", async () => {
  const urls: string[] = [];
  const binding = {
    fetch: (url: string, init: RequestInit) => {
      urls.push(url);
      return reach(url.replace("https://kubernetes.default.svc", own.url), init);
    },
  };
  const app = openApp({ CLUSTERS: { prod: entry("binding:PROD_API") }, PROD_API: binding });
  expect(await app.evict(evictionReview())).toMatchObject({ body: TRIGGERED });
  await app.settle();
  expect(urls[0]).toBe("https://kubernetes.default.svc/api/v1/namespaces/apps/pods/virt-launcher-web-abcde");
});

test("an entry's headers are sent with every request to its cluster, and nowhere else", async () => {
  const server = clusterWith();
  const headers = { "CF-Access-Client-Secret": SECRET_OF_UPSTREAM };
  const app = openApp({ CLUSTERS: { prod: entry(`${server.url}/`, { headers }) } });
  const answer = await app.evict(evictionReview());
  await app.settle();
  const sent = new Set(server.requests.map((request) => request.headers["cf-access-client-secret"]));
  expect(sent).toEqual(new Set([SECRET_OF_UPSTREAM]));
  expect(answer.text + JSON.stringify(app.log)).not.toContain(SECRET_OF_UPSTREAM);
});
