/** Custom kinds with a schema: pruning, defaults, validation. */
import { contract } from "./contract.ts";
import { get, patch, post } from "./requests.ts";

const gizmo = (name: string, spec: object | undefined) => ({
  apiVersion: "contract.example.com/v1",
  kind: "Gizmo",
  metadata: { name },
  ...(spec && { spec }),
});

const create = (spec: object | undefined, name = "refused") => post("example/gizmos", gizmo(name, spec));
const invalid = (what: string) => ({
  code: 422,
  reason: "Invalid",
  message: `Gizmo.contract.example.com "refused" is invalid: ${what}`,
});

contract("a schema", ({ asks }) => {
  asks("fills in defaults", create({ size: 1 }, "g"), { code: 201, spec: { size: 1, colour: "red" } });
  asks("drops what it does not know", create({ size: 1, weight: 2, parts: [{ id: "a", odd: 1 }] }, "dropped"), {
    code: 201,
    spec: { size: 1, colour: "red", parts: [{ id: "a" }] },
  });
  asks("keeps what it leaves free", create({ size: 1, free: { any: { thing: 1 } }, labels: { a: "b" } }, "free"), {
    code: 201,
    "spec.free": { any: { thing: 1 } },
    "spec.labels": { a: "b" },
  });
  asks("wants what is required", create(undefined), invalid("spec: Required value"));
  asks(
    "wants the type",
    create({ size: "big" }),
    invalid('spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'),
  );
  asks(
    "wants the minimum",
    create({ size: 0 }),
    invalid("spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"),
  );
  asks(
    "wants one of",
    create({ size: 1, colour: "green" }),
    invalid('spec.colour: Unsupported value: "green": supported values: "red", "blue"'),
  );
  asks(
    "wants the pattern",
    create({ size: 1, name: "A1" }),
    invalid(`spec.name: Invalid value: "A1": spec.name in body should match '^[a-z]+$'`),
  );
  asks("holds for changes as well", patch("example/gizmos/g", "merge", { spec: { size: -1 } }), {
    code: 422,
    reason: "Invalid",
  });
  asks("which then did not happen", get("example/gizmos/g"), { code: 200, "spec.size": 1 });
});
