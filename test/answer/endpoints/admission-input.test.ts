/** What may be sent to the admission door, and what each bad input is answered. */
import { describe, expect, test } from "vitest";
import { notFound, openCanned } from "../../support/canned-cluster.ts";
import { asWebhook } from "../../support/doors.ts";
import { allowance, evictionReview, refusal, review } from "../../support/reviews.ts";

const MB = 1024 * 1024;
const PATH = "/clusters/prod/admission/evictions";
const TRIGGERED = 'Eviction triggered evacuation of VMI "apps/web"';

const [, doors] = openCanned();

const send = (body: string, headers: Record<string, string> = {}) =>
  doors.request(PATH, { method: "POST", headers: { ...asWebhook, ...headers }, body });

describe("what is no AdmissionReview is a bad request", () => {
  const { request: _, ...withoutRequest } = evictionReview();
  // prettier-ignore
  test.each([
    ["nothing",                     "",                                                              "body",             "expected JSON"],
    ["not JSON",                    "<html>",                                                        "body",             "expected JSON"],
    ["JSON, but no object",         "[1]",                                                           "body",             expect.stringContaining("expected object")],
    ["another kind",                evictionReview({ review: { kind: "Pod" } }),                     "body.kind",        "expected AdmissionReview"],
    ["version v1beta1",             evictionReview({ review: { apiVersion: "admission.k8s.io/v1beta1" } }), "body.apiVersion", "expected admission.k8s.io/v1"],
    ["no request",                  withoutRequest,                                                  "body.request",     expect.stringContaining("expected object")],
    ["a request without uid",       evictionReview({ request: { uid: undefined } }),                 "body.request.uid", "expected the review's uid"],
    ["a uid of 257 characters",     evictionReview({ request: { uid: "u".repeat(257) } }),           "body.request.uid", "expected the review's uid"],
  ])("%s", async (_, body, field, message) => {
    const answer = await send(typeof body === "string" ? body : JSON.stringify(body));
    expect(answer).toMatchObject({ code: 400, body: { error: { reason: "BadRequest", field, message } } });
  });
});

describe("a review of anything but a pod's eviction is refused, and says why", () => {
  // prettier-ignore
  test.each([
    ["another resource",         { request: resource("configmaps") },                 "request.resource.resource: expected pods"],
    ["another subresource",      { request: { subResource: "binding" } },             "request.subResource: expected eviction"],
    ["another operation",        { request: { operation: "DELETE" } },                "request.operation: expected CREATE"],
    ["no name",                  { request: { name: undefined } },                    "request.name: expected a name"],
    ["no namespace",             { request: { namespace: undefined } },               "request.namespace: expected a name"],
    ["no object",                { request: { object: null } },                       expect.stringContaining("request.object: ")],
    ["another version",          { eviction: { apiVersion: "policy/v2" } },           "request.object.apiVersion: expected policy/v1 or policy/v1beta1"],
    ["another kind",             { eviction: { kind: "Pod" } },                       "request.object.kind: expected Eviction"],
    ["delete options of a kind", { eviction: { deleteOptions: { dryRun: "All" } } },  expect.stringContaining("request.object.deleteOptions.dryRun")],
  ])("%s", async (_, tweak, expected) => {
    const answer = await review(doors, evictionReview(tweak));
    const said = typeof expected === "string" ? `not a review of pods/eviction CREATE: ${expected}` : expected;
    expect(answer).toMatchObject({ code: 200, body: refusal(said) });
  });
});

describe("what API servers send is understood", () => {
  // prettier-ignore
  test.each([
    ["policy/v1",                       {}],
    ["policy/v1beta1",                  { eviction: { apiVersion: "policy/v1beta1" } }],
    ["delete options without dry run",  { eviction: { deleteOptions: { gracePeriodSeconds: 30 } } }],
    ["without dryRun",                  { request: { dryRun: undefined } }],
    ["fields that are new to us",       { request: { requestKind: { kind: "Eviction" }, future: [1] } }],
  ])("%s", async (_, tweak) => {
    expect(await review(doors, evictionReview(tweak))).toMatchObject({ code: 200, body: refusal(TRIGGERED) });
  });

  test("an eviction of a pod that does not exist is nothing to stop", async () => {
    const name = "hp-volume-x";
    const [, there] = openCanned({ pod: notFound });
    expect(await review(there, evictionReview({ request: { name } }))).toMatchObject({ code: 200, body: allowance() });
  });
});

describe("large bodies", () => {
  const tooLarge = { reason: "PayloadTooLarge", field: "body", message: `expected a body of at most ${7 * MB} bytes` };

  test("nor in chunks, of a length that was not announced", async () => {
    const chunks = padded(10 * MB).match(/[^]{1,65536}/g) ?? [];
    const init = {
      method: "POST",
      headers: asWebhook,
      body: ReadableStream.from(chunks.map(bytes)),
      duplex: "half" as const,
    };
    expect(await doors.request(PATH, init)).toMatchObject({ code: 413, body: { error: tooLarge } });
  });

  test("a length that is announced is believed before anything is read", async () => {
    const answer = await send("{}", { "content-length": String(10 * MB) });
    expect(answer).toMatchObject({ code: 413, body: { error: tooLarge } });
  });

  test("6 MB, two of the largest objects there are, are not", async () => {
    expect(await send(padded(6 * MB))).toMatchObject({ code: 200, body: refusal(TRIGGERED) });
  });

  test("a stranger's are not even read", async () => {
    let read = 0;
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(bytes("x".repeat(1000 + read++))),
    });
    const init = { method: "POST", headers: { authorization: "Bearer wrong" }, body: endless, duplex: "half" as const };
    expect(await doors.request(PATH, init)).toMatchObject({ code: 401 });
    expect(read).toBeLessThan(10);
  });
});

function resource(name: string, group = "") {
  return { resource: { group, version: "v1", resource: name } };
}

function padded(length: number): string {
  return JSON.stringify(evictionReview({ request: { padding: "x".repeat(length) } }));
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
