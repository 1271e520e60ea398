/** Tests how Lifeboat finds out whether the installed webhook configurations send reviews to Lifeboat. */
import { expect, test } from "vitest";
import { WebhookConfiguration } from "../../../shared/kube/schemas/webhooks.ts";
import { webhookState, WEBHOOK_OBJECTS, type WebhookEndpoint } from "../../../shared/settings/webhooks.ts";
import { settings } from "../../support/fixtures.ts";

const TOKEN = "secret-of-the-url";
const OLD = "secret/of old";
const SITE = "https://lifeboat.example.com";
const GATED = ["PreemptionEvictionLiveMigration"] as const;

function stateOf(endpoint: WebhookEndpoint, webhook?: unknown, featureGates: readonly (typeof GATED)[number][] = []) {
  const metadata = { name: WEBHOOK_OBJECTS[endpoint], uid: "uid", resourceVersion: "7" };
  const installed = webhook === undefined ? undefined : WebhookConfiguration.parse({ metadata, webhooks: [webhook] });
  const known = { endpoint, cluster: "prod", tokens: [TOKEN, OLD], settings: settings({ featureGates }) };
  const state = webhookState(installed, known);
  expect(JSON.stringify(state ?? {})).not.toMatch(/secret/);
  return state && (state.problem?.reason ?? "Asks");
}

const at = (url: string, name = "evictions.lifeboat.dev") => ({ name, clientConfig: { url } });
const own = "/clusters/prod/admission/evictions";
const VALIDITY = { notBefore: new Date("2026-01-01T00:00:00Z"), notAfter: new Date("2036-01-01T00:00:00Z") };
const trust = (caBundle: string) => ({ trusted: caBundle === "TRUSTED", chain: [VALIDITY] });

function inCluster(clientConfig: object) {
  const metadata = { name: "lifeboat", uid: "uid", resourceVersion: "7" };
  const webhooks = [{ name: "evictions.lifeboat.dev", clientConfig }];
  const known = { endpoint: "evictions", cluster: "prod", tokens: [TOKEN], settings: settings({}), trust } as const;
  return webhookState(WebhookConfiguration.parse({ metadata, webhooks }), known);
}

// prettier-ignore
test.each<[string, object, string | undefined]>([
  ["without a mismatch",          { service: { path: `${own}/${TOKEN}` }, caBundle: "TRUSTED" },          undefined],
  ["without a caBundle",          { service: { path: `${own}/${TOKEN}` } },                               "its caBundle does not trust the certificate that Lifeboat serves"],
  ["with another caBundle",       { service: { path: `${own}/${TOKEN}` }, caBundle: "OTHER" },            "its caBundle does not trust the certificate that Lifeboat serves"],
  ["with another token",          { service: { path: `${own}/secret` }, caBundle: "TRUSTED" },            "the token in its path is not a webhookToken of this cluster"],
  ["without path and caBundle",   { service: {} },                                                        "its path is not /clusters/prod/admission/evictions/TOKEN, where TOKEN is a webhookToken of this cluster; its caBundle does not trust the certificate that Lifeboat serves"],
])("a webhook of Lifeboat in the cluster %s: every mismatch is reported", (_, clientConfig, said) => {
  const problem = said === undefined ? undefined : { reason: "WebhookMisconfigured", message: `lifeboat: ${said}: run lifeboat install` };
  expect(inCluster(clientConfig)).toEqual({ endpoint: "evictions", chain: [VALIDITY], ...(problem && { problem }) });
});

// prettier-ignore
test.each<[string, unknown, string]>([
  ["with a token",               at(`${SITE}${own}/${TOKEN}`),                                      "Asks"],
  ["without a token",            at(`${SITE}/behind/a/proxy${own}`),                                "Asks"],
  ["with a Service",             { name: "evictions.lifeboat.dev", clientConfig: { service: { path: `${own}/${TOKEN}` } } }, "Asks"],
  ["with an unknown token",      at(`${SITE}${own}/secret-of-nobody`),                              "WebhookMisconfigured"],
  ["with an invalid token",      at(`${SITE}${own}/%E0%A4%A`),                                      "WebhookMisconfigured"],
  ["of another cluster",         at(`${SITE}/clusters/dev/admission/evictions/${TOKEN}`),           "WebhookMisconfigured"],
  ["under another name",         at(`${SITE}${own}/${TOKEN}`, "mine"),                              "WebhookMisconfigured"],
])("a webhook %s: $2", (_, webhook, expected) => {
  expect(stateOf("evictions", webhook)).toBe(expected);
});

test("a missing webhook object is reported for the guard only if one of its gates is on", () => {
  expect([stateOf("evictions"), stateOf("deletions"), stateOf("deletions", undefined, GATED)]).toEqual([
    "WebhookMissing",
    undefined,
    "WebhookMissing",
  ]);
});
