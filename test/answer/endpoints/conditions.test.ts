/** Tests the status of the LifeboatConfiguration after a full scan of the cluster. */
import { beforeEach, expect, test } from "vitest";
import { missingRights } from "../../../functions/conditions.ts";
import { DEFAULT_SETTINGS, type FeatureGate } from "../../../shared/settings/settings.ts";
import { type App, asWebhook, openApp } from "../../support/app.ts";
import { type Before, FakeCluster } from "../../support/cluster.ts";
import { connectTo } from "../../support/client.ts";
import { asJson, at, textOf } from "../../support/json.ts";

let fake: FakeCluster;
let app: App;
beforeEach(() => {
  fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Never" });
  app = openApp(fake);
});

async function scanned(by = app): Promise<unknown> {
  await by.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  await by.settle();
  return at(fake.api.object("lifeboatconfigurations", { name: "lifeboat" }), "status");
}

const without =
  (resource: string): Before =>
  (label, asked) => {
    if (label !== "create selfsubjectaccessreviews") return undefined;
    const named = textOf(at(asJson(asked?.body ?? {}), "spec", "resourceAttributes", "resource"));
    return Response.json({ status: { allowed: named !== resource } }, { status: 201 });
  };

const condition = (type: string, status: string, reason: string, message: unknown = expect.any(String)) =>
  expect.objectContaining({ type, status, reason, message });
const saying = (one: unknown) => expect.objectContaining({ conditions: expect.arrayContaining([one]) });

test("a valid configuration has good conditions, and a second scan writes nothing", async () => {
  const status = await scanned();
  expect(status).toEqual({
    observedGeneration: 1,
    conditions: [
      condition("Valid", "True", "Valid", "The whole configuration applies"),
      condition("Permitted", "True", "Granted"),
      condition("CredentialsValid", "True", "Valid"),
      condition("WebhookCalled", "Unknown", "NotObserved"),
      condition("ReviewsDecided", "True", "Decided"),
    ],
  });
  app.pass(600);
  expect(await scanned()).toBe(status);
});

test("a missing permission is named in a condition", async () => {
  const message = "the service account is not allowed to list kubevirt.io/kubevirts";
  const permitted = condition("Permitted", "False", "Forbidden", message);
  expect(await scanned(openApp(fake, without("kubevirts")))).toEqual(saying(permitted));
});

const MIGRATIONS = "kubevirt.io/virtualmachineinstancemigrations";

// prettier-ignore
test.each<[string, readonly FeatureGate[], readonly string[]]>([
  ["virtualmachineinstancemigrations", [],                        ["list", "create", "patch", "delete"].map((verb) => `${verb} ${MIGRATIONS}`)],
  ["pods",                             [],                        ["get pods", "list pods", "create pods/eviction"]],
  ["pods",                             ["DeschedulerSupport"],    ["get pods", "list pods", "create pods/eviction", "patch pods"]],
  ["pods",                             ["NoExecuteTaintEvictionLiveMigration"], ["get pods", "list pods", "create pods/eviction", "delete pods"]],
  ["plugins",                          ["NodePressureEvictionLiveMigration"], ["get plugin.kubevirt.io/plugins"]],
  ["leases",                           [],                        []],
  ["leases",                           ["EvictionsInBackground"], ["get", "patch", "create"].map((verb) => `${verb} coordination.k8s.io/leases`)],
])("the missing permissions on %s are named, with the gates %j", async (resource, featureGates, expected) => {
  const cluster = connectTo(fake, without(resource));
  const shield = { ...DEFAULT_SETTINGS.shield, maxPodGracePeriodSeconds: 300 };
  expect(await missingRights(cluster, { ...DEFAULT_SETTINGS, shield, featureGates })).toEqual(expected);
});

test("a webhook that does not call Lifeboat is reported as misconfigured, and logged", async () => {
  const metadata = { name: "lifeboat", uid: "webhook", resourceVersion: "1" };
  fake.api.put("validatingwebhookconfigurations", { metadata, webhooks: [] });
  expect(await scanned()).toEqual(saying(condition("WebhookCalled", "False", "WebhookMisconfigured")));
  expect(app.log).toContainEqual(expect.objectContaining({ level: "error", reason: "WebhookNotCalled" }));
});

const NAMED = { kind: "APIGroupList", groups: [{ name: "lifeboat.dev" }] };
const SERVED = { kind: "APIResourceList", resources: [{ name: "evacuations" }] };

test("if discovery shows that the LifeboatConfiguration's definition is gone, the defaults apply", async () => {
  const gone = openApp(fake, (label) => {
    if (label === "list apis") return Response.json(NAMED);
    if (label === "list apis/lifeboat.dev/v1alpha1") return Response.json(SERVED);
    return label.endsWith("lifeboatconfigurations") ? new Response("404 page not found\n", { status: 404 }) : undefined;
  });
  const { code } = await gone.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  await gone.settle();
  expect([code, gone.log]).toEqual([200, []]);
});
