/** Routes, whether Lifeboat is ready, and the format of every answer that is not the one asked for. */
import { expect, test } from "vitest";
import { ClusterError, type Failure } from "../../../shared/kube/failures.ts";
import { rejectionOf, renderRejection } from "../../../functions/errors.ts";
import { COOKIE, signGrant } from "../../../functions/page/session.ts";
import { clusterWith, notFound } from "../../support/cluster/one-vm.ts";
import { asOperator, entry, openApp } from "../../support/app.ts";
import { NOW } from "../../support/fixtures.ts";
import { html, hangingUp, json, SECRET_OF_UPSTREAM, status } from "../../support/answers.ts";

const CLUSTERS = { prod: entry("https://prod.example.com") };

// prettier-ignore
test.each([
  ["GET",    "/clusters/prod/admission/evictions"],
  ["POST",   "/clusters/prod/admission/evictions/"],
  ["POST",   "/clusters/prod/admission/evictions/the-webhook-token/more"],
  ["POST",   "/clusters/prod/admission/unknown"],
  ["GET",    "/clusters/prod/reconcile"],
  ["GET",    "/metrics"],
])("unknown routes: %s %s", async (method, path) => {
  const error = { reason: "NotFound", message: "no such route" };
  const answer = await openApp({ CLUSTERS }).request(path, { method, headers: asOperator });
  expect(answer).toMatchObject({ code: 404, body: { error } });
});

test("a person at an address that there is not gets a page, and a stranger's program JSON", async () => {
  for (const path of ["/nosuch", "/clusters/prod/nosuch"]) {
    const seen = await openApp({ CLUSTERS }).request(path, { headers: { accept: "text/html,*/*" } });
    expect(seen).toMatchObject({ code: 404, contentType: expect.stringContaining("text/html") });
    expect(seen.text).toContain("No such page");
    const read = await openApp({ CLUSTERS }).request(path, { headers: { accept: "application/json" } });
    expect(read).toMatchObject({ code: 404, body: { error: { reason: "NotFound" } } });
  }
});

test("/healthz tells that the Worker runs, and nothing else", async () => {
  expect(await openApp({}).request("/healthz")).toMatchObject({ code: 200, body: { healthy: true } });
});

const registry = { get: async () => null, list: async () => ({ keys: [], list_complete: true }) };
// prettier-ignore
test.each([
  ["CLUSTERS parses",          { CLUSTERS },                                                            200],
  ["there is only a registry", { CLUSTER_REGISTRY: registry },                                          200],
  ["nothing is configured",    {},                                                                      503],
  ["CLUSTERS is no JSON",      { CLUSTERS: "{prod" },                                                   503],
  ["one entry is malformed",   { CLUSTERS: { ...CLUSTERS, "secret-name": { server: "secret-server" } } }, 503],
])("ready in general: %s", async (_, env, code) => {
  const answer = await openApp(env).request("/readyz");
  const message = "expected a JSON object of valid entries; the log of the scheduled tick names what is wrong";
  const error = { reason: "InvalidConfiguration", field: "CLUSTERS", message };
  expect(answer).toMatchObject({ code, body: code === 200 ? { ready: true } : { error } });
  expect(answer.text).not.toMatch(/secret|prod/);
});

// prettier-ignore
test.each([
  ["accepts Lifeboat's token",               json({ major: "1" }),         200, true ],
  ["does not accept Lifeboat's token (401)", status(401, "Unauthorized"),  503, false],
])("ready in a cluster, whose API server %s", async (words, behaviour, code, ready) => {
  const cluster = clusterWith(behaviour);
  const app = openApp(cluster);
  const answer = await app.request("/clusters/prod/readyz", { headers: asOperator });
  expect(answer).toMatchObject({ code, body: { ready, message: expect.stringContaining(words) } });
  expect(new Set(cluster.requests.map(({ method, path }) => `${method} ${path}`))).toEqual(new Set(["GET /version"]));
});

// prettier-ignore
const SILENT = [
  [hangingUp,                              503, "the API server cannot be reached"],
  [status(403, "F", SECRET_OF_UPSTREAM),   502, "with 403 Forbidden: the service account lacks a permission"],
  [html(200),                              502, "is not the answer of an API server: not JSON"],
] as const;

test.each(["readyz", "metrics"])(
  "a cluster that cannot be asked: %s says why, and nothing that was answered",
  async (path) => {
    for (const [behaviour, code, why] of SILENT) {
      const app = openApp(clusterWith(behaviour));
      const answer = await app.request(`/clusters/prod/${path}`, { headers: asOperator });
      const error = { reason: "ClusterUnavailable", message: expect.stringContaining(why) };
      expect(answer).toMatchObject({ code, body: { error } });
      expect(answer.text).not.toContain(SECRET_OF_UPSTREAM);
    }
  },
);

// prettier-ignore
test.each<[Failure, number, string]>([
  [{ reason: "DeadlineExceeded" },                           504, "the API server did not answer in time"],
  [{ reason: "Refused", code: 401, request: "GET /pods" },   502, "the API server answered GET /pods with 401 Unauthorized: the token is not valid"],
])("a cluster that cannot be asked: %o", (failure, code, message) => {
  const rejection = rejectionOf(new ClusterError(failure), () => undefined);
  expect(renderRejection(rejection)).toEqual({ code, body: { error: { reason: "ClusterUnavailable", message } } });
});

// prettier-ignore
test.each([
  ["a VM of a name that no object can have",    "vms/apps/Web"],
  ["a namespace that leads elsewhere",          "vms/..%2Fapps/web"],
  ["a node of a name that no object can have",  "nodes/a,spec.nodeName!=b"],
])("objects are not looked for under names that no object can have: %s", async (_, path) => {
  const cluster = clusterWith({ "get virtualmachineinstances": notFound });
  const app = openApp(cluster);
  const grant = { cluster: "prod", name: "jane", until: NOW.getTime() / 1000 + 60 };
  const cookie = `${COOKIE}=${await signGrant(grant, { ...entry("https://any"), headers: {} })}`;
  const { code } = await app.request(`/fleet/prod/${path}`, { headers: { accept: "text/html", cookie } });
  expect(code).toBe(404);
  const asked = cluster.requests.map((one) => `${one.path}?${one.query.toString()}`);
  expect(asked.filter((one) => /\.\.|Web|a(?:\/|%2F)b|nodeName/.test(one))).toEqual([]);
});
