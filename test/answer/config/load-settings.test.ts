/** Tests the cache of a cluster's settings, and the settings that Lifeboat uses while a read fails. */
import { beforeEach, expect, test } from "vitest";
import { SettingsCache } from "../../../shared/settings/load-settings.ts";
import { GUARD_WEBHOOKS, KUBEVIRT_WEBHOOKS } from "../../../shared/kube/names.ts";
import { DEFAULT_SETTINGS } from "../../../shared/settings/settings.ts";
import { connectTo, connectToOneVm } from "../../support/client.ts";
import { failing, FakeCluster } from "../../support/cluster.ts";
import { type Answers, configured, list, notFound } from "../../support/cluster/one-vm.ts";
import { html, status } from "../../support/answers.ts";

const GATES = { featureGates: { DeschedulerSupport: true } };
const GUARDED = { featureGates: { PreemptionEvictionLiveMigration: true } };
const KUBEVIRT = { namespace: "virt", featureGates: [], evictionStrategy: "LiveMigrate" };

let fake: FakeCluster;
let cache: SettingsCache;
let requests: string[];
let broken: RegExp;
beforeEach(() => {
  fake = new FakeCluster();
  cache = new SettingsCache();
  requests = [];
  broken = /^$/;
});

const load = (seconds = 0, fresh = false, of = fake, name = "prod") => {
  const cluster = connectTo(of, (request) => {
    requests.push(request);
    failing(broken)(request);
  });
  return cache.load(name, cluster, new Date(Date.UTC(2026, 0, 1) + seconds * 1000), fresh);
};

// prettier-ignore
test.each([
  ["serves settings for 29 s",                               29, false, 2],
  ["reads settings again after 30 s",                        30, false, 4],
  ["reads settings again for a caller who needs fresh ones", 1,  true,  4],
])("the cache %s", async (_, seconds, fresh, expected) => {
  await load();
  await load(seconds, fresh);
  expect(requests).toHaveLength(expected);
});

test("each cluster has its own settings", async () => {
  const other = new FakeCluster();
  fake.configure(GATES);
  await load();
  expect(await load(1, false, other, "other")).toMatchObject({ settings: { featureGates: [] } });
  expect(await load(1)).toMatchObject({ settings: { featureGates: ["DeschedulerSupport"] } });
});

test.each([
  ["an unknown gate", { featureGates: { Magic: true } }],
  ["a wrong value", { evacuation: { maxAttempts: 0 } }],
])(
  "given a configuration with %s, that field has its default and the rest applies, also in a fresh process",
  async (_, spec) => {
    fake.configure({ ...GATES, ...spec, featureGates: { ...GATES.featureGates, ...Object(spec).featureGates } });
    const settings = { featureGates: ["DeschedulerSupport"], evacuation: DEFAULT_SETTINGS.evacuation };
    for (const seconds of [0, 60, 90]) expect(await load(seconds)).toMatchObject({ settings });
    fake.configure(undefined);
    expect(await load(150)).toMatchObject({ settings: DEFAULT_SETTINGS });
  },
);

/** Sets the failurePolicy of KubeVirt's webhook to Fail, and adds the guard's webhook. */
function cover(): void {
  const rules = [{ operations: ["CREATE"], resources: ["pods/eviction"] }];
  const webhooks = [{ name: "any", rules }];
  const of = (name: string) => ({ metadata: { name, uid: name, resourceVersion: "1" }, webhooks });
  fake.api.put("validatingwebhookconfigurations", of(KUBEVIRT_WEBHOOKS));
  fake.api.put("mutatingwebhookconfigurations", of(GUARD_WEBHOOKS));
}

// prettier-ignore
test.each([
  ["the KubeVirt CR",                     /^list kubevirts/,                       { clusterStrategy: "LiveMigrate" }],
  ["the LifeboatConfiguration",           /^get lifeboatconfigurations$/,          { featureGates: ["PreemptionEvictionLiveMigration"] }],
  ["the ValidatingWebhookConfigurations", /^get validatingwebhookconfigurations$/, { evictionsCovered: true }],
])("while %s cannot be read, a first load fails, and a later load returns the last settings", async (_, reads, seen) => {
  fake.kubeVirt = KUBEVIRT;
  fake.configure(GUARDED);
  cover();
  broken = reads;
  await expect(load()).rejects.toThrow("cannot be reached");
  broken = /^$/;
  await load();
  broken = reads;
  expect(await load(30)).toMatchObject({ settings: seen });
});

// prettier-ignore
test.each<[string, object, boolean, boolean, number]>([
  ["with KubeVirt's webhook and the guard's, budgets are unnecessary",    GUARDED,                                   true,  true,  4],
  ["without both webhooks, budgets are necessary",                        GUARDED,                                   false, false, 4],
  ["without the guard's gate, webhooks are not read",                     {},                                        true,  false, 2],
  ["without budgets, webhooks are not read",                              { ...GUARDED, disruptionBudgets: "Never" }, true, false, 2],
])("%s", async (...[, spec, isCovering, evictionsCovered, expected]) => {
  fake.configure(spec);
  if (isCovering) cover();
  expect((await load()).settings).toMatchObject({ evictionsCovered });
  expect(requests).toHaveLength(expected);
});

const unparsed = list({
  metadata: { name: "k", uid: "k", resourceVersion: "9" },
  spec: { configuration: { evictionStrategy: 7 } },
});

// prettier-ignore
test.each<[string, Answers, string]>([
  ["403 for the KubeVirt CR",              { "list kubevirts": status(403, "Forbidden") },                                                          "403 Forbidden"],
  ["404 for the kind KubeVirt",            { "list kubevirts": notFound },                                                                          "with 404"],
  ["a malformed KubeVirt CR",              { "list kubevirts": unparsed },                                                                          "spec.configuration.evictionStrategy"],
  ["500 for the configuration",            { "get lifeboatconfigurations": status(500, "InternalError") },                                          "with 500"],
  ["a proxy's page for the configuration", { "get lifeboatconfigurations": html(404) },                                                             "not JSON"],
  ["a proxy's page for webhooks",          { "get lifeboatconfigurations": configured(GUARDED), "get validatingwebhookconfigurations": html(404) }, "not JSON"],
])("over HTTP, %s is a failed read", async (_, answers, message) => {
  await expect(cache.load("prod", connectToOneVm(answers).cluster, new Date(0))).rejects.toThrow(message);
});

test("over HTTP, webhooks that may not be read count as missing", async () => {
  const { cluster } = connectToOneVm({
    "get lifeboatconfigurations": configured(GUARDED),
    "get validatingwebhookconfigurations": status(403, "Forbidden"),
  });
  const { settings } = await cache.load("prod", cluster, new Date(0));
  expect(settings.evictionsCovered).toBe(false);
});
