/** Lists: selectors and their errors, pages, representations. */
import { expect } from "vitest";
import { contract } from "./contract.ts";
import { configMap, example, get, pod, post } from "./requests.ts";
import { valueAt } from "./value-at.ts";

contract("label selectors", ({ asks, given }) => {
  const labels = [{ app: "s", tier: "x" }, { app: "s", tier: "y" }, { app: "s" }];
  for (const [index, each] of labels.entries()) {
    given(`config map c${index}`, post("configmaps", configMap(`c${index}`, { metadata: { labels: each } })));
  }
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ["app=s", ["c0", "c1", "c2"]],
    ["app=s,tier!=x", ["c1", "c2"]],
    ["app=s,tier notin (x)", ["c1", "c2"]],
    ["app=other", []],
  ];
  for (const [selector, names] of rows) {
    asks(selector, get(`configmaps?labelSelector=${encodeURIComponent(selector)}`), {
      code: 200,
      kind: "ConfigMapList",
      apiVersion: "v1",
      "items.metadata.name": names,
    });
  }
  for (const malformed of ["a in b", "a in (b"]) {
    asks(`malformed: ${malformed}`, get(`configmaps?labelSelector=${encodeURIComponent(malformed)}`), {
      code: 400,
      reason: "BadRequest",
      message: /^unable to parse requirement: /,
    });
  }
  asks("malformed: =a", get("configmaps?labelSelector=%3Da"), {
    code: 400,
    reason: "BadRequest",
    message: "found '=', expected: !, identifier, or 'end of string'",
  });
});

contract("field selectors", ({ asks, given }) => {
  given(
    "a bound pod",
    post("pods", pod("bound", { metadata: { labels: { a: "b" } }, spec: { nodeName: "somewhere" } })),
  );
  given("an unbound pod", post("pods", pod("unbound", { metadata: { labels: { a: "b" } } })));
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ["spec.nodeName=", ["unbound"]],
    ["spec.nodeName!=somewhere", ["unbound"]],
    ["status.phase=Pending", ["bound", "unbound"]],
    ["status.phase!=Pending", []],
  ];
  for (const [selector, names] of rows) {
    asks(selector, get(`pods?fieldSelector=${encodeURIComponent(selector)}&labelSelector=a=b`), {
      code: 200,
      "items.metadata.name": names,
    });
  }
});

contract("pages", ({ given, checks }) => {
  for (const name of ["c0", "c1", "c2"]) {
    given(name, post("configmaps", configMap(name, { metadata: { labels: { app: "s" } } })));
  }
  const page = "configmaps?labelSelector=app=s&limit=2";
  checks("the second continues it, as of the same moment", async (send) => {
    const first = await send(get(page));
    await send(post("configmaps", configMap("c3", { metadata: { labels: { app: "s" } } })));
    const token = encodeURIComponent(String(valueAt(first.body, "metadata.continue")));
    const second = await send(get(`${page}&continue=${token}`));
    expect(valueAt(second.body, "items.metadata.name")).toEqual(["c2"]);
    expect(valueAt(second.body, "metadata.continue")).toBeUndefined();
    expect(valueAt(second.body, "metadata.resourceVersion")).toBe(valueAt(first.body, "metadata.resourceVersion"));
  });
});

const TABLE = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };

contract("representations", ({ asks, given }) => {
  given("a config map", post("configmaps", configMap("c", { data: { a: "1" } })));
  given("a widget", post("example/widgets", example("Widget", "w")));
  asks("a table of one", get("configmaps/c", { headers: TABLE }), {
    code: 200,
    kind: "Table",
    "columnDefinitions.name": ["Name", "Data", "Age"],
    "rows.object.kind": ["PartialObjectMetadata"],
    "rows.object.metadata.name": ["c"],
  });
  asks("a table of a custom kind", get("example/widgets", { headers: TABLE }), {
    code: 200,
    kind: "Table",
    "columnDefinitions.name": ["Name", "Age"],
  });
  asks("a table without objects", get("configmaps/c?includeObject=None", { headers: TABLE }), {
    code: 200,
    "rows.object": [null],
  });
  asks(
    "metadata only",
    get("configmaps/c", { headers: { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" } }),
    { code: 200, kind: "PartialObjectMetadata", "metadata.name": "c", data: undefined },
  );
  asks("nothing this server can make", get("configmaps/c", { headers: { accept: "text/html" } }), {
    code: 406,
    reason: "NotAcceptable",
  });
});

contract("what the server serves", ({ asks, checks }) => {
  checks("pods, and what can be asked of one", async (send) => {
    const { body } = await send(get("/api/v1"));
    expect(body.resources).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          name: "pods",
          singularName: "pod",
          kind: "Pod",
          namespaced: true,
          shortNames: ["po"],
          verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        }),
        expect.objectContaining({
          name: "pods/eviction",
          group: "policy",
          version: "v1",
          kind: "Eviction",
          verbs: ["create"],
        }),
        expect.objectContaining({ name: "pods/status", kind: "Pod", verbs: ["get", "patch", "update"] }),
      ]),
    );
  });
  asks("groups", get("/apis"), { code: 200, kind: "APIGroupList" });
  asks("one group", get("/apis/contract.example.com"), { code: 200, "preferredVersion.version": "v1" });
  asks("its version", get("/version"), { code: 200, major: "1" });
  for (const path of ["/readyz", "/healthz"]) asks(path, get(path), { code: 200 });
});
