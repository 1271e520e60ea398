/** Which webhook configurations are refused. */
import { contract } from "./contract.ts";
import { post } from "./requests.ts";
import { SERVING } from "./webhook.ts";

const RULE = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };
const WEBHOOK = {
  name: "a.example.com",
  admissionReviewVersions: ["v1"],
  sideEffects: "None",
  clientConfig: { url: "https://127.0.0.1/hook" },
  rules: [RULE],
};

const configured = (...webhooks: readonly object[]) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "contract-refused" },
  webhooks,
});
const PLURAL = `${SERVING}/validatingwebhookconfigurations?dryRun=All`;

const rule = (more: object) => ({ rules: [{ ...RULE, ...more }] });
const url = (text: string) => ({ clientConfig: { url: text } });
const when = (...expressions: readonly string[]) => ({
  matchConditions: expressions.map((expression, index) => ({ name: `c${index}`, expression })),
});

contract("a webhook configuration", ({ asks }) => {
  // prettier-ignore
  const rows: readonly (readonly [what: string, webhook: object, error: string])[] = [
    // what                           webhook                                                error
    ["as it should be",               {},                                                    ""],
    ["a short name",                  { name: "hook" },                                      'name: Invalid value: "hook": should be a domain with at least three segments separated by dots'],
    ["no name",                       { name: "" },                                          "name: Required value"],
    ["no operations",                 rule({ operations: [] }),                              "rules[0].operations: Required value"],
    ["an unknown operation",          rule({ operations: ["READ"] }),                        'rules[0].operations[0]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"'],
    ["every operation and more",      rule({ operations: ["*", "CREATE"] }),                 `rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`],
    ["no groups",                     rule({ apiGroups: [] }),                               "rules[0].apiGroups: Required value"],
    ["every group and more",          rule({ apiGroups: ["*", ""] }),                        `rules[0].apiGroups: Invalid value: ["*",""]: if '*' is present, must not specify other API groups`],
    ["no versions",                   rule({ apiVersions: [] }),                             "rules[0].apiVersions: Required value"],
    ["no resources",                  rule({ resources: [] }),                               "rules[0].resources: Required value"],
    ["every resource and more",       rule({ resources: ["*/*", "pods"] }),                  `rules[0].resources: Invalid value: ["*/*","pods"]: if '*/*' is present, must not specify other resources`],
    ["resources and one more",        rule({ resources: ["*", "pods"] }),                    `rules[0].resources: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources without subresources`],
    ["resources and a subresource",   rule({ resources: ["*", "pods/eviction"] }),           ""],
    ["an unknown scope",              rule({ scope: "World" }),                              'rules[0].scope: Unsupported value: "World": supported values: "*", "Cluster", "Namespaced"'],
    ["an unknown failure policy",     { failurePolicy: "Maybe" },                            'failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"'],
    ["an unknown match policy",       { matchPolicy: "Same" },                               'matchPolicy: Unsupported value: "Same": supported values: "Equivalent", "Exact"'],
    ["review versions unknown",       { admissionReviewVersions: ["v2"] },                   'admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1'],
    ["one of them known",             { admissionReviewVersions: ["v2", "v1"] },             ""],
    ["no review versions",            { admissionReviewVersions: [] },                       "admissionReviewVersions: Required value: must specify one of v1, v1beta1"],
    ["no client",                     { clientConfig: {} },                                  "clientConfig: Required value: exactly one of url or service is required"],
    ["a query in the URL",            url("https://127.0.0.1/hook?token=x"),                 'clientConfig.url: Invalid value: "token=x": query parameters are not permitted in the URL'],
    ["a fragment in the URL",         url("https://127.0.0.1/hook#x"),                       'clientConfig.url: Invalid value: "x": fragments are not permitted in the URL'],
    ["a user in the URL",             url("https://u@127.0.0.1/hook"),                       'clientConfig.url: Invalid value: "u": user information is not permitted in the URL'],
    ["no host in the URL",            url("https:///hook"),                                  'clientConfig.url: Invalid value: "": host must be specified; desired format: https://host[/path]'],
    ["a bad selector",                { namespaceSelector: { matchExpressions: [{ key: "a", operator: "In" }] } }, "namespaceSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
    ["a condition",                   when("object.metadata.name == 'a'"),                   ""],
    ["an empty condition",            when(" "),                                             "matchConditions[0].expression: Required value"],
    ["a condition of a number",       when("1 + 1"),                                         'matchConditions[0].expression: Invalid value: "1 + 1": must evaluate to bool'],
    ["a condition of anything",       when("object.spec"),                                   'matchConditions[0].expression: Invalid value: "object.spec": must evaluate to bool'],
    ["conditions of one name",        { matchConditions: [{ name: "c", expression: "true" }, { name: "c", expression: "true" }] }, 'matchConditions[1].name: Duplicate value: "c"'],
  ];
  for (const [what, webhook, error] of rows)
    asks(
      what,
      post(PLURAL, configured({ ...WEBHOOK, ...webhook })),
      error === ""
        ? { code: 201 }
        : {
            code: 422,
            reason: "Invalid",
            message: `ValidatingWebhookConfiguration.admissionregistration.k8s.io "contract-refused" is invalid: webhooks[0].${error}`,
          },
    );
  asks("a condition that does not compile", post(PLURAL, configured({ ...WEBHOOK, ...when("true", "nope.x") })), {
    code: 422,
    message:
      /webhooks\[0\]\.matchConditions\[1\]\.expression: .*compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope'/,
  });
  asks("webhooks of one name", post(PLURAL, configured(WEBHOOK, WEBHOOK)), {
    code: 422,
    message: /webhooks\[1\]\.name: Duplicate value: "a\.example\.com"$/,
  });
});
