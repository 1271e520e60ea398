/** The configuration page: what is in force, where it comes from, what is wrong, and that it shows no secret. */
import { expect, test } from "vitest";
import { configurationPage } from "../../functions/page/views/configuration.ts";
import { defaultConfiguration } from "../../shared/config/lifeboat-configuration.ts";
import { FakeCluster } from "../fake-cluster/fake-cluster.ts";
import { TOKENS } from "../functions/support/doors.ts";
import { HOSTILE, isEscaped, look, visitTo, words } from "./support/fake-visit.ts";

function clusterOf(spec: unknown, conditions: readonly object[] = []): FakeCluster {
  const fake = new FakeCluster();
  const all = conditions.map((one) => ({ ...CONDITION, ...one }));
  fake.configuration = { resourceVersion: "1", generation: 1, spec, conditions: all };
  return fake;
}

const CONDITION = {
  type: "Ready",
  status: "True",
  reason: "Valid",
  message: "The configuration is in force",
  observedGeneration: 1,
  lastTransitionTime: "2026-03-01T11:00:00Z",
};

async function page(fake: FakeCluster, options: Parameters<typeof visitTo>[1] = {}): Promise<string> {
  const visit = visitTo(fake, options);
  return await look(configurationPage(visit), visit);
}

async function seen(fake: FakeCluster, options: Parameters<typeof visitTo>[1] = {}): Promise<string> {
  return words(await page(fake, options));
}

function kubevirtWith(tweak: object): FakeCluster {
  const fake = clusterOf({});
  fake.kubeVirt = { namespace: "kubevirt", featureGates: [], ...tweak };
  return fake;
}

const ON = { featureGates: { EvictionsInBackground: true } };

// prettier-ignore
const SAID: readonly (readonly [what: string, fake: FakeCluster, told: string])[] = [
  ["no configuration",          new FakeCluster(), "This cluster has no LifeboatConfiguration: the defaults are in force."],
  ["an empty one",              clusterOf({}), "The defaults are in force."],
  ["a default",                 clusterOf({}), "evacuation.maxAttempts 5 default"],
  ["what is set",               clusterOf({ evacuation: { maxAttempts: 3 } }), "evacuation.maxAttempts 3 set default 5"],
  ["how many",                  clusterOf({ evacuation: { maxAttempts: 3 } }), "1 key set; all others have their defaults."],
  ["what is set to its default", clusterOf({ marking: "Auto" }), "marking Auto default reconcilers"],
  ["durations in words",        clusterOf({}), "evacuation.historySeconds 3600s (60m) default"],
  ["a duration by cause",       clusterOf({}), "guard.deadlineSeconds.NoExecuteTaint 300s (5m) default"],
  ["what is written in vain",   clusterOf({ marking: "Maybe" }), "marking Auto set not in force written: Maybe"],
  ["what is wrong with it",     clusterOf({ marking: "Maybe" }), "Not in force as written spec.marking: expected one of"],
  ["a gate that is on",         clusterOf(ON), "EvictionsInBackground on LifeboatConfiguration"],
  ["a gate of KubeVirt's",      kubevirtWith({ featureGates: ["EvictionsInBackground"] }), "EvictionsInBackground on KubeVirt CR"],
  ["a gate that is off",        clusterOf({}), "EvictionsInBackground off"],
  ["KubeVirt's limits",         kubevirtWith({ parallelMigrationsPerCluster: 9 }), "parallelMigrationsPerCluster 9 set"],
  ["KubeVirt's defaults",       kubevirtWith({}), "parallelOutboundMigrationsPerNode 2 default"],
  ["what is worth knowing",     clusterOf({ descheduling: { intervalSeconds: 60 } }), "descheduling.intervalSeconds has no effect without the feature gate"],
  ["conditions",                clusterOf({}, [{}]), "Ready True Valid 60m ago The configuration is in force"],
  ["no conditions yet",         clusterOf({}), "There are none yet."],
  ["a webhook that is missing", withWebhook("Absent"), "lifeboat missing"],
  ["one that may not be read",  withWebhook("Unread"), "lifeboat cannot be read"],
];

function withWebhook(found: "Absent" | "Unread"): FakeCluster {
  const fake = clusterOf({});
  fake.ownWebhooks.set("lifeboat", found);
  return fake;
}

test.each(SAID)("%s", async (_, fake, told) => {
  expect(await seen(fake)).toContain(told);
});

test("every key of the configuration is shown", async () => {
  const main = await seen(clusterOf({}));
  const { featureGates: _, ...groups } = defaultConfiguration();
  for (const [group, keys] of Object.entries(groups)) {
    for (const key of typeof keys === "string" ? [] : Object.keys(keys)) expect(main).toContain(`${group}.${key}`);
  }
});

test("a token that is refused is said", async () => {
  const fake = clusterOf({});
  fake.isTokenAccepted = false;
  expect(await seen(fake)).toContain("Rejected The API server does not accept Lifeboat's token (401)");
});

test("no secret is shown, not even that of a webhook's address", async () => {
  const fake = clusterOf({});
  const url = `https://lifeboat.example/clusters/prod/admission/evictions/${TOKENS.webhookToken}-old`;
  const webhook = {
    name: "evictions.lifeboat.dev",
    url,
    isService: false,
    rules: [],
    matchConditions: [],
    selectors: [],
    failurePolicy: "Ignore",
    matchPolicy: "Equivalent",
    timeoutSeconds: 10,
    admissionReviewVersions: ["v1"],
  };
  fake.ownWebhooks.set("lifeboat", { uid: "u", resourceVersion: "1", webhooks: [webhook] });
  const main = await page(fake);
  expect(main).toContain("failurePolicy");
  for (const token of Object.values(TOKENS)) expect(main).not.toContain(token);
});

test("hostile values and messages stay text", async () => {
  const spec = { marking: HOSTILE, guard: { requesters: [HOSTILE] } };
  const fake = clusterOf(spec, [{ type: HOSTILE, status: HOSTILE, reason: HOSTILE, message: HOSTILE }]);
  const drain = { namespace: HOSTILE, evictionStrategy: HOSTILE, drainTaintKey: HOSTILE };
  fake.kubeVirt = { featureGates: [HOSTILE], ...drain };
  expect(isEscaped(await page(fake, { cluster: HOSTILE }))).toBe(true);
});
