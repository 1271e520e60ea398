/** The patch formats: what each makes of an object, and where the server's libraries differ from the RFCs. */
import { contract } from "./contract.ts";
import { configMap, example, get, patch, pod, post } from "./requests.ts";

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
  asks("a test that holds", json({ op: "test", path: "/metadata/labels/app", value: "a" }), { code: 200 });
  asks("a test that fails", json({ op: "test", path: "/metadata/labels/app", value: "b" }), REJECTED);
  asks("null is what a missing key has", json({ op: "test", path: "/metadata/labels/none", value: null }), {
    code: 200,
  });
  asks("nothing after a failed test is done", get("pods/p"), { code: 200, "metadata.labels": { app: "a" } });
  asks("add", json({ op: "add", path: "/metadata/labels/x", value: "y" }), {
    code: 200,
    "metadata.labels": { app: "a", x: "y" },
  });
  asks("replace of a missing key adds it", json({ op: "replace", path: "/metadata/labels/z", value: "y" }), {
    code: 200,
    "metadata.labels.z": "y",
  });
  asks("a slash in a key", json({ op: "add", path: "/metadata/labels/a.b~1c", value: "d" }), {
    code: 200,
    "metadata.labels.[a.b/c]": "d",
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
  asks("remove what is missing", json({ op: "remove", path: "/metadata/labels/moved" }), REJECTED);
  asks("add below a missing map", json({ op: "add", path: "/metadata/annotations/x", value: "y" }), REJECTED);
  asks("add behind the end of a list", json({ op: "add", path: "/spec/containers/7", value: {} }), REJECTED);
  asks("not a list of operations", patch("pods/p", "json", { op: "add" }), { code: 400, reason: "BadRequest" });
  asks("not JSON", patch("pods/p", "json", "[{"), { code: 400, reason: "BadRequest" });
  asks("of what is missing", patch("pods/none", "json", []), { code: 404, message: 'pods "none" not found' });

  given("a custom object", post("example/gadgets", example("Gadget", "g", { status: { node: "a" } })));
  asks(
    "of a field that a test guards",
    patch("example/gadgets/g", "json", [
      { op: "test", path: "/status/node", value: "a" },
      { op: "add", path: "/status/mark", value: "a" },
    ]),
    { code: 200, status: { node: "a", mark: "a" } },
  );
  asks(
    "below a missing map of a custom object",
    patch("example/gadgets/g", "json", [{ op: "add", path: "/metadata/annotations/x", value: "y" }]),
    REJECTED,
  );
});

contract("merge patch", ({ asks, given }) => {
  given("a pod", post("pods", pod("p", { metadata: { labels: { app: "a", x: "y" } } })));
  asks("null removes", merge({ labels: { x: null, never: null, m: "1" }, annotations: { k: "v" } }), {
    code: 200,
    "metadata.labels": { app: "a", m: "1" },
    "metadata.annotations": { k: "v" },
  });
  asks("a stale resourceVersion", merge({ resourceVersion: "1", labels: { m: "2" } }), {
    code: 409,
    reason: "Conflict",
    message:
      'Operation cannot be fulfilled on pods "p": the object has been modified; please apply your changes to the latest ' +
      "version and try again",
  });
  asks("another uid", merge({ uid: "0-0-0" }), {
    code: 422,
    reason: "Invalid",
    message: 'Pod "p" is invalid: metadata.uid: Invalid value: "0-0-0": field is immutable',
    "details.causes.field": ["metadata.uid", "metadata.uid"],
  });
  asks("a field of a pod that is fixed", patch("pods/p", "merge", { spec: { nodeName: "elsewhere" } }), {
    code: 422,
    reason: "Invalid",
    message: /^Pod "p" is invalid: spec: Forbidden: pod updates may not change fields other than `spec\.containers/,
  });
  asks("a media type nobody knows", patch("pods/p", { type: "application/foo" }, {}), {
    code: 415,
    reason: "UnsupportedMediaType",
    message: "415: Unsupported Media Type",
  });
});

contract("strategic merge patch", ({ asks, given }) => {
  given("a pod", post("pods", pod("p", { metadata: { finalizers: ["example.com/a"] } })));
  asks("containers merge by name", strategic({ spec: { containers: [{ name: "two", image: "example/other" }] } }), {
    code: 200,
    "spec.containers.name": ["one", "two"],
    "spec.containers.image": ["example/one", "example/other"],
  });
  asks("finalizers are a set", strategic({ metadata: { finalizers: ["example.com/b"] } }), {
    code: 200,
    "metadata.finalizers": ["example.com/b", "example.com/a"],
  });
  asks(
    "from which values can be deleted",
    strategic({ metadata: { "$deleteFromPrimitiveList/finalizers": ["example.com/a", "example.com/b"] } }),
    {
      code: 200,
      "metadata.finalizers": undefined,
    },
  );
  asks("conditions merge by type", conditions({ type: "Ready", status: "False" }, { type: "Other", status: "True" }), {
    code: 200,
    "status.conditions.type": ["Ready", "Other"],
  });
  asks("new ones come first", conditions({ type: "New", status: "True" }), {
    code: 200,
    "status.conditions.type": ["New", "Ready", "Other"],
  });
  asks("they are deleted by directive", conditions({ type: "Other", $patch: "delete" }), {
    code: 200,
    "status.conditions.type": ["New", "Ready"],
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
  given("a custom object", post("example/gadgets", example("Gadget", "g")));
  asks("custom kinds take none", patch("example/gadgets/g", "strategic", {}), {
    code: 415,
    reason: "UnsupportedMediaType",
    message: /^the body of the request was in an unknown format - accepted media types include: /,
  });
});
