/** The status of the LifeboatConfiguration: what a full scan says about it. */
import { beforeEach, expect, test } from "vitest";
import type { Doors } from "../../support/doors.ts";
import { asWebhook } from "../../support/doors.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { openDoorsOf } from "../../support/fake-doors.ts";
import { at } from "../../support/json.ts";

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

test("a missing permission is named, and since when", async () => {
  await scanned();
  const poorer = openDoorsOf(fake, (label, asked) => {
    const isAsked = label === "create selfsubjectaccessreviews" && JSON.stringify(asked?.body).includes("kubevirts");
    return isAsked ? Response.json({ status: { allowed: false } }, { status: 201 }) : undefined;
  });
  poorer.pass(60);
  const status = await scanned(poorer);
  const message = "the service account may not list kubevirt.io/kubevirts";
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
