/** Creating, reading and replacing objects: names, conflicts, dry run, fields that the server adds or ignores. */
import { expect } from "vitest";
import { contract } from "./contract.ts";
import { configMap, example, get, patch, pod, post, put } from "./requests.ts";
import { valueAt } from "./value-at.ts";

contract("create", ({ asks, given, namespace }) => {
  asks("a pod", post("pods", pod("first", { metadata: { labels: { app: "a" } } })), {
    code: 201,
    kind: "Pod",
    "status.phase": "Pending",
    "spec.restartPolicy": "Always",
    "metadata.generation": 1,
  });
  asks("a label that is none", post("configmaps", configMap("labelled", { metadata: { labels: { a: "not ok" } } })), {
    code: 422,
    reason: "Invalid",
    message: /metadata\.labels: Invalid value: "not ok": a valid label must be an empty string or consist of/,
  });
  asks("for another namespace", post("configmaps", configMap("elsewhere", { metadata: { namespace: "default" } })), {
    code: 400,
    reason: "BadRequest",
    message: "the namespace of the provided object does not match the namespace sent on the request",
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
  given(
    "an object with a status, of a kind that keeps it apart",
    post("example/widgets", example("Widget", "w", { status: { a: 1 } })),
  );
  asks("it starts without", get("example/widgets/w"), { code: 200, status: undefined, "metadata.generation": 1 });
  given("one of a kind that does not", post("example/gadgets", example("Gadget", "g", { status: { a: 1 } })));
  asks("it is a field like any other", get("example/gadgets/g"), { code: 200, status: { a: 1 } });
});

contract("read", ({ asks }) => {
  asks("what is missing, of a group", get("example/widgets/nothing"), {
    code: 404,
    message: 'widgets.contract.example.com "nothing" not found',
    "details.group": "contract.example.com",
    "details.kind": "widgets",
  });
  asks("a status subresource where the kind has none", get("example/gadgets/g/status"), { code: 404 });
});

contract("replace", ({ asks, given, checks }) => {
  given("an object", post("configmaps", configMap("c", { data: { a: "1" } })));
  asks("without a resourceVersion", put("configmaps/c", configMap("c", { data: { a: "2" } })), {
    code: 200,
    data: { a: "2" },
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
  checks("are dropped with a warning", async (send) => {
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
});
