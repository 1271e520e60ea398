/** Routes and the format of every answer that is not the one asked for. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClusterError, describeFailure, type Failure } from "../../shared/cluster/failure.ts";
import { type Rejection, renderRejection } from "../../functions/rejection.ts";
import { notFound, startCannedCluster } from "./support/canned-cluster.ts";
import { asOperator, asWebhook, type Doors, entry, openDoors } from "./support/doors.ts";
import type { StubServer } from "./support/stub-server.ts";

let server: StubServer;
let doors: Doors;
beforeAll(async () => {
  server = await startCannedCluster({ pod: notFound, vmi: notFound });
  doors = openDoors({ CLUSTERS: { prod: entry(server.url) } });
});
afterAll(() => server.stop());

describe("unknown routes", () => {
  // prettier-ignore
  test.each([
    ["GET",    "/"],
    ["GET",    "/clusters"],
    ["GET",    "/clusters/prod"],
    ["GET",    "/clusters/prod/admission/evictions"],
    ["PUT",    "/clusters/prod/admission/evictions"],
    ["POST",   "/clusters/prod/admission/evictions/"],
    ["POST",   "/clusters/prod/admission/evictions/the-webhook-token/more"],
    ["POST",   "/clusters/prod/admission/unknown"],
    ["GET",    "/clusters/prod/reconcile"],
    ["POST",   "/clusters/prod/metrics"],
    ["GET",    "/metrics"],
    ["POST",   "/clusters/prod/evacuations"],
    ["DELETE", "/clusters/prod/evacuations"],
    ["DELETE", "/clusters/prod/evacuations/apps"],
    ["GET",    "/clusters/prod/explain/pods/apps"],
    ["POST",   "/healthz"],
    ["POST",   "/readyz"],
  ])("%s %s", async (method, path) => {
    const error = { reason: "NotFound", message: "no such route" };
    const answer = await doors.request(path, { method, headers: asOperator });
    expect(answer).toMatchObject({ code: 404, body: { error } });
  });
});

test("/healthz tells that the Worker runs, and nothing else", async () => {
  expect(await openDoors({}).request("/healthz")).toMatchObject({ code: 200, body: { healthy: true } });
});

describe("objects that do not exist", () => {
  // prettier-ignore
  test.each([
    ["a pod",                                     "GET",    "explain/pods/apps/virt-launcher-web-abcde", "PodNotFound"],
    ["a pod of a name that no object can have",   "GET",    "explain/pods/apps/Web",                     "PodNotFound"],
    ["a namespace that leads elsewhere",          "GET",    "explain/pods/..%2Fapps/virt-launcher-web-abcde", "PodNotFound"],
    ["a name with a slash",                       "GET",    "explain/pods/apps/a%2Fb",                   "PodNotFound"],
    ["a VMI",                                     "DELETE", "evacuations/apps/web",                      "NotEvacuating"],
    ["a VMI of a name that no object can have",   "DELETE", "evacuations/apps/..%2Fweb",                 "NotEvacuating"],
  ])("%s", async (_, method, path, reason) => {
    const answer = await doors.request(`/clusters/prod/${path}`, { method, headers: asOperator });
    expect(answer).toMatchObject({ code: 404, body: { error: { reason, field: "name" } } });
  });

  test("are not looked for under names that no object can have", () => {
    expect(server.requests.filter(({ path }) => /\.\.|Web|a\/b/.test(path))).toEqual([]);
  });
});

const failed = (failure: Failure): Rejection => ({ reason: "ClusterUnavailable", error: new ClusterError(failure) });
const request = "GET /api/v1/pods";

// prettier-ignore
const RENDERED: readonly (readonly [Rejection, number, string | undefined, string])[] = [
  [{ reason: "NotFound" },                                                 404, undefined, "no such route"],
  [{ reason: "UnknownCluster" },                                           404, "cluster", "no such cluster in CLUSTERS"],
  [{ reason: "Unauthorized" },                                             401, undefined, "expected the cluster's token, as Authorization: Bearer or as the last segment of the path"],
  [{ reason: "InvalidConfiguration", field: "CLUSTERS", message: "expected JSON" }, 503, "CLUSTERS", "expected JSON"],
  [{ reason: "BadRequest", field: "body", message: "expected JSON" },      400, "body",    "expected JSON"],
  [{ reason: "PayloadTooLarge", bytes: 7 },                                413, "body",    "expected a body of at most 7 bytes"],
  [{ reason: "PodNotFound" },                                              404, "name",    "no such pod in the cluster"],
  [{ reason: "NotEvacuating" },                                            404, "name",    "no evacuation of this VMI is under way"],
  [{ reason: "DrainTaint", node: "node01", taint: "kubevirt.io/drain" },   409, undefined, 'node "node01" carries the drain taint kubevirt.io/drain: remove that first'],
  [{ reason: "Blind" },                                                    503, undefined, "nothing can be learnt about the pod; the log of the Worker says why"],
  [{ reason: "InternalError" },                                            500, undefined, "an unexpected error; the log of the Worker has it"],
  [failed({ reason: "Unreachable" }),                                      503, undefined, "the API server cannot be reached"],
  [failed({ reason: "DeadlineExceeded" }),                                 504, undefined, "the API server did not answer in time"],
  [failed({ reason: "Refused", code: 401, request }),                      502, undefined, "the API server answered GET /api/v1/pods with 401 Unauthorized: the token is not valid"],
  [failed({ reason: "Refused", code: 403, request }),                      502, undefined, "the API server answered GET /api/v1/pods with 403 Forbidden: the service account lacks a permission"],
  [failed({ reason: "Refused", code: 429, request }),                      502, undefined, "the API server answered GET /api/v1/pods with 429 Too Many Requests"],
  [failed({ reason: "Refused", code: 500, request }),                      502, undefined, "the API server answered GET /api/v1/pods with 500"],
  [failed({ reason: "Unintelligible", request, issue: "not JSON" }),       502, undefined, "the answer to GET /api/v1/pods is not what an API server says: not JSON"],
  [failed({ reason: "MarkNotKept", vmi: "apps/web" }),                     502, undefined, 'KubeVirt did not keep the mark on VMI "apps/web": is its namespace known and impersonation granted?'],
];

test.each(RENDERED)("%o", (rejection, code, field, message) => {
  const error = { reason: rejection.reason, ...(field === undefined ? {} : { field }), message };
  expect(renderRejection(rejection)).toEqual({ code, body: { error } });
});

test("the sentence of a failure is also its message", () => {
  const failure = { reason: "Unreachable" } as const;
  expect(new ClusterError(failure).message).toBe(describeFailure(failure));
});

test("a defect of our own is said to be one, and logged without the answer's telling more", async () => {
  const broken = { get: () => Promise.reject(new Error("KV: internal")), list: () => Promise.reject(new Error("KV")) };
  const there = openDoors({ CLUSTER_REGISTRY: broken });
  const answer = await there.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  expect(answer).toMatchObject({ code: 500, body: { error: { reason: "InternalError" } } });
  expect(answer.text).not.toContain("KV");
  expect(there.log).toMatchObject([{ level: "error", message: "unexpected error" }]);
});
