/** Special rules of patches: where the server's libraries differ from the standards, and invalid results. */
import { contract } from "./contract.ts";
import { configMap, patch, pod, post } from "./requests.ts";

const REJECTED = { code: 422, reason: "Invalid", message: /^the server rejected our request/, details: {} } as const;
const BAD = { code: 400, reason: "BadRequest" } as const;

const json = (...operations: unknown[]) => patch("configmaps/c", "json", operations);
const merge = (body: object) => patch("configmaps/c", "merge", body);

contract("JSON patch by its own rules", ({ asks, given }) => {
  const metadata = { annotations: { "x.io/y": "1" }, finalizers: ["x.io/a", "x.io/b"] };
  given("an object", post("configmaps", configMap("c", { metadata, data: { a: "1" } })));

  // prettier-ignore
  const rows = [
    // operation                                                                        answer
    [{ op: "test", path: "/data/none", value: null },                                   { code: 200 }],
    [{ op: "test", path: "/data/none" },                                                { code: 200 }],
    [{ op: "test", path: "/binaryData/none", value: null },                             REJECTED],
    [{ op: "test", path: "/data/a" },                                                   REJECTED],
    [{ op: "test", path: "/data/a/deeper", value: "1" },                                REJECTED],
    [{ op: "test", path: "/metadata/finalizers/-1", value: "x.io/b" },                  { code: 200 }],
    [{ op: "test", path: "/metadata/finalizers/-3", value: null },                      REJECTED],
    [{ op: "test", path: "/metadata/finalizers/+1", value: "x.io/b" },                  { code: 200 }],
    [{ op: "test", path: "/metadata/finalizers/-", value: "x.io/b" },                   REJECTED],
    [{ op: "test", path: "/metadata/finalizers/2", value: null },                       REJECTED],
    [{ op: "test", path: "/metadata/finalizers", value: ["x.io/b", "x.io/a"] },         REJECTED],
    [{ op: "test", path: "/metadata/annotations", value: { "x.io/y": "1" } },           { code: 200 }],
    [{ op: "test", path: "", value: {} },                                               REJECTED],
    [{ op: "replace", path: "", value: "text" },                                        REJECTED],
    [{ op: "replace", path: "/metadata/finalizers/2", value: "x.io/c" },                REJECTED],
    [{ op: "add", path: "", value: {} },                                                REJECTED],
    [{ op: "remove", path: "" },                                                        REJECTED],
    [{ op: "remove", path: "/metadata/finalizers/-" },                                  REJECTED],
    [{ op: "move", from: "/metadata", path: "/metadata/labels" },                       REJECTED],
    [{ op: "copy", from: "/binaryData/a", path: "/data/x" },                            REJECTED],
    [{ op: "copy", path: "/data/x" },                                                   REJECTED],
    [{ op: "add", path: "nowhere", value: "1" },                                        REJECTED],
    [{ op: "add", value: "1" },                                                         REJECTED],
    [{ op: "frob", path: "/data/x", value: "1" },                                       REJECTED],
    [{ op: "add", path: 5, value: "1" },                                                BAD],
    [{ op: 5, path: "/data/x", value: "1" },                                            BAD],
    ["add",                                                                             BAD],
  ] as const;
  for (const [operation, answer] of rows) asks(JSON.stringify(operation), json(operation), answer);

  asks("what is first moved can be tested", json({ op: "move", from: "/data/a", path: "/data/b" }), {
    code: 200,
    data: { b: "1" },
  });
  asks("an index counts from the end", json({ op: "add", path: "/metadata/finalizers/-1", value: "x.io/c" }), {
    code: 200,
    "metadata.finalizers": ["x.io/a", "x.io/b", "x.io/c"],
  });
  asks("an item moves", json({ op: "move", from: "/metadata/finalizers/0", path: "/metadata/finalizers/-" }), {
    code: 200,
    "metadata.finalizers": ["x.io/b", "x.io/c", "x.io/a"],
  });
  asks("no operations", patch("configmaps/c", "json", "null"), { code: 200, data: { b: "1" } });
  asks("a missing object comes before a malformed patch", patch("configmaps/none", "json", {}), { code: 404 });
  asks("a null is the empty text", json({ op: "add", path: "/data/n", value: null }), {
    code: 200,
    data: { b: "1", n: "" },
  });
});

const unreadable = (why: RegExp) => ({
  code: 422,
  reason: "Invalid",
  message: why,
  "details.causes.field": ["patch"],
});

contract("what a patch must not leave", ({ asks, given }) => {
  given("an object", post("configmaps", configMap("c", { data: { a: "1" } })));
  asks(
    "a number for a text",
    merge({ data: { a: 1 } }),
    unreadable(/^ "" is invalid: patch: Invalid value: "\{.*cannot/),
  );
  asks("a text for a map", merge({ data: "a" }), unreadable(/cannot unmarshal string into Go struct field ConfigMap/));
  asks("another kind", merge({ kind: "Secret" }), unreadable(/^ "" is invalid: patch: /));
  asks("another version", merge({ apiVersion: "v2" }), unreadable(/^ "" is invalid: patch: /));
  asks("another name", merge({ metadata: { name: "d" } }), {
    ...BAD,
    message: "the name of the object (d) does not match the name on the URL (c)",
  });
  asks("no name", merge({ metadata: { name: null } }), {
    ...BAD,
    message: "the name of the object (c based on URL) was undeterminable: name must be provided",
  });
  asks("a deletion", merge({ metadata: { deletionTimestamp: "2020-01-01T00:00:00Z" } }), {
    code: 422,
    message: /^ConfigMap "c" is invalid: metadata\.deletionTimestamp: Invalid value: .+: field is immutable$/,
  });
  asks("a grace", merge({ metadata: { deletionGracePeriodSeconds: 5 } }), {
    code: 422,
    message: 'ConfigMap "c" is invalid: metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable',
  });
  asks("a list in place of the patch", patch("configmaps/c", "merge", []), BAD);
  asks("force", patch("configmaps/c?force=false", "merge", {}), { code: 422 });
  asks(
    "nulls within lists go with merge patches",
    merge({ metadata: { ownerReferences: [owner({ controller: null })] } }),
    {
      code: 200,
      "metadata.ownerReferences": [owner()],
    },
  );
});

const owner = (more: object = {}) => ({ apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u-1", ...more });

const strategic = (body: object, place = "pods/p") => patch(place, "strategic", body);
const conditions = (body: object) => strategic({ status: body }, "pods/p/status");

contract("directives of a strategic patch", ({ asks, given }) => {
  given("a pod", post("pods", pod("p", { metadata: { labels: { a: "1" } } })));
  given("its conditions", conditions({ conditions: ["A", "B"].map((type) => ({ type, status: "True" })) }));
  asks("a list is only reordered", conditions({ "$setElementOrder/conditions": [{ type: "B" }, { type: "A" }] }), {
    code: 200,
    "status.conditions.type": ["B", "A"],
  });
  asks("an order of what is not there", strategic({ metadata: { "$setElementOrder/finalizers": ["x.io/a"] } }), {
    code: 200,
    "metadata.finalizers": undefined,
  });
  asks("an item without its key", strategic({ spec: { containers: [{ image: "x" }] } }), {
    code: 500,
    reason: undefined,
    message: /^map: .+ does not contain declared merge key: name$/,
  });
  asks("an unknown directive", strategic({ metadata: { $patch: "frob" } }), { code: 500, reason: undefined });
  asks("in a list, too", conditions({ conditions: [{ type: "A", $patch: "merge" }] }), { code: 500 });
  asks("none is obeyed where nothing is", strategic({ metadata: { annotations: { $patch: "replace", a: "1" } } }), {
    code: 200,
    "metadata.annotations": undefined,
  });
  asks("keys beside those to retain", strategic({ metadata: { labels: { $retainKeys: ["a"], b: "1" } } }), {
    ...BAD,
    message: "invalid patch format of retainKeys",
  });
  asks("only those to retain", strategic({ metadata: { labels: { $retainKeys: ["b"], b: "1" } } }), {
    code: 200,
    "metadata.labels": { b: "1" },
  });
  asks("a map that is deleted", strategic({ metadata: { labels: { $patch: "delete" } } }), {
    code: 200,
    "metadata.labels": undefined,
  });
});

const fixed = (...fields: string[]) => ({ code: 422, reason: "Invalid", "details.causes.field": fields });

const map = (body: object) => patch("configmaps/c", "merge", body);

const tolerates = (list: object[]) => patch("pods/p", "merge", { spec: { tolerations: list } });

contract("what is fixed", ({ asks, given }) => {
  given("an immutable object", post("configmaps", { ...configMap("c", { data: { a: "1" } }), immutable: true }));
  asks("its data", map({ data: { a: "2" } }), {
    ...fixed("data"),
    message: 'ConfigMap "c" is invalid: data: Forbidden: field is immutable when `immutable` is set',
  });
  asks("other data", map({ binaryData: { b: "MQ==" } }), fixed("binaryData"));
  asks("that it is immutable", map({ immutable: null }), fixed("immutable"));
  asks("not its labels", map({ metadata: { labels: { a: "1" } } }), { code: 200 });
  given("a secret", post("secrets", { metadata: { name: "s" }, immutable: false }));
  asks("its type", patch("secrets/s", "merge", { type: "other" }), fixed("type"));
  asks("it becomes immutable", patch("secrets/s", "merge", { immutable: true }), { code: 200 });

  const tolerations = ["one", "two"].map((key) => ({
    key,
    operator: "Exists",
    tolerationSeconds: 5,
    effect: "NoExecute",
  }));
  given("a pod", post("pods", pod("p", { spec: { tolerations } })));
  asks("a toleration", tolerates(tolerations.slice(1)), {
    ...fixed("spec.tolerations"),
    message: /: Forbidden: existing toleration can not be modified except its tolerationSeconds$/,
  });
  asks("not for how long", tolerates(tolerations.map((one) => ({ ...one, tolerationSeconds: 9 }))), { code: 200 });
  asks("the number of containers", patch("pods/p", "json", [{ op: "remove", path: "/spec/containers/0" }]), {
    ...fixed("spec.containers"),
    message: 'Pod "p" is invalid: spec.containers: Forbidden: pod updates may not add or remove containers',
  });
});
