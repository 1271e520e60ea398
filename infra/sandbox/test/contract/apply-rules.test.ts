/** Server-side apply: valid configurations, permissions, which fields become owned. */
import { expect } from "vitest";
import type { Request, Target } from "./client.ts";
import { contract } from "./contract.ts";
import { configMap, get, patch, pod, post } from "./requests.ts";
import { valueAt } from "./value-at.ts";

const apply = (place: string, body: unknown, manager = "me", more = ""): Request =>
  patch(`${place}?fieldManager=${encodeURIComponent(manager)}${more}`, "apply", body);

const untyped = (why: string) => ({
  code: 500,
  reason: undefined,
  message: `failed to create typed patch object (/c; /v1, Kind=ConfigMap): ${why}`,
});

contract("a configuration", ({ asks, given }) => {
  const map = configMap("c", { data: { a: "1" } });
  const asked = (more: object) => apply("configmaps/c", { ...map, ...more });
  given("an object", apply("configmaps/c", map));

  // prettier-ignore
  const rows = [
    // configuration                                             answer
    [{ kind: undefined },                                        { code: 400, message: "invalid object type: /v1, Kind=" }],
    [{ apiVersion: "policy/v1" },                                { code: 400, message: "invalid object type: policy/v1, Kind=ConfigMap" }],
    [{ colour: "red" },                                          untyped(".colour: field not declared in schema")],
    [{ data: { a: 5 } },                                         untyped(".data.a: expected string, got &value.valueUnstructured{Value:5}")],
    [{ immutable: "yes" },                                       untyped('.immutable: expected boolean, got &value.valueUnstructured{Value:"yes"}')],
    [{ metadata: { name: "c", namespace: "elsewhere" } },        { code: 400, reason: "BadRequest" }],
    [{ metadata: {} },                                           { code: 200 }],
  ] as const;
  for (const [more, answer] of rows) asks(JSON.stringify(more), asked(more), answer);

  asks("neither YAML nor JSON", apply("configmaps/c", "a: b: c"), { code: 400, reason: "BadRequest" });
  asks("no object", apply("configmaps/c", "[]"), { code: 400, reason: "BadRequest" });
  asks("a manager with a line break", apply("configmaps/c", map, "a\nb"), {
    code: 422,
    message:
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Invalid value: "a\\nb": invalid character U+000A (at position 1)',
  });
  asks("a manager of 128 characters", apply("configmaps/c", map, "m".repeat(128)), { code: 200 });
  asks("one of 129, of any write", patch(`configmaps/c?fieldManager=${"m".repeat(129)}`, "merge", {}), {
    code: 422,
    message: 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes',
  });
  asks("octal numbers, and times that stay texts", apply("configmaps/c", YAML, "yaml"), {
    code: 200,
    "data.time": "2026-11-20T00:00:00Z",
    immutable: undefined,
  });
});

const YAML = `apiVersion: v1
kind: ConfigMap
metadata: {name: c}
immutable: ~
data:
  time: 2026-11-20T00:00:00Z
`;

contract("an applied object that is not there", ({ asks }) => {
  asks("without a name", apply("configmaps/new", { apiVersion: "v1", kind: "ConfigMap" }), {
    code: 400,
    message: "the name of the object (new based on URL) was undeterminable: name must be provided",
  });
  asks("of a certain uid", apply("configmaps/new", configMap("new", { metadata: { uid: "u-1" } })), {
    code: 409,
    message:
      'Operation cannot be fulfilled on configmaps "new": uid mismatch: the provided object specified uid u-1, and no ' +
      "existing object was found",
  });
  asks("its status", apply("pods/none/status", { apiVersion: "v1", kind: "Pod", status: {} }), { code: 404 });
  asks("itself", apply("configmaps/new", configMap("new")), { code: 201 });
});

const RBAC = "rbac.authorization.k8s.io";

contract("who may only patch", ({ asks, given, checks, namespace }) => {
  let token = "";
  const account = { kind: "ServiceAccount", name: "patcher" };
  const role = { apiGroup: RBAC, kind: "Role", name: "patcher" };
  const rules = [
    { verbs: ["patch"], apiGroups: [""], resources: ["configmaps"] },
    { verbs: ["update"], apiGroups: ["coordination.k8s.io"], resources: ["leases"] },
  ];
  given("an account", post("serviceaccounts", { metadata: { name: "patcher" } }));
  given("its role", post(`${RBAC}/v1/roles`, { metadata: { name: "patcher" }, rules }));
  given(
    "bound",
    post(`${RBAC}/v1/rolebindings`, { metadata: { name: "patcher" }, roleRef: role, subjects: [account] }),
  );
  given("an object", post("configmaps", configMap("there")));
  checks("gets a token", async (send: Target["send"]) => {
    token = String(valueAt((await send(post("serviceaccounts/patcher/token", {}))).body, "status.token"));
    expect(token).not.toBe("undefined");
  });
  const mine = (request: Request) => (): Request => ({
    ...request,
    path: request.path.replaceAll("{ns}", namespace),
    token,
  });
  const forbidden = (resource: string, group: string) => ({
    code: 403,
    reason: "Forbidden",
    message:
      `${group === "" ? resource : `${resource}.${group}`} "new" is forbidden: User "system:serviceaccount:${namespace}:patcher" ` +
      `cannot create resource "${resource}" in API group "${group}" in the namespace "${namespace}"`,
  });
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "new" } };
  asks("changes by apply", mine(apply("configmaps/there", configMap("there", { data: { a: "1" } }))), { code: 200 });
  asks("does not create by it", mine(apply("configmaps/new", configMap("new"))), forbidden("configmaps", ""));
  asks(
    "nor does who may only update, by PUT",
    mine({ method: "PUT", path: "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/new", body: lease }),
    forbidden("leases", "coordination.k8s.io"),
  );
  asks("nothing came of it", get("configmaps/new"), { code: 404 });
});

contract("what of a configuration is owned", ({ asks, given, checks }) => {
  given("a pod", post("pods?fieldManager=creator", pod("p", { metadata: { generateName: "p-" } })));
  asks("where names came from", get("pods/p"), {
    code: 200,
    "metadata.managedFields.0.fieldsV1.[f:metadata]": { "f:generateName": {} },
  });
  const both = { ...pod("p"), metadata: { labels: { a: "1" } }, status: { phase: "Running" } };
  given("an apply that has a status", apply("pods/p", both));
  asks("does not set it", get("pods/p"), { code: 200, "status.phase": "Pending" });
  given("an apply of the status that has labels", apply("pods/p/status", both, "kubelet", "&force=true"));
  checks("each owns its part", async (send) => {
    const entries = valueAt((await send(get("pods/p"))).body, "metadata.managedFields");
    const owned = (Array.isArray(entries) ? entries : []).map((entry): [string, string[]] => [
      String(valueAt(entry, "manager")),
      Object.keys(Object(valueAt(entry, "fieldsV1"))),
    ]);
    expect(Object.fromEntries(owned)).toMatchObject({
      me: ["f:metadata", "f:spec"],
      kubelet: ["f:metadata", "f:status"],
    });
  });
});

const managers = (...list: string[]) => ({ code: 200, "metadata.managedFields.manager": list });

const write = (data: object) => patch("configmaps/c?fieldManager=writer", "merge", { data });

contract("ownership that is forgotten", ({ asks, given, checks }) => {
  const untracked = { code: 200, "metadata.managedFields": undefined };
  given("an object", post("configmaps?fieldManager=creator", configMap("c", { data: { a: "1" } })));
  asks("by null it is not", patch("configmaps/c", "merge", { metadata: { managedFields: null } }), managers("creator"));
  asks("by an empty list", patch("configmaps/c", "merge", { metadata: { managedFields: [] } }), untracked);
  asks("from then on no update is owned", write({ a: "2" }), untracked);
  asks("up to the first apply", apply("configmaps/c", configMap("c", { data: { a: "3" } })), {
    code: 409,
    message: 'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a',
  });
  given("and an apply of something else", apply("configmaps/c", configMap("c", { data: { b: "1" } })));
  checks("beside what was there before", async (send) => {
    const owners = valueAt((await send(get("configmaps/c"))).body, "metadata.managedFields.manager");
    expect(new Set(Object(owners))).toEqual(new Set(["before-first-apply", "me"]));
  });
  asks("by a list of nothing", patch("configmaps/c", "json", NOTHING), untracked);
});

const NOTHING = [{ op: "replace", path: "/metadata/managedFields", value: [{}] }];
