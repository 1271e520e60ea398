/** The status of the LifeboatConfiguration: what a full scan says about it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { applyManifests } from "../../../infra/sandbox/manifests.ts";
import { lifeboatConfigurations } from "../../../infra/lab/stage/apply.ts";
import { readManifests } from "../../support/manifests/shipped.ts";
import { asWebhook, type Doors, openDoors } from "../../support/doors.ts";
import { evictionOf, review } from "../../support/reviews.ts";
import { forbid } from "./support/roles.ts";
import { QUIET, startTestCluster, type TestCluster } from "../../support/test-cluster.ts";

let cluster: TestCluster;
let doors: Doors;
beforeAll(async () => {
  cluster = await startTestCluster();
  doors = openDoors({ CLUSTERS: { prod: cluster.entry } });
});
afterAll(() => cluster.stop());

const DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/lifeboatconfigurations.lifeboat.dev";

const found = () => cluster.client.get(lifeboatConfigurations, { name: "lifeboat" });

async function scanned() {
  await doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  await doors.settle();
  return await found();
}

const condition = (type: string, status: string, reason: string, message: unknown = expect.any(String)) =>
  expect.objectContaining({ type, status, reason, message });

test("without an object nothing is reported, and nothing fails", async () => {
  expect(await scanned()).toBeUndefined();
  expect(doors.log).toEqual([]);
});

test("a valid one is in force and permitted", async () => {
  await cluster.configure(QUIET);
  expect((await scanned())?.status).toEqual({
    observedGeneration: 1,
    conditions: [
      condition("Ready", "True", "Valid", "The configuration is in force"),
      condition("Permitted", "True", "Granted"),
      condition("CredentialsValid", "True", "Valid"),
      condition("WebhookCalled", "Unknown", "NotObserved"),
      condition("ReviewsDecided", "True", "Decided"),
    ],
  });
});

test("looked at again, nothing is written", async () => {
  const before = await scanned();
  doors.pass(600);
  expect(await scanned()).toEqual(before);
});

test("once the API server has asked about an eviction, that is said", async () => {
  await review(doors, evictionOf({ namespace: "apps", name: "anything" }));
  expect((await scanned())?.status?.conditions).toContainEqual(condition("WebhookCalled", "True", "Called"));
});

test("what has no effect is said", async () => {
  await cluster.configure({ ...QUIET, descheduling: { intervalSeconds: 60 } });
  const message = expect.stringContaining("descheduling.intervalSeconds has no effect without the feature gate");
  const { status } = (await scanned()) ?? {};
  expect(status).toMatchObject({ observedGeneration: 2 });
  expect(status?.conditions).toContainEqual(condition("Ready", "True", "Valid", message));
});

test("a missing permission is named, and since when", async () => {
  await forbid(cluster.client, "list", "evacuations");
  const message =
    "evacuations: the API server answered GET /apis/lifeboat.dev/v1alpha1/evacuations " +
    "with 403 Forbidden: the service account lacks a permission";
  doors.pass(60);
  const lastTransitionTime = `${doors.now().toISOString().slice(0, 19)}Z`;
  const conditions = (await scanned())?.status?.conditions;
  expect(conditions).toContainEqual(condition("Permitted", "False", "Forbidden", message));
  expect(conditions?.find(({ type }) => type === "Permitted")).toMatchObject({ lastTransitionTime });
  expect(conditions?.find(({ type }) => type === "Ready")?.["lastTransitionTime"]).not.toBe(lastTransitionTime);
  await applyManifests(cluster.client, readManifests("rbac.yaml"));
});

test.each([
  ["https://127.0.0.1:1/", "Unknown", "NotObserved"],
  ["https://lifeboat.example.com", "False", "WebhookMisconfigured"],
])("the webhook leads to https://127.0.0.1:1, and PUBLIC_URL is %s", async (PUBLIC_URL, status, reason) => {
  await cluster.configure(QUIET);
  const { entry } = cluster;
  const elsewhere = openDoors({ CLUSTERS: { prod: entry }, PUBLIC_URL });
  // What has been True stays so: as if nothing had been said yet.
  const body = { status: { conditions: [] } };
  const type = "merge";
  await cluster.client.patch(lifeboatConfigurations, { name: "lifeboat" }, { type, body }, { subresource: "status" });
  await elsewhere.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  await elsewhere.settle();
  expect((await found())?.status?.conditions).toContainEqual(condition("WebhookCalled", status, reason));
});

/** That of a version to come, which allows what this one does not know. */
async function installAnotherDefinition(): Promise<void> {
  const value = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const body = [{ op: "replace", path: "/spec/versions/0/schema/openAPIV3Schema/properties/spec", value }];
  const answer = await cluster.client.raw({
    method: "PATCH",
    path: DEFINITION,
    body,
    contentType: "application/json-patch+json",
  });
  expect(answer.code).toBe(200);
}

test("what another version of the definition has let in: the field, and what is expected there", async () => {
  await installAnotherDefinition();
  await cluster.configure({ ...QUIET, evacuation: { maxAttempts: 0, adoptSeconds: -1 } });
  const message = expect.stringMatching(
    /^spec\.evacuation\.maxAttempts: expected 1 or more; spec\.evacuation\.adoptSeconds: expected /,
  );
  expect((await scanned())?.status?.conditions).toContainEqual(
    condition("Ready", "False", "InvalidConfiguration", message),
  );
  await cluster.configure(QUIET);
  expect((await scanned())?.status?.conditions).toContainEqual(condition("Ready", "True", "Valid"));
});

test("a definition that is gone: the defaults, and no failure", async () => {
  await cluster.client.raw({ method: "DELETE", path: DEFINITION });
  doors = openDoors({ CLUSTERS: { prod: cluster.entry } });
  const answer = await doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  expect(answer).toMatchObject({ code: 200 });
  await doors.settle();
  expect(doors.log).toEqual([]);
});
