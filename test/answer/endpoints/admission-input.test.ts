/** Tests which input the admission endpoint accepts, and how it answers bad input. */
import { describe, expect, test } from "vitest";
import { clusterWith } from "../../support/cluster/one-vm.ts";
import { asWebhook, openApp } from "../../support/app.ts";
import { evictionReview, refusal } from "../../support/reviews.ts";

const MB = 1024 * 1024;
const PATH = "/clusters/prod/admission/evictions";
const TRIGGERED = 'Eviction triggered evacuation of VMI "apps/web"';

const cluster = clusterWith();
cluster.isReviewing = false;
const app = openApp(cluster);

const send = (body: string, headers: Record<string, string> = {}) =>
  app.request(PATH, { method: "POST", headers: { ...asWebhook, ...headers }, body });

const { request: _, ...withoutRequest } = evictionReview();
// prettier-ignore
test.each([
  ["not JSON",                   "<html>",                                                        "body",             "expected JSON"],
  ["JSON that is not an object", "[1]",                                                           "body",             expect.stringContaining("expected object")],
  ["another kind",               evictionReview({ review: { kind: "Pod" } }),                     "body.kind",        "expected AdmissionReview"],
  ["version v1beta1",            evictionReview({ review: { apiVersion: "admission.k8s.io/v1beta1" } }), "body.apiVersion", "expected admission.k8s.io/v1"],
  ["no request",                 withoutRequest,                                                  "body.request",     expect.stringContaining("expected object")],
  ["a uid of 257 characters",    evictionReview({ request: { uid: "u".repeat(257) } }),           "body.request.uid", "expected the review's uid"],
])("a body that is not an AdmissionReview gets 400: %s", async (_, body, field, message) => {
  const answer = await send(typeof body === "string" ? body : JSON.stringify(body));
  expect(answer).toMatchObject({ code: 400, body: { error: { reason: "BadRequest", field, message } } });
});

const configmaps = { group: "", version: "v1", resource: "configmaps" };
// prettier-ignore
test.each([
  ["another resource",         { request: { resource: configmaps } },               "request.resource.resource: expected pods"],
  ["another subresource",      { request: { subResource: "binding" } },             "request.subResource: expected eviction"],
  ["another operation",        { request: { operation: "DELETE" } },                "request.operation: expected CREATE"],
  ["no name",                  { request: { name: undefined } },                    "request.name: expected a name"],
  ["no object",                { request: { object: null } },                       "request.object: "],
  ["another version",          { eviction: { apiVersion: "policy/v2" } },           "request.object.apiVersion: expected policy/v1 or policy/v1beta1"],
  ["another kind",             { eviction: { kind: "Pod" } },                       "request.object.kind: expected Eviction"],
  ["a dryRun that is no list", { eviction: { deleteOptions: { dryRun: "All" } } },  "request.object.deleteOptions.dryRun"],
])("a review of another request than a pod's eviction is refused with the reason: %s", async (_, tweak, why) => {
  const said = expect.stringContaining(`not a review of pods/eviction CREATE: ${why}`);
  expect(await app.evict(evictionReview(tweak))).toMatchObject({ code: 200, body: refusal(said) });
});

// prettier-ignore
test.each([
  ["policy/v1beta1",                  { eviction: { apiVersion: "policy/v1beta1" } }],
  ["delete options without dry run",  { eviction: { deleteOptions: { gracePeriodSeconds: 30 } } }],
  ["without dryRun",                  { request: { dryRun: undefined } }],
  ["unknown fields",                  { request: { requestKind: { kind: "Eviction" }, future: [1] } }],
])("a valid review is accepted: %s", async (_, tweak) => {
  expect(await app.evict(evictionReview(tweak))).toMatchObject({ code: 200, body: refusal(TRIGGERED) });
});

const bytes = (text: string) => new TextEncoder().encode(text);
const padded = (length: number) => JSON.stringify(evictionReview({ request: { padding: "x".repeat(length) } }));
const stream = (body: ReadableStream, headers: Record<string, string>) =>
  app.request(PATH, { method: "POST", headers, body, duplex: "half" });

describe("the body of a review", () => {
  const error = { reason: "PayloadTooLarge", field: "body", message: `expected a body of at most ${7 * MB} bytes` };

  test("of 6 MB, which is two objects of the maximum size, is read", async () => {
    expect(await send(padded(6 * MB))).toMatchObject({ code: 200, body: refusal(TRIGGERED) });
  });

  test("above the limit is refused, with or without its length in a header", async () => {
    const chunks = padded(10 * MB).match(/[^]{1,65536}/g) ?? [];
    const unannounced = await stream(ReadableStream.from(chunks.map(bytes)), asWebhook);
    const announced = await send("{}", { "content-length": String(10 * MB) });
    for (const answer of [unannounced, announced]) expect(answer).toMatchObject({ code: 413, body: { error } });
  });

  test("without a valid token is not read", async () => {
    let read = 0;
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(bytes("x".repeat(1000 + read++))) });
    expect(await stream(endless, { authorization: "Bearer wrong" })).toMatchObject({ code: 401 });
    expect(read).toBeLessThan(10);
  });
});
