/** Authentication and authorization: tokens, roles, impersonation, and the texts of refusals. */
import { expect } from "vitest";
import { contract } from "./contract.ts";
import { configMap, get, pod, post } from "./requests.ts";
import type { Request, Target } from "./client.ts";
import { valueAt } from "./value-at.ts";

const RBAC = "rbac.authorization.k8s.io";

interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
}

function role(name: string, rules: readonly Rule[]): Record<string, unknown> {
  return { apiVersion: `${RBAC}/v1`, kind: "Role", metadata: { name }, rules };
}

function bindingTo(name: string): Record<string, unknown> {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "RoleBinding",
    metadata: { name },
    roleRef: { apiGroup: RBAC, kind: "Role", name },
    subjects: [{ kind: "ServiceAccount", name }],
  };
}

const account = (name: string) => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name } });

const tokenRequest = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };

async function tokenOf(send: Target["send"], name: string): Promise<string> {
  return String(valueAt((await send(post(`serviceaccounts/${name}/token`, tokenRequest))).body, "status.token"));
}

contract("a service account", ({ asks, given, checks, namespace }) => {
  let token = "";
  const me = `system:serviceaccount:${namespace}:worker`;
  const rules: readonly Rule[] = [
    { verbs: ["get"], apiGroups: [""], resources: ["pods"] },
    { verbs: ["get"], apiGroups: [""], resources: ["configmaps"], resourceNames: ["mine"] },
    { verbs: ["patch"], apiGroups: ["contract.example.com"], resources: ["gadgets"] },
  ];
  given("the account", post("serviceaccounts", account("worker")));
  given("its role", post(`${RBAC}/v1/roles`, role("worker", rules)));
  given("and the binding", post(`${RBAC}/v1/rolebindings`, bindingTo("worker")));
  given("a pod", post("pods", pod("p")));
  given("its config map", post("configmaps", configMap("mine")));
  given("another", post("configmaps", configMap("other")));
  const gadget = { apiVersion: "contract.example.com/v1", kind: "Gadget", metadata: { name: "g" } };
  given("a custom object", post("example/gadgets", gadget));
  checks("gets a token", async (send) => {
    token = await tokenOf(send, "worker");
    expect(token.split(".")).toHaveLength(3);
  });
  const mine = (request: Request) => (): Request => ({ ...request, token });
  const forbidden = (what: string) => ({
    code: 403,
    reason: "Forbidden",
    message: `${what} in the namespace "${namespace}"`,
  });

  asks("not list", mine(get("pods")), {
    ...forbidden(`pods is forbidden: User "${me}" cannot list resource "pods" in API group ""`),
    "details.kind": "pods",
  });
  asks("by name", mine(get("configmaps/mine")), { code: 200 });
  asks("a list of one name is a read of it", mine(get("configmaps?fieldSelector=metadata.name%3Dmine")), {
    ...forbidden(`configmaps "mine" is forbidden: User "${me}" cannot list resource "configmaps" in API group ""`),
  });
  asks(
    "get of what it may patch",
    mine(get("example/gadgets/g")),
    forbidden(
      `gadgets.contract.example.com "g" is forbidden: User "${me}" cannot get resource "gadgets" in API group "contract.example.com"`,
    ),
  );
  asks(
    "what is below a subresource",
    mine(get("pods/p/proxy/metrics")),
    forbidden(`pods "p" is forbidden: User "${me}" cannot get resource "pods/proxy" in API group ""`),
  );
  asks("a path", mine(get("/metrics")), {
    code: 403,
    reason: "Forbidden",
    message: `forbidden: User "${me}" cannot get path "/metrics"`,
  });
  asks("discovery is for all users", mine(get("/api")), { code: 200 });

  const ask = (attributes: object) =>
    mine(
      post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: { namespace, ...attributes } },
      }),
    );
  asks("asks whether it may not", ask({ verb: "delete", resource: "pods" }), { code: 201, "status.allowed": false });
});

contract("impersonation", ({ asks, given, checks, namespace }) => {
  let token = "";
  const other = `system:serviceaccount:${namespace}:other`;
  given("an account", post("serviceaccounts", account("actor")));
  given("another", post("serviceaccounts", account("other")));
  given(
    "the other may read pods",
    post(`${RBAC}/v1/roles`, role("other", [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }])),
  );
  given("bound", post(`${RBAC}/v1/rolebindings`, bindingTo("other")));
  given("a pod", post("pods", pod("p")));
  checks("the first has a token", async (send) => {
    token = await tokenOf(send, "actor");
    expect(token).not.toBe("");
  });
  const as =
    (user: string, headers: Readonly<Record<string, string>> = {}) =>
    (): Request => ({
      ...get("pods/p", { headers: { "impersonate-user": user, ...headers } }),
      token,
    });
  // In other words where it can be constrained, which the simulated one does not know.
  asks("no user may by default", as(other), { code: 403, reason: "Forbidden" });
  const rule = { verbs: ["impersonate"], apiGroups: [""], resources: ["serviceaccounts"], resourceNames: ["other"] };
  given("a role for it", post(`${RBAC}/v1/roles`, role("actor", [rule])));
  given("bound to the actor", post(`${RBAC}/v1/rolebindings`, bindingTo("actor")));
  asks("then what the other may is allowed", as(other), { code: 200 });
  asks("and no more", () => ({ ...get("pods", { headers: { "impersonate-user": other } }), token }), {
    code: 403,
    message: `pods is forbidden: User "${other}" cannot list resource "pods" in API group "" in the namespace "${namespace}"`,
  });
  asks("not in other groups", as(other, { "impersonate-group": "system:masters" }), {
    code: 403,
    message: /^groups "system:masters" is forbidden: /,
  });
  asks("an administrator may impersonate any user", get("pods/p", { headers: { "impersonate-user": "nobody" } }), {
    code: 403,
    message: `pods "p" is forbidden: User "nobody" cannot get resource "pods" in API group "" in the namespace "${namespace}"`,
  });
});

contract("giving permissions away", ({ asks, given, checks, namespace }) => {
  let token = "";
  const me = `system:serviceaccount:${namespace}:giver`;
  const read: Rule = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };
  const manage: Rule = { verbs: ["create", "update"], apiGroups: [RBAC], resources: ["roles", "rolebindings"] };
  given("an account", post("serviceaccounts", account("giver")));
  given("that reads pods and writes roles", post(`${RBAC}/v1/roles`, role("giver", [read, manage])));
  given("bound", post(`${RBAC}/v1/rolebindings`, bindingTo("giver")));
  given("a role with more", post(`${RBAC}/v1/roles`, role("more", [{ ...read, verbs: ["delete"] }])));
  checks("it has a token", async (send) => {
    token = await tokenOf(send, "giver");
    expect(token).not.toBe("");
  });
  const mine = (request: Request) => (): Request => ({ ...request, token });
  const groups = `["system:serviceaccounts" "system:serviceaccounts:${namespace}" "system:authenticated"]`;
  const refused = (what: string) => ({
    code: 403,
    reason: "Forbidden",
    message:
      `${what} is forbidden: user "${me}" (groups=${groups}) is attempting to grant RBAC permissions not currently held:\n` +
      '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
  });
  asks("what it has it may give", mine(post(`${RBAC}/v1/roles`, role("same", [read]))), { code: 201 });
  asks(
    "not what it lacks",
    mine(post(`${RBAC}/v1/roles`, role("greedy", [read, { ...read, verbs: ["delete"] }]))),
    refused('roles.rbac.authorization.k8s.io "greedy"'),
  );
  asks(
    "nor by a binding",
    mine(post(`${RBAC}/v1/rolebindings`, bindingTo("more"))),
    refused('rolebindings.rbac.authorization.k8s.io "more"'),
  );
  const lifted: Rule = { verbs: ["bind"], apiGroups: [RBAC], resources: ["roles"], resourceNames: ["more"] };
  given("it may bind that role", post(`${RBAC}/v1/roles`, role("binder", [lifted])));
  const binder = { ...bindingTo("binder"), subjects: [{ kind: "ServiceAccount", name: "giver" }] };
  given("which is bound", post(`${RBAC}/v1/rolebindings`, binder));
  asks("then it does", mine(post(`${RBAC}/v1/rolebindings`, bindingTo("more"))), { code: 201 });
});
