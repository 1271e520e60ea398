/** Bodies: undecodable ones, duplicate fields, nulls, size limits. */
import { expect } from "vitest";
import { contract } from "./contract.ts";
import { configMap, example, get, patch, post, put } from "./requests.ts";
import { valueAt } from "./value-at.ts";

const map = (rest: string): string => `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}${rest}}`;
const DRY = "configmaps?dryRun=All";
const UNRECOGNIZED =
  "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: ";
const META =
  'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

const unregistered = (kind: string, version: string): string =>
  `no kind "${kind}" is registered for version "${version}" in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"`;

contract("what is no object", ({ asks, given }) => {
  given("an object", post("configmaps", configMap("c")));
  for (const [body, message] of [
    ["", "unexpected end of JSON input (<empty>)"],
    ['{"a":', 'unexpected end of JSON input ({"a":)'],
    ['{"a":"b', 'unexpected end of JSON input ({"a":"b)'],
    ["xyz", "invalid character 'x' looking for beginning of value (78797a)"],
    ["[]", `json: cannot unmarshal array into ${META} (5b5d)`],
    ["5", `json: cannot unmarshal number into ${META} (35)`],
    ["true", `json: cannot unmarshal bool into ${META} (74727565)`],
    [`"${"x".repeat(40)}"`, `json: cannot unmarshal string into ${META} (22${"78".repeat(29)} ...)`],
  ] as const) {
    for (const [verb, request] of [
      ["POST", post(DRY, body)],
      ["PUT", put("configmaps/c?dryRun=All", body)],
    ] as const)
      asks(`${verb}: ${body}`, request, { code: 400, reason: "BadRequest", message: UNRECOGNIZED + message });
  }
  asks("null is an empty object", post(DRY, "null"), { code: 422, message: /metadata\.name: Required value/ });
  for (const [kind, version, message] of [
    ["Nope", "v1", `Nope in version "v1" cannot be handled as a ConfigMap: ${unregistered("Nope", "v1")}`],
    [
      "ConfigMap",
      "v2",
      `ConfigMap in version "v2" cannot be handled as a ConfigMap: ${unregistered("ConfigMap", "v2")}`,
    ],
    [
      "ConfigMap",
      "apps/v1",
      `ConfigMap in version "v1" cannot be handled as a ConfigMap: ${unregistered("ConfigMap", "apps/v1")}`,
    ],
    ["Pod", "v1", /^Pod in version "v1" cannot be handled as a ConfigMap: .*unknown conversion$/],
  ] as const)
    asks(`${kind} of ${version}`, post(DRY, { kind, apiVersion: version, metadata: { name: "c" } }), {
      code: 400,
      message,
    });
  asks(
    "a custom kind in another version",
    post("example/widgets", { ...example("Widget", "w"), apiVersion: "contract.example.com/v2" }),
    {
      code: 400,
      message:
        "the API version in the data (contract.example.com/v2) does not match the expected API version (contract.example.com/v1)",
    },
  );
  asks("an empty kind", post(DRY, { kind: "", apiVersion: "", metadata: { name: "d" } }), {
    code: 201,
    kind: "ConfigMap",
  });
});

const ofStrict = (paths: readonly string[]): string =>
  `strict decoding error: ${paths.map((path) => `duplicate field "${path}"`).join(", ")}`;

const pod = (ports: string): string =>
  `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"one","image":"x"},{"name":"two","image":"x","ports":[{},{${ports}}]}]}}`;

contract("what is said twice", ({ asks, given, checks }) => {
  given("an object", post("configmaps", configMap("c", { data: { a: "1" } })));
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['"data":{"a":"1","b":"a","a":"2"}', ["data.a"]],
    ['"data":{"a":"1"},"data":{"a":"2"}', ["data"]],
    ['"data":{"a":"1","a":"1","a":"2","b":"{\\"c\\":1,\\"c\\":2}"}', ["data.a"]],
    ['"data":{"\\u0061":"1" , "a" : "2"}', ["data.a"]],
    ['"data":{"a":"2","b":"a"}', []],
  ];
  for (const [fields, paths] of rows) {
    const request = put("configmaps/c?dryRun=All&fieldValidation=Strict", map(`,${fields}`));
    if (paths.length === 0) asks(`once: ${fields}`, request, { code: 200 });
    else
      asks(`refused: ${fields}`, request, {
        code: 400,
        message: `ConfigMap in version "v1" cannot be handled as a ConfigMap: ${ofStrict(paths)}`,
      });
    checks(`warned of: ${fields}`, async (send) => {
      for (const request of [
        put("configmaps/c?dryRun=All", map(`,${fields}`)),
        patch("configmaps/c?dryRun=All", "merge", `{${fields}}`),
      ]) {
        const { code, headers, body } = await send(request);
        expect(code).toBe(200);
        expect(valueAt(body, "data.a")).toBe("2");
        const warnings = paths.map((path) => String.raw`299 - "duplicate field \"${path}\""`);
        expect(headers.warning ?? "").toBe(warnings.join(", "));
      }
    });
  }
  asks(
    "in an item of a list",
    post("pods?dryRun=All&fieldValidation=Strict", pod('"containerPort":1,"containerPort":2')),
    {
      code: 400,
      message: `Pod in version "v1" cannot be handled as a Pod: ${ofStrict(["spec.containers[1].ports[1].containerPort"])}`,
    },
  );
  asks(
    "ignored, if so wished",
    put("configmaps/c?dryRun=All&fieldValidation=Ignore", map(',"data":{"a":"1","a":"2"}')),
    {
      code: 200,
      "data.a": "2",
    },
  );
  asks("an unknown wish", put("configmaps/c?fieldValidation=Some", map("")), {
    code: 422,
    message:
      'UpdateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Some": ' +
      'supported values: "", "Ignore", "Strict", "Warn"',
  });
});

contract("a null", ({ asks }) => {
  const labels = { a: null, b: "c" };
  asks("of a label is empty", post("configmaps", configMap("l", { metadata: { labels }, data: { k: "v" } })), {
    code: 201,
    "metadata.labels": { a: "", b: "c" },
  });
  asks(
    "of a custom object's label, too",
    post("example/widgets", example("Widget", "w", { metadata: { name: "w", labels } })),
    {
      code: 201,
      "metadata.labels": { a: "", b: "c" },
    },
  );
  asks("in a JSON patch", patch("configmaps/l", "json", [{ op: "add", path: "/data/k", value: null }]), {
    code: 200,
    data: { k: "" },
  });
  asks(
    "in a merge patch takes away",
    patch("configmaps/l", "merge", { metadata: { labels: { a: null } }, data: null }),
    {
      code: 200,
      "metadata.labels": { b: "c" },
      data: undefined,
    },
  );
  const nothing = { labels: null, annotations: null, finalizers: null, ownerReferences: null, generateName: null };
  asks(
    "elsewhere says nothing",
    post("configmaps", { ...configMap("n", { metadata: nothing }), data: null, immutable: null }),
    {
      code: 201,
      "metadata.labels": undefined,
      "metadata.ownerReferences": undefined,
      data: undefined,
      immutable: undefined,
    },
  );
});

const data = (bytes: number): object => ({ data: { a: "x".repeat(bytes) } });

contract("sizes", ({ asks }) => {
  const limit = 1024 * 1024;
  asks("a config map of a mebibyte", post("configmaps", configMap("fits", data(limit))), { code: 201 });
  const tooLong = "is invalid: []: Too long: may not be more than 1048576 bytes";
  asks("a larger one", post(DRY, configMap("large", data(limit + 1))), {
    code: 422,
    message: `ConfigMap "large" ${tooLong}`,
  });
  asks(
    "a secret is measured decoded",
    post("secrets?dryRun=All", { metadata: { name: "s" }, stringData: { a: "x".repeat(limit) } }),
    {
      code: 201,
    },
  );
  asks(
    "a larger secret",
    post("secrets?dryRun=All", { metadata: { name: "s" }, stringData: { a: "x".repeat(limit + 1) } }),
    {
      code: 422,
      message: `Secret "s" ${tooLong}`,
    },
  );
  const annotations = { a: "x".repeat(256 * 1024) };
  asks("annotations of more than 256 KiB", post(DRY, configMap("c", { metadata: { annotations } })), {
    code: 422,
    message: /metadata\.annotations: Too long: may not be more than 262144 bytes$/,
  });
  const widget = example("Widget", "large", { spec: { text: "x".repeat(1.6 * limit) } });
  asks("what etcd does not take", post("example/widgets", widget), {
    code: 500,
    reason: undefined,
    message: "etcdserver: request is too large",
  });
  asks("it is not stored", get("example/widgets/large"), { code: 404 });
  for (const [what, labels, message] of [
    ["a key of 64", { ["k".repeat(64)]: "v" }, /: name part must be no more than 63 bytes$/],
    ["a prefix of 254", { [`${"p".repeat(254)}/k`]: "v" }, /: prefix part must be no more than 253 bytes$/],
    ["an empty prefix", { "/k": "v" }, /: prefix part must be non-empty$/],
    ["an empty name", { "a/": "v" }, /"a\/": name part must be non-empty, /],
    ["two prefixes", { "a/b/c": "v" }, /: a valid label key must .* with an optional DNS subdomain prefix and '\/'/],
    ["a value of 64", { a: "v".repeat(64) }, /: must be no more than 63 bytes$/],
  ] as const)
    asks(`a label with ${what}`, post(DRY, configMap("c", { metadata: { labels } })), { code: 422, message });
  asks(
    "an annotation's key may have capitals",
    post(DRY, configMap("c", { metadata: { annotations: { "A.b/C": "" } } })),
    {
      code: 201,
    },
  );
});
