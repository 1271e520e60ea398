/** The status of the LifeboatConfiguration: what a full scan says about it. */
import { beforeEach, expect, test } from "vitest";
import type { Doors } from "../../support/doors.ts";
import { asWebhook } from "../../support/doors.ts";
import { failing, FakeCluster, FORBIDDEN } from "../../support/fake-cluster.ts";
import { openDoorsOf } from "../../support/fake-doors.ts";
import { at } from "../../support/json.ts";
import { evictionOf, review } from "../../support/reviews.ts";

const QUIET = { disruptionBudgets: "Never" };

let fake: FakeCluster;
let doors: Doors;
beforeEach(() => {
  fake = new FakeCluster();
  fake.configure(QUIET);
  doors = openDoorsOf(fake);
});

/** The status after a full scan. */
async function scanned(by = doors): Promise<unknown> {
  await by.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  await by.settle();
  return at(fake.api.object("lifeboatconfigurations", { name: "lifeboat" }), "status");
}

const condition = (type: string, status: string, reason: string, message: unknown = expect.any(String)) =>
  expect.objectContaining({ type, status, reason, message });
const saying = (...conditions: readonly unknown[]) =>
  expect.objectContaining({ conditions: expect.arrayContaining([...conditions]) });

test("without an object nothing is reported, and nothing fails", async () => {
  fake.configure(undefined);
  expect(await scanned()).toBeUndefined();
  expect(doors.log).toEqual([]);
});

test("a valid one is in force and permitted; looked at again, nothing is written", async () => {
  const status = await scanned();
  expect(status).toEqual({
    observedGeneration: 1,
    conditions: [
      condition("Ready", "True", "Valid", "The configuration is in force"),
      condition("Permitted", "True", "Granted"),
      condition("CredentialsValid", "True", "Valid"),
      condition("WebhookCalled", "Unknown", "NotObserved"),
      condition("ReviewsDecided", "True", "Decided"),
    ],
  });
  doors.pass(600);
  expect(await scanned()).toBe(status);
});

test("once the API server has asked about an eviction, that is said", async () => {
  await review(doors, evictionOf({ namespace: "apps", name: "anything" }));
  expect(await scanned()).toEqual(saying(condition("WebhookCalled", "True", "Called")));
});

test("what has no effect is said", async () => {
  fake.configure({ ...QUIET, descheduling: { intervalSeconds: 60 } });
  const message = expect.stringContaining("descheduling.intervalSeconds has no effect without the feature gate");
  expect(await scanned()).toEqual(saying(condition("Ready", "True", "Valid", message)));
});

test("a missing permission is named, and since when", async () => {
  await scanned();
  const message =
    "evacuations: the API server answered the request with 403 Forbidden: the service account lacks a permission";
  const poorer = openDoorsOf(fake, failing(/^(?:list|count) evacuations/, FORBIDDEN));
  poorer.pass(60);
  const status = await scanned(poorer);
  expect(status).toEqual(saying(condition("Permitted", "False", "Forbidden", message)));
  const lastTransitionTime = `${poorer.now().toISOString().slice(0, 19)}Z`;
  expect(status).toEqual(saying(expect.objectContaining({ type: "Permitted", lastTransitionTime })));
  expect(status).not.toEqual(saying(expect.objectContaining({ type: "Ready", lastTransitionTime })));
});

test("a webhook that does not ask Lifeboat is said to be wrong, and logged", async () => {
  const metadata = { name: "lifeboat", uid: "webhook", resourceVersion: "1" };
  fake.api.put("validatingwebhookconfigurations", { metadata, webhooks: [] });
  expect(await scanned()).toEqual(saying(condition("WebhookCalled", "False", "WebhookMisconfigured")));
  expect(doors.log).toContainEqual(expect.objectContaining({ level: "error", reason: "WebhookNotCalled" }));
});

test("what another version of the definition has let in: the field, and what is expected there", async () => {
  fake.configure({ ...QUIET, evacuation: { maxAttempts: 0, adoptSeconds: -1 } });
  const message = expect.stringMatching(
    /^spec\.evacuation\.maxAttempts: expected 1 or more; spec\.evacuation\.adoptSeconds: expected /,
  );
  expect(await scanned()).toEqual(saying(condition("Ready", "False", "InvalidConfiguration", message)));
});

const NAMED = { kind: "APIGroupList", groups: [{ name: "lifeboat.dev" }] };
const SERVED = { kind: "APIResourceList", resources: [{ name: "evacuations" }] };

test("a definition that is gone, as discovery shows: the defaults, and no failure", async () => {
  const gone = openDoorsOf(fake, (label) => {
    if (label === "list apis") return Response.json(NAMED);
    if (label === "list apis/lifeboat.dev/v1alpha1") return Response.json(SERVED);
    return label.endsWith("lifeboatconfigurations") ? new Response("404 page not found\n", { status: 404 }) : undefined;
  });
  expect(await gone.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook })).toMatchObject({
    code: 200,
  });
  await gone.settle();
  expect(gone.log).toEqual([]);
});
