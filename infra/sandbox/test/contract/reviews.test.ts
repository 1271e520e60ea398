/** Tokens, the objects they are bound to, TokenReviews and access reviews. */
import { expect } from "vitest";
import type { Request } from "./client.ts";
import { contract } from "./contract.ts";
import { get, patch, pod, post } from "./requests.ts";
import { valueAt } from "./value-at.ts";

const request = (spec: object = {}, metadata: object = {}) => ({
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenRequest",
  metadata,
  spec,
});
const bound = (reference: object) => request({ boundObjectRef: { apiVersion: "v1", ...reference } });
const account = (name: string) => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name } });
const SECONDS = "spec.expirationSeconds: Invalid value";

contract("a request for a token", ({ asks, given }) => {
  given("an account", post("serviceaccounts", account("a")));
  given("a pod of another", post("pods", pod("p")));
  // prettier-ignore
  const rows = [
    // what                              request                                             answer
    ["an hour",                          request({ expirationSeconds: 3600 }),               { code: 201, "spec.expirationSeconds": 3600 }],
    ["for others",                       request({ audiences: ["vault"] }),                  { code: 201, "spec.audiences": ["vault"] }],
    ["for two others",                   request({ audiences: ["vault", "lifeboat"] }),      { code: 201, "spec.audiences": ["vault", "lifeboat"] }],
    ["a minute",                         request({ expirationSeconds: 60 }),                 { code: 422, message: `TokenRequest.authentication.k8s.io "" is invalid: ${SECONDS}: 60: may not specify a duration less than 10 minutes` }],
    ["for centuries",                    request({ expirationSeconds: 2 ** 33 }),            { code: 422, message: /may not specify a duration larger than 2\^32 seconds$/ }],
    ["a time that is no number",         request({ expirationSeconds: "1h" }),               { code: 400 }],
    ["of another name",                  request({}, { name: "b" }),                         { code: 422, "details.causes.0.field": "metadata.name" }],
    ["in another namespace",             request({}, { namespace: "elsewhere" }),            { code: 400 }],
    ["bound to a pod that is not there", bound({ kind: "Pod", name: "none" }),               { code: 404, message: 'pods "none" not found' }],
    ["bound to a pod of another",        bound({ kind: "Pod", name: "p" }),                  { code: 400, message: 'cannot bind token for serviceaccount "a" to pod running with different serviceaccount name.' }],
    ["bound to a config map",            bound({ kind: "ConfigMap", name: "c" }),            { code: 400 }],
  ] as const;
  for (const [what, body, answer] of rows) asks(what, post("serviceaccounts/a/token", body), answer);
  asks("of an account that is not there", post("serviceaccounts/none/token", request()), { code: 404 });
});

const review = (token: string, audiences?: readonly string[]) =>
  post("/apis/authentication.k8s.io/v1/tokenreviews", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token, ...(audiences && { audiences }) },
  });

contract("a review of a token", ({ asks, given, checks, namespace }) => {
  const tokens = new Map<string, string>();
  given("an account", post("serviceaccounts", account("a")));
  given("a secret", post("secrets", { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } }));
  const bodies = {
    plain: request(),
    other: request({ audiences: ["vault"] }),
    both: request({ audiences: ["vault", "lifeboat"] }),
    bound: bound({ kind: "Secret", name: "s" }),
  };
  checks("tokens are issued", async (send) => {
    for (const [name, body] of Object.entries(bodies)) {
      const { body: answer } = await send(post("serviceaccounts/a/token", body));
      tokens.set(name, String(valueAt(answer, "status.token")));
    }
    expect(tokens.size).toBe(4);
  });
  const of = (name: string, audiences?: readonly string[]) => () => review(tokens.get(name) ?? "", audiences);
  const is = {
    code: 201,
    "status.authenticated": true,
    "status.user.username": `system:serviceaccount:${namespace}:a`,
  };
  asks("it is good", of("plain"), is);
  asks("but not for others", of("plain", ["vault"]), {
    code: 201,
    "status.authenticated": undefined,
    "status.user.username": undefined,
  });
  asks("one for others is, for them", of("other", ["vault", "x"]), { ...is, "status.audiences": ["vault"] });
  asks("one for two is for each of them", of("both", ["lifeboat"]), { ...is, "status.audiences": ["lifeboat"] });
  asks("and nowhere else", of("other"), { code: 201, "status.error": expect.any(String) });
  asks("one that is bound is good", of("bound"), is);
  asks("no token at all", review(""), { code: 400, message: "token is required for TokenReview in authentication" });
});

const ask = (kind: string, spec: object) =>
  post(`/apis/authorization.k8s.io/v1/${kind.startsWith("Local") ? "namespaces/{ns}/" : ""}${kind.toLowerCase()}s`, {
    apiVersion: "authorization.k8s.io/v1",
    kind,
    spec,
  });

const refused = (text: string) => ({ code: 422, message: `.authorization.k8s.io "" is invalid: spec.${text}` });

contract("a review of permissions", ({ asks }) => {
  const resourceAttributes = { verb: "get", resource: "pods" };
  const nonResourceAttributes = { verb: "get", path: "/x" };
  asks(
    "of nothing",
    ask("SelfSubjectAccessReview", {}),
    refused(
      "resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
    ),
  );
  asks(
    "of both kinds",
    ask("SelfSubjectAccessReview", { resourceAttributes, nonResourceAttributes }),
    refused(
      'nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes',
    ),
  );
  asks(
    "of nobody",
    ask("SubjectAccessReview", { resourceAttributes }),
    refused('user: Invalid value: "": at least one of user or group must be specified'),
  );
  asks("of a group", ask("SubjectAccessReview", { resourceAttributes, groups: ["system:masters"] }), {
    code: 201,
    "status.allowed": true,
  });
  asks("of oneself", ask("SelfSubjectAccessReview", { nonResourceAttributes }), { code: 201, "status.allowed": true });
  asks(
    "elsewhere than here",
    ask("LocalSubjectAccessReview", {
      user: "u",
      resourceAttributes: { ...resourceAttributes, namespace: "elsewhere" },
    }),
    {
      code: 422,
      "details.causes.0.field": "spec.resourceAttributes.namespace",
    },
  );
  asks("of all rules, nowhere", ask("SelfSubjectRulesReview", {}), { code: 400 });
});

const RBAC = "rbac.authorization.k8s.io";

contract("an apply by one who may only patch", ({ asks, given, checks, namespace }) => {
  let token = "";
  const me = `system:serviceaccount:${namespace}:patcher`;
  const rules = [{ verbs: ["patch"], apiGroups: [""], resources: ["configmaps"] }];
  const roleRef = { apiGroup: RBAC, kind: "Role", name: "patcher" };
  const subjects = [{ kind: "ServiceAccount", name: "patcher" }];
  const common = { apiVersion: `${RBAC}/v1`, metadata: { name: "patcher" } };
  given("an account", post("serviceaccounts", account("patcher")));
  given("its role", post(`${RBAC}/v1/roles`, { ...common, kind: "Role", rules }));
  given("bound", post(`${RBAC}/v1/rolebindings`, { ...common, kind: "RoleBinding", roleRef, subjects }));
  given("a config map", post("configmaps", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "there" } }));
  checks("it has a token", async (send) => {
    token = String(valueAt((await send(post("serviceaccounts/patcher/token", request()))).body, "status.token"));
    expect(token).not.toBe("");
  });
  const apply = (name: string) => (): Request => ({
    ...patch(`configmaps/${name}?fieldManager=me`, "apply", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name },
    }),
    token,
  });
  asks("changes what is there", apply("there"), { code: 200 });
  asks("creates nothing", apply("new"), {
    code: 403,
    reason: "Forbidden",
    message: `configmaps "new" is forbidden: User "${me}" cannot create resource "configmaps" in API group "" in the namespace "${namespace}"`,
  });
  asks("nor is it there now", get("configmaps/new"), { code: 404 });
});
