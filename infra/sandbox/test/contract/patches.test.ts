/** The patch formats: their results, and where the server's libraries differ from the RFCs. */
import { contract } from "./contract.ts";
import { configMap, get, patch, pod, post } from "./requests.ts";

const REJECTED = {
  code: 422,
  reason: "Invalid",
  message: "the server rejected our request due to an error in our request",
  details: {},
} as const;

const json = (...operations: object[]) => patch("pods/p", "json", operations);
const merge = (metadata: object) => patch("pods/p", "merge", { metadata });
const strategic = (body: object) => patch("pods/p", "strategic", body);
const conditions = (...list: object[]) => patch("pods/p/status", "strategic", { status: { conditions: list } });

contract("JSON patch", ({ asks, given }) => {
  given("a pod", post("pods", pod("p", { metadata: { labels: { app: "a" } } })));
  asks("a test that fails", json({ op: "test", path: "/metadata/labels/app", value: "b" }), REJECTED);
  asks("nothing after a failed test is done", get("pods/p"), { code: 200, "metadata.labels": { app: "a" } });
  asks("add", json({ op: "add", path: "/metadata/labels/x", value: "y" }), {
    code: 200,
    "metadata.labels": { app: "a", x: "y" },
  });
  asks("replace of a missing key adds it", json({ op: "replace", path: "/metadata/labels/z", value: "y" }), {
    code: 200,
    "metadata.labels.z": "y",
  });
  asks("move", json({ op: "move", from: "/metadata/labels/x", path: "/metadata/labels/moved" }), {
    code: 200,
    "metadata.labels.moved": "y",
    "metadata.labels.x": undefined,
  });
  asks("copy", json({ op: "copy", from: "/metadata/labels/app", path: "/metadata/labels/copied" }), {
    code: 200,
    "metadata.labels.copied": "a",
  });
  asks("remove", json({ op: "remove", path: "/metadata/labels/moved" }), {
    code: 200,
    "metadata.labels.moved": undefined,
  });
  asks("add behind the end of a list", json({ op: "add", path: "/spec/containers/7", value: {} }), REJECTED);
  asks("not JSON", patch("pods/p", "json", "[{"), { code: 400, reason: "BadRequest" });
  asks("of what is missing", patch("pods/none", "json", []), { code: 404, message: 'pods "none" not found' });
});

contract("merge patch", ({ asks, given }) => {
  given("a pod", post("pods", pod("p", { metadata: { labels: { app: "a", x: "y" } } })));
  asks("a stale resourceVersion", merge({ resourceVersion: "1", labels: { m: "2" } }), {
    code: 409,
    reason: "Conflict",
    message:
      'Operation cannot be fulfilled on pods "p": the object has been modified; please apply your changes to the latest ' +
      "version and try again",
  });
  asks("a field of a pod that is fixed", patch("pods/p", "merge", { spec: { nodeName: "elsewhere" } }), {
    code: 422,
    reason: "Invalid",
    message: /^Pod "p" is invalid: spec: Forbidden: pod updates may not change fields other than `spec\.containers/,
  });
});

contract("strategic merge patch", ({ asks, given }) => {
  given("a pod", post("pods", pod("p", { metadata: { finalizers: ["example.com/a"] } })));
  asks("finalizers are a set", strategic({ metadata: { finalizers: ["example.com/b"] } }), {
    code: 200,
    "metadata.finalizers": ["example.com/b", "example.com/a"],
  });
  asks("conditions merge by type", conditions({ type: "Ready", status: "False" }, { type: "Other", status: "True" }), {
    code: 200,
    "status.conditions.type": ["Ready", "Other"],
  });
  asks("or all replaced", conditions({ $patch: "replace" }, { type: "Ready", status: "True" }), {
    code: 200,
    "status.conditions.type": ["Ready"],
    "status.conditions.status": ["True"],
  });
  given("a config map", post("configmaps", configMap("c", { data: { a: "1", b: "2" } })));
  asks("a map is replaced by directive", patch("configmaps/c", "strategic", { data: { $patch: "replace", c: "3" } }), {
    code: 200,
    data: { c: "3" },
  });
});
