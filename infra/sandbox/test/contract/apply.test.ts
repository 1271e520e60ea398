/** Server-side apply: owning fields, losing them, conflicts, and the effect of other writes on ownership. */
import { expect } from "vitest";
import { contract } from "./contract.ts";
import { configMap, get, patch, pod, post } from "./requests.ts";
import { valueAt } from "./value-at.ts";

const apply = (place: string, manager: string, body: object, more = "") =>
  patch(`${place}?fieldManager=${manager}${more}`, "apply", body);

const wanted = (data: object) => configMap("c", { data });

const image = (name: string, value: string) => ({
  ...pod("p"),
  spec: { containers: [{ name, image: value }] },
});

contract("apply", ({ asks, checks }) => {
  asks("creates", apply("configmaps/c", "one", wanted({ a: "1" })), { code: 201, data: { a: "1" } });
  checks("and remembers who owns what", async (send) => {
    const { body } = await send(get("configmaps/c"));
    expect(valueAt(body, "metadata.managedFields.0")).toMatchObject({
      manager: "one",
      operation: "Apply",
      apiVersion: "v1",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:data": { "f:a": {} } },
    });
  });
  checks("the same again changes nothing", async (send) => {
    const before = await send(get("configmaps/c"));
    const after = await send(apply("configmaps/c", "one", wanted({ a: "1" })));
    expect(after.code).toBe(200);
    expect(valueAt(after.body, "metadata.resourceVersion")).toBe(valueAt(before.body, "metadata.resourceVersion"));
  });
  asks("unless it wants the same", apply("configmaps/c", "two", wanted({ a: "1", b: "2" })), {
    code: 200,
    data: { a: "1", b: "2" },
  });
  asks("what one does not want any more stays while another does", apply("configmaps/c", "one", wanted({ c: "3" })), {
    code: 200,
    data: { a: "1", b: "2", c: "3" },
  });
  asks("and goes with the last", apply("configmaps/c", "two", wanted({ b: "2" })), {
    code: 200,
    data: { b: "2", c: "3" },
  });
  asks("two conflicts", apply("configmaps/c", "three", wanted({ b: "x", c: "x" })), {
    code: 409,
    message: 'Apply failed with 2 conflicts: conflicts with "one":\n- .data.c\nconflicts with "two":\n- .data.b',
  });
  asks("force takes the field", apply("configmaps/c", "three", wanted({ b: "x" }), "&force=true"), {
    code: 200,
    data: { b: "x", c: "3" },
  });
  asks("which its owner then lacks", apply("configmaps/c", "two", wanted({ b: "2" })), {
    code: 409,
    message: 'Apply failed with 1 conflict: conflict with "three": .data.b',
  });
  // It is YAML 1.1, in which y is true.
  asks("YAML", patch("configmaps/c?fieldManager=yaml", "apply", "apiVersion: v1\nkind: ConfigMap\ndata: {y: '1'}\n"), {
    code: 200,
    "data.true": "1",
    "data.y": undefined,
  });
  asks("a dry run", apply("configmaps/c", "one", wanted({ dry: "1" }), "&dryRun=All"), { code: 200, "data.dry": "1" });
  asks("left nothing", get("configmaps/c"), { code: 200, "data.dry": undefined, "data.c": "3" });
  asks("no manager", patch("configmaps/c", "apply", wanted({})), {
    code: 422,
    reason: "Invalid",
    message: 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
  });
});

contract("apply beside other writes", ({ asks, given }) => {
  given("a pod of another manager", post("pods?fieldManager=creator", pod("p")));
  asks("its fields are the creator's", apply("pods/p", "me", image("one", "example/mine")), {
    code: 409,
    reason: "Conflict",
    message: 'Apply failed with 1 conflict: conflict with "creator" using v1: .spec.containers[name="one"].image',
  });
  asks("an item of a list is found by its key", apply("pods/p", "me", image("two", "example/mine"), "&force=true"), {
    code: 200,
    "spec.containers.name": ["one", "two"],
    "spec.containers.image": ["example/one", "example/mine"],
  });
  given("labels by an update", patch("pods/p?fieldManager=labeller", "merge", { metadata: { labels: { a: "b" } } }));
  asks(
    "are owned, too",
    apply("pods/p", "me", { ...pod("p"), metadata: { labels: { a: "c" } }, spec: image("two", "example/mine").spec }),
    {
      code: 409,
      message: 'Apply failed with 1 conflict: conflict with "labeller" using v1: .metadata.labels.a',
    },
  );
  asks(
    "status has owners of its own",
    apply(
      "pods/p/status",
      "kubelet",
      { apiVersion: "v1", kind: "Pod", metadata: {}, status: { phase: "Running" } },
      "&force=true",
    ),
    {
      code: 200,
      "status.phase": "Running",
    },
  );
});

contract("ownership by ordinary writes", ({ asks, given }) => {
  given("an object", post("configmaps?fieldManager=creator", configMap("c", { data: { a: "1", b: "1" } })));
  asks("belongs to its creator", get("configmaps/c"), {
    code: 200,
    "metadata.managedFields.manager": ["creator"],
    "metadata.managedFields.operation": ["Update"],
    "metadata.managedFields.fieldsV1": [{ "f:data": { ".": {}, "f:a": {}, "f:b": {} } }],
  });
  given("a change by another", patch("configmaps/c?fieldManager=other", "merge", { data: { b: "2" } }));
  asks("moves what changed", get("configmaps/c"), {
    code: 200,
    "metadata.managedFields.manager": ["creator", "other"],
    "metadata.managedFields.fieldsV1": [{ "f:data": { ".": {}, "f:a": {} } }, { "f:data": { "f:b": {} } }],
  });
});
