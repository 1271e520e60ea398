/** Creating, reading and replacing objects: names, conflicts, dry run, what the server adds and what it ignores. */
import { expect } from "vitest";
import { contract } from "./contract.ts";
import { configMap, example, get, patch, pod, post, put } from "./requests.ts";
import { valueAt } from "./value-at.ts";

const MODIFIED = "the object has been modified; please apply your changes to the latest version and try again";
const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end " +
  "with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

contract("create", ({ asks, given, namespace }) => {
  asks("a pod", post("pods", pod("first", { metadata: { labels: { app: "a" } } })), {
    code: 201,
    kind: "Pod",
    "status.phase": "Pending",
    "spec.restartPolicy": "Always",
    "metadata.generation": 1,
  });
  asks("the same name again", post("pods", pod("first")), {
    code: 409,
    reason: "AlreadyExists",
    message: 'pods "first" already exists',
    "details.name": "first",
    "details.kind": "pods",
  });
  asks("a generated name", post("pods", pod("", { metadata: { name: undefined, generateName: "drawn-" } })), {
    code: 201,
    "metadata.generateName": "drawn-",
  });
  asks("a name that is none", post("pods", pod("Not_A_Name")), {
    code: 422,
    reason: "Invalid",
    message: `Pod "Not_A_Name" is invalid: metadata.name: Invalid value: "Not_A_Name": ${SUBDOMAIN}`,
    "details.kind": "Pod",
  });
  asks("no name", post("configmaps", configMap("", { metadata: { name: undefined } })), {
    code: 422,
    reason: "Invalid",
    message: / metadata\.name: Required value: name or generateName is required$/,
  });
  asks("a label that is none", post("configmaps", configMap("labelled", { metadata: { labels: { a: "not ok" } } })), {
    code: 422,
    reason: "Invalid",
    message: /metadata\.labels: Invalid value: "not ok": a valid label must be an empty string or consist of/,
  });
  asks("what is not JSON", { ...post("pods", "{no"), method: "POST" }, { code: 400, reason: "BadRequest" });
  asks("for another namespace", post("configmaps", configMap("elsewhere", { metadata: { namespace: "default" } })), {
    code: 400,
    reason: "BadRequest",
    message: "the namespace of the provided object does not match the namespace sent on the request",
  });
  asks("in a namespace that does not exist", post("/api/v1/namespaces/no-such-place/pods", pod("lost")), {
    code: 404,
    reason: "NotFound",
    message: 'namespaces "no-such-place" not found',
    "details.kind": "namespaces",
  });
  asks("a namespace", get("/api/v1/namespaces/{ns}"), {
    code: 200,
    "status.phase": "Active",
    "metadata.labels": { "kubernetes.io/metadata.name": namespace },
  });
  asks("a dry run", post("configmaps?dryRun=All", configMap("dry", { data: { a: "1" } })), {
    code: 201,
    data: { a: "1" },
  });
  asks("and it left nothing", get("configmaps/dry"), {
    code: 404,
    reason: "NotFound",
    message: 'configmaps "dry" not found',
  });
  asks("a dry run of another sort", post("configmaps?dryRun=Some", configMap("dry")), {
    code: 422,
    reason: "Invalid",
    message: /^CreateOptions\.meta\.k8s\.io "" is invalid: dryRun: Unsupported value/,
    "details.causes": [
      {
        reason: "FieldValueNotSupported",
        message: 'Unsupported value: ["Some"]: supported values: "All"',
        field: "dryRun",
      },
    ],
  });
  given(
    "an object with a status, of a kind that keeps it apart",
    post("example/widgets", example("Widget", "w", { status: { a: 1 } })),
  );
  asks("it starts without", get("example/widgets/w"), { code: 200, status: undefined, "metadata.generation": 1 });
  given("one of a kind that does not", post("example/gadgets", example("Gadget", "g", { status: { a: 1 } })));
  asks("it is a field like any other", get("example/gadgets/g"), { code: 200, status: { a: 1 } });
});

contract("read", ({ asks }) => {
  asks("what is missing", get("pods/nothing"), {
    code: 404,
    reason: "NotFound",
    message: 'pods "nothing" not found',
    "details.name": "nothing",
    "details.kind": "pods",
  });
  asks("what is missing, of a group", get("example/widgets/nothing"), {
    code: 404,
    message: 'widgets.contract.example.com "nothing" not found',
    "details.group": "contract.example.com",
    "details.kind": "widgets",
  });
  asks("a group that is not served", get("/apis/nobody.example.org/v1/things"), { code: 404 });
  asks("a subresource that can only be created", get("pods/nothing/eviction"), {
    code: 405,
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
  });
  asks("a status subresource where the kind has none", get("example/gadgets/g/status"), { code: 404 });
});

contract("replace", ({ asks, given, checks }) => {
  given("an object", post("configmaps", configMap("c", { data: { a: "1" } })));
  asks("without a resourceVersion", put("configmaps/c", configMap("c", { data: { a: "2" } })), {
    code: 200,
    data: { a: "2" },
  });
  asks("with a stale one", put("configmaps/c", configMap("c", { metadata: { resourceVersion: "1" } })), {
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on configmaps "c": ${MODIFIED}`,
    "details.name": "c",
    "details.kind": "configmaps",
  });
  asks("under another name", put("configmaps/c", configMap("d")), {
    code: 400,
    reason: "BadRequest",
    message: "the name of the object (d) does not match the name on the URL (c)",
  });
  asks("another object of that name", put("configmaps/c", configMap("c", { metadata: { uid: "0-0-0" } })), {
    code: 409,
    reason: "Conflict",
    message: /Precondition failed: UID in precondition: 0-0-0, UID in object meta: /,
  });
  asks("what is missing", put("configmaps/none", configMap("none")), { code: 404, reason: "NotFound" });
  checks("a write that changes nothing keeps the resourceVersion", async (send) => {
    const before = await send(get("configmaps/c"));
    const after = await send(patch("configmaps/c", "merge", { data: { a: "2" } }));
    expect(valueAt(after.body, "metadata.resourceVersion")).toBe(valueAt(before.body, "metadata.resourceVersion"));
  });
  checks("a dry run changes nothing", async (send) => {
    const before = await send(get("configmaps/c"));
    const dry = await send(patch("configmaps/c?dryRun=All", "merge", { data: { a: "3" } }));
    expect(valueAt(dry.body, "data.a")).toBe("3");
    expect((await send(get("configmaps/c"))).text).toBe(before.text);
  });
});

contract("status subresource", ({ asks, given }) => {
  given("a widget", post("example/widgets", example("Widget", "w", { spec: { size: 1 } })));
  asks(
    "the main resource ignores a status",
    patch("example/widgets/w", "merge", { spec: { size: 2 }, status: { a: 1 } }),
    {
      code: 200,
      "spec.size": 2,
      status: undefined,
      "metadata.generation": 2,
    },
  );
  asks(
    "the status ignores everything else",
    patch("example/widgets/w/status", "merge", {
      metadata: { labels: { a: "b" } },
      spec: { size: 3 },
      status: { a: 1 },
    }),
    {
      code: 200,
      "spec.size": 2,
      "status.a": 1,
      "metadata.labels": undefined,
      "metadata.generation": 2,
    },
  );
  given("a gadget", post("example/gadgets", example("Gadget", "g")));
  asks(
    "where there is no such subresource all fields are desired state",
    patch("example/gadgets/g", "merge", { status: { a: 1 } }),
    {
      code: 200,
      "status.a": 1,
      "metadata.generation": 2,
    },
  );
  asks("metadata is not", patch("example/gadgets/g", "merge", { metadata: { labels: { a: "b" } } }), {
    code: 200,
    "metadata.generation": 2,
  });
  given("a pod", post("pods", pod("p", { metadata: { labels: { a: "b" } } })));
  asks("a pod's status", patch("pods/p/status", "merge", { status: { phase: "Running" } }), {
    code: 200,
    "status.phase": "Running",
  });
  asks("a pod's main resource", patch("pods/p", "merge", { status: { phase: "Failed" } }), {
    code: 200,
    "status.phase": "Running",
  });
});

contract("fields a kind does not have", ({ asks, checks }) => {
  const odd = { ...configMap("odd", { data: { a: "1" } }), extra: 1 };
  asks("are refused if the client is strict", post("configmaps?fieldValidation=Strict", odd), {
    code: 400,
    reason: "BadRequest",
    message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "extra"',
  });
  checks("are dropped with a warning else", async (send) => {
    const { code, body, headers } = await send(post("configmaps", odd));
    expect({ code, extra: body.extra, warning: headers.warning }).toEqual({
      code: 201,
      extra: undefined,
      warning: '299 - "unknown field \\"extra\\""',
    });
  });
  checks("without one if the client wants none", async (send) => {
    const { code, headers } = await send(
      post("configmaps?fieldValidation=Ignore", { ...odd, metadata: { name: "odder" } }),
    );
    expect({ code, warning: headers.warning }).toEqual({ code: 201, warning: undefined });
  });
  asks(
    "deep inside",
    post("pods?fieldValidation=Strict", pod("deep", { spec: { containers: [{ name: "c", image: "i", colour: 1 }] } })),
    {
      code: 400,
      message:
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.containers[0].colour"',
    },
  );
  asks("a value of another type", post("configmaps", configMap("typed", { data: { a: 1 } })), {
    code: 400,
    reason: "BadRequest",
    message:
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ' +
      "ConfigMap.data of type string",
  });
});
