/** Tests routes, readiness, and the answers for unknown routes. */
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
])("%s %s is an unknown route", async (method, path) => {
  const error = { reason: "NotFound", message: "no such route" };
  const answer = await openApp({ CLUSTERS }).request(path, { method, headers: asOperator });
  expect(answer).toMatchObject({ code: 404, body: { error } });
});

test("an unknown address gets a page in a browser and JSON in a program", async () => {
  for (const path of ["/nosuch", "/clusters/prod/nosuch"]) {
    const seen = await openApp({ CLUSTERS }).request(path, { headers: { accept: "text/html,*/*" } });
    expect(seen).toMatchObject({ code: 404, contentType: expect.stringContaining("text/html") });
    expect(seen.text).toContain("No such page");
    const read = await openApp({ CLUSTERS }).request(path, { headers: { accept: "application/json" } });
    expect(read).toMatchObject({ code: 404, body: { error: { reason: "NotFound" } } });
  }
});

test("/healthz reports only that the Worker runs", async () => {
  expect(await openApp({}).request("/healthz")).toMatchObject({ code: 200, body: { healthy: true } });
});

const registry = { get: async () => null, list: async () => ({ keys: [], list_complete: true }) };
// prettier-ignore
test.each([
  ["with CLUSTERS",                  { CLUSTERS },                                                            200],
  ["with only a registry",           { CLUSTER_REGISTRY: registry },                                          200],
  ["without configuration",          {},                                                                      503],
  ["with CLUSTERS that is not JSON", { CLUSTERS: "{prod" },                                                   503],
  ["with a malformed entry",         { CLUSTERS: { ...CLUSTERS, "secret-name": { server: "secret-server" } } }, 503],
])("the deployment %s is ready or not: $2", async (_, env, code) => {
  const answer = await openApp(env).request("/readyz");
  const message = "expected a JSON object of valid entries; each scheduled run logs what is wrong";
  const error = { reason: "InvalidConfiguration", field: "CLUSTERS", message };
  expect(answer).toMatchObject({ code, body: code === 200 ? { ready: true } : { error } });
  expect(answer.text).not.toMatch(/secret|prod/);
});

// prettier-ignore
test.each([
  ["accepts Lifeboat's token",               json({ major: "1" }),         200, true ],
  ["does not accept Lifeboat's token (401)", status(401, "Unauthorized"),  503, false],
])("a cluster whose API server %s is ready or not", async (words, behaviour, code, ready) => {
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
  "/%s of an unreachable cluster reports the reason and no text of its answer",
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
])("the failure %o of a cluster is answered %i", (failure, code, message) => {
  const rejection = rejectionOf(new ClusterError(failure), () => undefined);
  expect(renderRejection(rejection)).toEqual({ code, body: { error: { reason: "ClusterUnavailable", message } } });
});

// prettier-ignore
test.each([
  ["a VM with an invalid name",    "vms/apps/Web"],
  ["a namespace that is a path",   "vms/..%2Fapps/web"],
  ["a node with an invalid name",  "nodes/a,spec.nodeName!=b"],
])("%s is not found, and Lifeboat sends no request for the object", async (_, path) => {
  const cluster = clusterWith({ "get virtualmachineinstances": notFound });
  const app = openApp(cluster);
  const grant = { cluster: "prod", name: "jane", until: NOW.getTime() / 1000 + 60 };
  const cookie = `${COOKIE}=${await signGrant(grant, { ...entry("https://any"), headers: {} })}`;
  const { code } = await app.request(`/fleet/prod/${path}`, { headers: { accept: "text/html", cookie } });
  expect(code).toBe(404);
  const asked = cluster.requests.map((one) => `${one.path}?${one.query.toString()}`);
  expect(asked.filter((one) => /\.\.|Web|a(?:\/|%2F)b|nodeName/.test(one))).toEqual([]);
});
