/**
 * Validates an object by the schema in its CRD. The errors have the same order as in the real API extensions server.
 */
import type { Tree } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { ruleErrors } from "./rules.ts";
import type { Node, Structural } from "./structural.ts";
import { duplicates, valueErrors } from "./values.ts";

const BLOCKING = new Set(
  ["NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid"].map((one) => `FieldValue${one}`),
);

const UNCHECKED: FieldError = {
  reason: "FieldValueInvalid",
  field: "<nil>",
  message:
    "Invalid value: null: some validation rules were not checked because the object was invalid; " +
    "correct the existing errors to complete validation",
};

/** Validates an object. Ignores errors in values that have not changed. */
export function validateBySchema(object: Tree, schema: Structural, previous?: Tree): readonly FieldError[] {
  const root: Node = { value: object, schema, old: previous, path: "", keyed: "" };
  const twice = duplicates(root);
  const wasTwice = previous !== undefined && duplicates({ ...root, value: previous }).length > 0;
  const errors = [...valueErrors(root), ...(wasTwice ? [] : twice)];
  if (!errors.some(({ reason }) => BLOCKING.has(reason))) return [...errors, ...ruleErrors(root)];
  return JSON.stringify(schema).includes('"x-kubernetes-validations"') ? [...errors, UNCHECKED] : errors;
}
