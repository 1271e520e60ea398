/** Reading a cluster's settings: the cache, and what stays in force while something is wrong. */
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
/** Requests that fail. */
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
  ["serves 29 s",                                   29, false, 2],
  ["is read again after 30 s",                      30, false, 4],
  ["is read again for a caller who wants it fresh", 1,  true,  4],
])("the cache %s", async (_, seconds, fresh, expected) => {
  await load();
  await load(seconds, fresh);
  expect(requests).toHaveLength(expected);
});

test("what one cluster says is never another's", async () => {
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
  "given a configuration with %s: that field has its default, and the rest is in force, in a fresh process too",
  async (_, spec) => {
    fake.configure({ ...GATES, ...spec, featureGates: { ...GATES.featureGates, ...Object(spec).featureGates } });
    const settings = { featureGates: ["DeschedulerSupport"], evacuation: DEFAULT_SETTINGS.evacuation };
    for (const seconds of [0, 60, 90]) expect(await load(seconds)).toMatchObject({ settings });
    fake.configure(undefined);
    expect(await load(150)).toMatchObject({ settings: DEFAULT_SETTINGS });
  },
);

/** KubeVirt's webhook fails closed, and the guard's is there. */
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
])("%s that cannot be read: nothing is known at first, later on the last one seen counts", async (_, reads, seen) => {
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
  ["both are there",                      GUARDED,                                   true,  true,  4],
  ["neither is there",                    GUARDED,                                   false, false, 4],
  ["the guard is off: nothing to ask",    {},                                        true,  false, 2],
  ["none are wanted: nothing to ask",     { ...GUARDED, disruptionBudgets: "Never" }, true, false, 2],
])("whether webhooks make budgets unnecessary: %s", async (...[, spec, isCovering, evictionsCovered, expected]) => {
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
  ["403 for the KubeVirt CR",           { "list kubevirts": status(403, "Forbidden") },                                                          "403 Forbidden"],
  ["no such kind, of the KubeVirt CR",  { "list kubevirts": notFound },                                                                          "with 404"],
  ["a KubeVirt CR that does not parse", { "list kubevirts": unparsed },                                                                          "spec.configuration.evictionStrategy"],
  ["500 for the configuration",         { "get lifeboatconfigurations": status(500, "InternalError") },                                          "with 500"],
  ["a page of a proxy for it",          { "get lifeboatconfigurations": html(404) },                                                             "not JSON"],
  ["a page of a proxy for webhooks",    { "get lifeboatconfigurations": configured(GUARDED), "get validatingwebhookconfigurations": html(404) }, "not JSON"],
])("over HTTP, what is no answer is none: %s", async (_, answers, message) => {
  await expect(cache.load("prod", connectToOneVm(answers).cluster, new Date(0))).rejects.toThrow(message);
});

test("over HTTP, webhooks that may not be read are none", async () => {
  const { cluster } = connectToOneVm({
    "get lifeboatconfigurations": configured(GUARDED),
    "get validatingwebhookconfigurations": status(403, "Forbidden"),
  });
  const { settings } = await cache.load("prod", cluster, new Date(0));
  expect(settings.evictionsCovered).toBe(false);
});
