/** Routes and the format of every answer that is not the one asked for. */
import { describe, expect, test } from "vitest";
import { ClusterError, type Failure } from "../../../shared/kube/failures.ts";
import { COOKIE, signGrant } from "../../../functions/page/session.ts";
import { rejectionOf, renderRejection } from "../../../functions/errors.ts";
import { notFound } from "../../support/canned-cluster.ts";
import { openCanned } from "../../support/canned-cluster.ts";
import { asOperator, entry, NOW, openDoors } from "../../support/doors.ts";
import * as stub from "../../support/answers.ts";

describe("unknown routes", () => {
  // prettier-ignore
  test.each([
    ["GET",    "/clusters/prod/admission/evictions"],
    ["POST",   "/clusters/prod/admission/evictions/"],
    ["POST",   "/clusters/prod/admission/evictions/the-webhook-token/more"],
    ["POST",   "/clusters/prod/admission/unknown"],
    ["GET",    "/clusters/prod/reconcile"],
    ["GET",    "/metrics"],
    ["GET",    "/clusters/prod/evacuations"],
    ["GET",    "/clusters/prod/explain/pods/apps/web"],
  ])("%s %s", async (method, path) => {
    const error = { reason: "NotFound", message: "no such route" };
    const doors = openDoors({ CLUSTERS: { prod: entry("https://prod.example.com") } });
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
    ["a VM of a name that no object can have",    "vms/apps/Web"],
    ["a namespace that leads elsewhere",          "vms/..%2Fapps/web"],
    ["a node of a name that no object can have",  "nodes/a,spec.nodeName!=b"],
  ])("are not looked for under names that no object can have: %s", async (_, path) => {
    const [server, doors] = openCanned({ vmi: notFound });
    const grant = { cluster: "prod", name: "jane", mayAct: true, until: NOW.getTime() / 1000 + 60 };
    const cookie = `${COOKIE}=${await signGrant(grant, { ...entry(server.url), headers: {} })}`;
    const { code } = await doors.request(`/fleet/prod/${path}`, { headers: { accept: "text/html", cookie } });
    expect(code).toBe(404);
    const asked = server.requests.map((one) => `${one.path}?${one.query.toString()}`);
    expect(asked.filter((one) => /\.\.|Web|a(?:\/|%2F)b|nodeName/.test(one))).toEqual([]);
  });
});

const request = "GET /api/v1/pods";

// prettier-ignore
test.each<[Failure, number, string]>([
  [{ reason: "Unreachable" },                                 503, "the API server cannot be reached"],
  [{ reason: "DeadlineExceeded" },                            504, "the API server did not answer in time"],
  [{ reason: "Refused", code: 401, request },                 502, "the API server answered GET /api/v1/pods with 401 Unauthorized: the token is not valid"],
  [{ reason: "Refused", code: 403, request },                 502, "the API server answered GET /api/v1/pods with 403 Forbidden: the service account lacks a permission"],
  [{ reason: "Unintelligible", request, issue: "not JSON" },  502, "the answer to GET /api/v1/pods is not what an API server says: not JSON"],
])("a cluster that cannot be asked: %o", (failure, code, message) => {
  const rejection = rejectionOf(new ClusterError(failure), () => undefined);
  expect(renderRejection(rejection)).toEqual({ code, body: { error: { reason: "ClusterUnavailable", message } } });
});

// prettier-ignore
test.each([
  ["GET",    "readyz"],
  ["GET",    "metrics"],
])("… as every door says, and nothing that was answered: %s %s", async (method, path) => {
  for (const [behaviour, code] of [[stub.hangingUp, 503], [stub.status(403, "F", stub.SECRET_OF_UPSTREAM), 502], [stub.html(200), 502]] as const) {
    const [, there] = openCanned(behaviour);
    const answer = await there.request(`/clusters/prod/${path}`, { method, headers: asOperator });
    expect(answer).toMatchObject({ code, body: { error: { reason: "ClusterUnavailable" } } });
    expect(answer.text).not.toContain(stub.SECRET_OF_UPSTREAM);
  }
});
