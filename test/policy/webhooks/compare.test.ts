/** The webhook objects that are installed, beside those that are shipped: which differences are problems, which remarks. */
import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { OwnWebhooks } from "../../../shared/kube/schemas/webhooks.ts";
import { DEFAULT_SETTINGS } from "../../../shared/policy/settings.ts";
import { compareWebhook, SHIPPED } from "../../../shared/policy/webhooks/compare.ts";
import type { WebhookDoor, WebhookExpectation } from "../../../shared/policy/webhooks/facts.ts";
import { readManifests } from "../../manifests/shipped.ts";
import { settings } from "../fixtures.ts";

const TOKEN = "secret-of-the-url";
const OLD = "secret/of old";
const OTHER = "secret-of-nobody";
const SITE = "https://lifeboat.example.com";
const FILES = { evictions: "webhook.yaml", deletions: "optional/guard/guard.yaml" } as const;

const Installed = z.looseObject({ webhooks: z.array(z.looseObject({ rules: z.array(z.looseObject({})) })) });

/** As the API server returns the shipped one after `sed`, with a tweak. */
function installed(door: WebhookDoor, tweak: Readonly<Record<string, unknown>> = {}) {
  const manifest = readManifests(FILES[door]).find(({ kind }) => kind === "ValidatingWebhookConfiguration");
  const { webhooks } = Installed.parse(manifest);
  const url = `${SITE}/clusters/prod/admission/${door}/${TOKEN}`;
  const filled = webhooks.map((one) => ({ ...one, clientConfig: { url }, ...tweak }));
  const metadata = { name: SHIPPED[door].object, uid: "uid", resourceVersion: "7" };
  return OwnWebhooks.parse({ metadata, webhooks: filled });
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
  const known = { door: "evictions", cluster: "prod", tokens: [TOKEN, OLD], publicUrl: undefined } as const;
  const { problems, remarks } = compareWebhook(found, { ...known, settings: DEFAULT_SETTINGS, ...expected });
  expect(JSON.stringify([problems, remarks])).not.toMatch(/secret/);
  return [...problems.map((one) => `problem: ${one}`), ...remarks.map((one) => `remark: ${one}`)];
}

test.each(["evictions", "deletions"] as const)("as shipped, %s: nothing to say", (door) => {
  expect(compared(installed(door), { door })).toEqual([]);
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

const NONE = "problem: lifeboat: rules: expected CREATE of pods/eviction";
const more = (name: string) =>
  `remark: lifeboat: matchConditions.${name}: not as shipped; what it leaves out is not sent`;

// prettier-ignore
test.each<[string, Readonly<Record<string, unknown>>, readonly string[]]>([
  ["every operation",                     rule({ operations: ["*"] }),                     []],
  ["every subresource",                   rule({ resources: ["pods/*"] }),                 []],
  ["evictions of anything",               rule({ resources: ["*/eviction"] }),             []],
  ["everything",                          rule({ resources: ["*/*"], apiGroups: ["*"], apiVersions: ["*"] }), []],
  ["no rules",                            { rules: [] },                                   [NONE]],
  ["rules that are null",                 { rules: null },                                 [NONE]],
  ["updates only",                        rule({ operations: ["UPDATE"] }),                [NONE]],
  ["pods, but not their subresources",    rule({ resources: ["*"] }),                      [NONE]],
  ["the group of the body's kind",        rule({ apiGroups: ["policy"] }),                 [NONE]],
  ["a version that there is not",         rule({ apiVersions: ["v2"] }),                   [NONE]],
  ["objects at cluster scope",            rule({ scope: "Cluster" }),                      [NONE]],
  ["one rule more",                       { rules: [...rule({}).rules, ...rule({ resources: ["pods"] }).rules] }, ["remark: lifeboat: rules: more than CREATE of pods/eviction"]],
  ["no match conditions",                 { matchConditions: [] },                         []],
  ["a condition of one's own",            condition("ours", "request.namespace != 'x'"),   [more("ours")]],
  ["a condition that is never true",      condition("off", " false "),                     ["problem: lifeboat: matchConditions.off: leaves everything out"]],
  ["a selector of namespaces",            { namespaceSelector: { matchLabels: { a: "b" } } }, ["remark: lifeboat: namespaceSelector: what it leaves out is not sent"]],
  ["a selector of objects",               { objectSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } }, ["remark: lifeboat: objectSelector: what it leaves out is not sent"]],
  ["selectors that leave nothing out",    { namespaceSelector: {}, objectSelector: { matchLabels: {} } }, []],
  ["failing closed",                      { failurePolicy: "Fail" },                       ["remark: lifeboat: failurePolicy: Fail, not Ignore"]],
  ["less time",                           { timeoutSeconds: 2 },                           ["remark: lifeboat: timeoutSeconds: 2, not 10"]],
  ["exact versions",                      { matchPolicy: "Exact" },                        ["remark: lifeboat: matchPolicy: expected Equivalent"]],
  ["reviews of v1beta1",                  { admissionReviewVersions: ["v1beta1"] },        ["problem: lifeboat: admissionReviewVersions: expected v1"]],
  ["a Service",                           { clientConfig: { service: { name: "s" } } },    ["remark: lifeboat: clientConfig.service: whether that leads to Lifeboat cannot be seen"]],
  ["another name",                        { name: "mine" },                                ["problem: lifeboat: webhooks: expected one named evictions.lifeboat.dev"]],
])("%s", (_, tweak, said) => {
  expect(compared(installed("evictions", tweak))).toEqual(said);
});

describe("the guard", () => {
  const door = "deletions";

  test("its timeout", () => {
    const said = ["remark: lifeboat-guard: timeoutSeconds: 20, not 10"];
    expect(compared(installed(door, { timeoutSeconds: 20 }), { door })).toEqual(said);
  });

  test.each(["requesters", "nodeTerminators"] as const)(
    "a user of guard.%s that the webhook does not name",
    (field) => {
      const guard = { ...DEFAULT_SETTINGS.guard, requesters: [], nodeTerminators: [], [field]: ["my-program"] };
      const said = [`remark: lifeboat-guard: matchConditions: my-program of guard.${field} is not named`];
      expect(compared(installed(door), { door, settings: settings({ guard }) })).toEqual(said);
      const both = condition("deletions", "request.userInfo.username in ['system:kube-scheduler', 'my-program']");
      expect(compared(installed(door, both), { door, settings: settings({ guard }) })).toEqual([]);
    },
  );
});

describe("an object that is not there", () => {
  const gated = settings({ featureGates: ["PreemptionEvictionLiveMigration"] });
  const missing = "problem: lifeboat: there is no such object: see webhook.yaml";
  const unguarded = "remark: lifeboat-guard: there is no such object, so no deletion is refused: see optional/guard";

  // prettier-ignore
  test.each<[string, Partial<WebhookExpectation>, readonly string[]]>([
    ["the webhook",                          { door: "evictions" },                       [missing]],
    ["the guard, which is optional",         { door: "deletions" },                       []],
    ["the guard, with its gate on",          { door: "deletions", settings: gated },      [unguarded]],
  ])("%s", (_, expected, said) => {
    expect(compared("Absent", expected)).toEqual(said);
  });
});

test("one that may not be read is not known to be wrong", () => {
  expect(compared("Unread")).toEqual(["remark: lifeboat: cannot be read: see rbac.yaml"]);
});
