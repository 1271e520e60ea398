/** The webhook objects that are installed, beside those that are shipped: which differences are problems, which remarks. */
import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { WebhookConfiguration } from "../../../shared/kube/schemas/webhooks.ts";
import { DEFAULT_SETTINGS } from "../../../shared/settings/settings.ts";
import {
  compareWebhook,
  WEBHOOK_OBJECTS,
  type WebhookEndpoint,
  type WebhookExpectation,
} from "../../../shared/settings/webhooks.ts";
import { readManifests } from "../../support/manifests/shipped.ts";
import { settings } from "../../support/fixtures.ts";

const TOKEN = "secret-of-the-url";
const OLD = "secret/of old";
const OTHER = "secret-of-nobody";
const SITE = "https://lifeboat.example.com";
const FILES = { evictions: "webhook.yaml", deletions: "optional/guard/guard.yaml" } as const;

const Installed = z.looseObject({ webhooks: z.array(z.looseObject({ rules: z.array(z.looseObject({})) })) });

/** As the API server returns the shipped one after `sed`, with a tweak. */
function installed(endpoint: WebhookEndpoint, tweak: Readonly<Record<string, unknown>> = {}) {
  const manifest = readManifests(FILES[endpoint]).find(({ kind }) => kind === "ValidatingWebhookConfiguration");
  const { webhooks } = Installed.parse(manifest);
  const url = `${SITE}/clusters/prod/admission/${endpoint}/${TOKEN}`;
  const filled = webhooks.map((one) => ({ ...one, clientConfig: { url }, ...tweak }));
  const metadata = { name: WEBHOOK_OBJECTS[endpoint], uid: "uid", resourceVersion: "7" };
  return WebhookConfiguration.parse({ metadata, webhooks: filled });
}

const at = (url: string) => ({ clientConfig: { url } });
const rule = (tweak: Readonly<Record<string, unknown>>) => ({
  rules: [
    {
      operations: ["CREATE"],
      apiGroups: [""],
      apiVersions: ["v1"],
      resources: ["pods/eviction"],
      scope: "*",
      ...tweak,
    },
  ],
});
const condition = (name: string, expression: string) => ({ matchConditions: [{ name, expression }] });

function compared(found: Parameters<typeof compareWebhook>[0], expected: Partial<WebhookExpectation> = {}) {
  const known = { endpoint: "evictions", cluster: "prod", tokens: [TOKEN, OLD], publicUrl: undefined } as const;
  const { problems, remarks } = compareWebhook(found, { ...known, settings: DEFAULT_SETTINGS, ...expected });
  expect(JSON.stringify([problems, remarks])).not.toMatch(/secret/);
  return [...problems.map((one) => `problem: ${one}`), ...remarks.map((one) => `remark: ${one}`)];
}

test.each(["evictions", "deletions"] as const)("as shipped, %s: nothing to say", (endpoint) => {
  expect(compared(installed(endpoint), { endpoint })).toEqual([]);
});

const PATH =
  "problem: lifeboat: clientConfig.url: expected a path that ends in /clusters/prod/admission/evictions, with or without a webhookToken after it";
const LAST = "problem: lifeboat: clientConfig.url: expected a webhookToken of this cluster as the last segment";
const ROTATION =
  "remark: lifeboat: clientConfig.url: its webhookToken is not the first of the cluster's: a rotation has not ended";
const BEGIN = `problem: lifeboat: clientConfig.url: expected it to begin with PUBLIC_URL, ${SITE}`;

describe("a Service", () => {
  const publicUrl = "https://lifeboat-server.lifeboat-system.svc";
  const service = { namespace: "lifeboat-system", name: "lifeboat-server", port: 443 };
  const path = `/clusters/prod/admission/evictions/${TOKEN}`;
  const elsewhere = `problem: lifeboat: clientConfig.service: expected it to lead to ${publicUrl}`;
  // prettier-ignore
  test.each<[string, Readonly<Record<string, unknown>>, readonly string[]]>([
    ["Lifeboat's own, in the cluster", { ...service, path },                  []],
    ["its port not written down",      { ...service, port: undefined, path }, []],
    ["another's",                      { ...service, name: "other", path },   [elsewhere]],
    ["another port",                   { ...service, port: 8443, path },      [elsewhere]],
    ["no path yet",                    service,                               [PATH.replace("url", "service")]],
  ])("%s", (_, found, said) => {
    expect(compared(installed("evictions", { clientConfig: { service: found } }), { publicUrl })).toEqual(said);
  });
});

describe("the URL", () => {
  const door = `/clusters/prod/admission/evictions`;
  // prettier-ignore
  test.each<[string, string | undefined, readonly string[]]>([
    // URL                                             PUBLIC_URL          says
    [`${SITE}${door}/${TOKEN}`,                        SITE,               []],
    [`${SITE}${door}`,                                 SITE,               []],
    [`https://LIFEBOAT.example.com:443${door}`,        `${SITE}/`,         []],
    [`${SITE}/behind/a/proxy${door}`,                  `${SITE}/behind/a/proxy`, []],
    [`https://elsewhere.example.com${door}/${TOKEN}`,  undefined,          []],
    [`${SITE}${door}/${encodeURIComponent(OLD)}`,      SITE,               [ROTATION]],
    [`${SITE}${door}/${OTHER}`,                        SITE,               [LAST]],
    [`${SITE}${door}/%E0%A4%A`,                        SITE,               [LAST]],
    [`${SITE}${door}/WEBHOOK_TOKEN`,                   undefined,          [LAST]],
    [`${SITE}${door}/${TOKEN}/`,                       SITE,               [PATH]],
    [`${SITE}/clusters/dev/admission/evictions/${TOKEN}`, SITE,            [PATH]],
    [`${SITE}/clusters/prod/admission/deletions/${TOKEN}`, SITE,           [PATH]],
    [`${SITE}/${OTHER}`,                               SITE,               [PATH]],
    [`https://elsewhere.example.com${door}/${TOKEN}`,  SITE,               [BEGIN]],
    [`https://lifeboat.example.com:8443${door}`,       SITE,               [BEGIN]],
    [`${SITE}/behind${door}/${OTHER}`,                 SITE,               [BEGIN, LAST]],
  ])("%s, PUBLIC_URL %s", (url, publicUrl, said) => {
    expect(compared(installed("evictions", at(url)), { publicUrl })).toEqual(said);
  });

  test("the cluster's name may be escaped", () => {
    const url = `${SITE}/clusters/a%20b/admission/evictions`;
    expect(compared(installed("evictions", at(url)), { cluster: "a b" })).toEqual([]);
  });
});

const silent = (field: string) => `problem: lifeboat: ${field}: with this the API server asks nothing`;
const differs = (field: string) => `remark: lifeboat: not as shipped: ${field}`;

// prettier-ignore
test.each<[string, Readonly<Record<string, unknown>>, readonly string[]]>([
  ["no rules",                            { rules: [] },                                   [silent("rules"), differs("rules")]],
  ["updates only",                        rule({ operations: ["UPDATE"] }),                [silent("rules"), differs("rules")]],
  ["pods, but not their subresources",    rule({ resources: ["*"] }),                      [silent("rules"), differs("rules")]],
  ["evictions of anything",               rule({ operations: ["*"], resources: ["*/eviction"] }), [differs("rules")]],
  ["everything",                          rule({ resources: ["*/*"] }),                    [differs("rules")]],
  ["a condition that is never true",      condition("off", " false "),                     [silent("matchConditions.off")]],
  ["one rule more",                       { rules: [...rule({}).rules, ...rule({ resources: ["pods"] }).rules] }, [differs("rules")]],
  ["match conditions of a site",          condition("ours", "request.namespace != 'x'"),   []],
  ["a selector of namespaces",            { namespaceSelector: { matchLabels: { a: "b" } } }, [differs("namespaceSelector")]],
  ["a selector of objects",               { objectSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } }, [differs("objectSelector")]],
  ["selectors that leave nothing out",    { namespaceSelector: {}, objectSelector: { matchLabels: {} } }, []],
  ["failing closed, with less time",      { failurePolicy: "Fail", timeoutSeconds: 2 },    [differs("failurePolicy, timeoutSeconds")]],
  ["exact versions",                      { matchPolicy: "Exact" },                        [differs("matchPolicy")]],
  ["reviews of v1beta1",                  { admissionReviewVersions: ["v1beta1"] },        [silent("admissionReviewVersions"), differs("admissionReviewVersions")]],
  ["a Service",                           { clientConfig: { service: { name: "s" } } },    ["remark: lifeboat: clientConfig.service: whether that leads to Lifeboat cannot be seen"]],
  ["another name",                        { name: "mine" },                                ["problem: lifeboat: webhooks: expected one named evictions.lifeboat.dev"]],
])("%s", (_, tweak, said) => {
  expect(compared(installed("evictions", tweak))).toEqual(said);
});

describe("the guard", () => {
  const endpoint = "deletions";

  test.each(["requesters", "nodeTerminators"] as const)(
    "a user of guard.%s that the webhook does not name",
    (field) => {
      const guard = { ...DEFAULT_SETTINGS.guard, requesters: [], nodeTerminators: [], [field]: ["my-program"] };
      const said = [`remark: lifeboat-guard: matchConditions: my-program of guard.${field} is not named`];
      expect(compared(installed(endpoint), { endpoint, settings: settings({ guard }) })).toEqual(said);
      const both = condition("deletions", "request.userInfo.username in ['system:kube-scheduler', 'my-program']");
      expect(compared(installed(endpoint, both), { endpoint, settings: settings({ guard }) })).toEqual([]);
    },
  );
});

describe("an object that is not there", () => {
  const gated = settings({ featureGates: ["PreemptionEvictionLiveMigration"] });
  const missing = "problem: lifeboat: there is no such object: see webhook.yaml";
  const unguarded = "remark: lifeboat-guard: there is no such object, so no deletion is refused: see optional/guard";

  // prettier-ignore
  test.each<[string, Partial<WebhookExpectation>, readonly string[]]>([
    ["the webhook",                          { endpoint: "evictions" },                       [missing]],
    ["the guard, which is optional",         { endpoint: "deletions" },                       []],
    ["the guard, with its gate on",          { endpoint: "deletions", settings: gated },      [unguarded]],
  ])("%s", (_, expected, said) => {
    expect(compared("Absent", expected)).toEqual(said);
  });
});

test("one that may not be read is not known to be wrong", () => {
  expect(compared("Unread")).toEqual(["remark: lifeboat: cannot be read: see rbac.yaml"]);
});
