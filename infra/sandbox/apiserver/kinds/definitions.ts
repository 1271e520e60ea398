/** CustomResourceDefinition. */
import { invalidValue, requiredValue } from "../field-errors.ts";
import {
  type KubeObject,
  type Tree,
  childOf,
  fieldAt,
  recordAt,
  recordsAt,
  stringAt,
  stringsAt,
  textOf,
} from "../objects.ts";
import { schemaErrors } from "../schema/definition.ts";
import { EMBEDDED, type Structural, partAt, schemaOf } from "../schema/structural.ts";
import type { FieldError } from "../status.ts";
import { builtIn, ruleErrors } from "./built-in.ts";

const KIND = "CustomResourceDefinition";

export const CUSTOM_RESOURCE_DEFINITIONS = builtIn(KIND, {
  applyDefaults: (definition) => {
    const names = childOf(childOf(definition, "spec"), "names");
    names.singular ??= textOf(names.kind).toLowerCase();
    names.listKind ??= `${textOf(names.kind)}List`;
    const stored = recordsAt(definition, "spec.versions").filter(({ storage }) => storage === true);
    const versions = [...stringsAt(definition, "status.storedVersions"), ...stored.map(({ name }) => textOf(name))];
    childOf(definition, "status").storedVersions = [...new Set(versions)];
  },
  validate: (definition, previous) => [
    ...nameErrors(definition),
    ...ruleErrors(KIND, definition, previous),
    ...versionErrors(definition),
  ],
});

function nameErrors(definition: KubeObject): readonly FieldError[] {
  const expected = `${stringAt(definition, "spec.names.plural")}.${stringAt(definition, "spec.group")}`;
  const { name = "" } = definition.metadata;
  return name === expected ? [] : [invalidValue("metadata.name", name, 'must be spec.names.plural+"."+spec.group')];
}

function versionErrors(definition: KubeObject): readonly FieldError[] {
  return recordsAt(definition, "spec.versions").flatMap((version, index) => {
    const path = `spec.versions[${index}]`;
    const at = `${path}.schema.openAPIV3Schema`;
    if (fieldAt(version, "schema.openAPIV3Schema") === undefined) return [requiredValue(at)];
    const schema = { ...schemaOf(version), [EMBEDDED]: true };
    const selectable = recordsAt(version, "selectableFields").flatMap(({ jsonPath }, i) => {
      const problem = selectableProblem(schema, textOf(jsonPath));
      return problem === "" ? [] : [invalidValue(`${path}.selectableFields[${i}].jsonPath`, jsonPath, problem)];
    });
    return [...schemaErrors(schema, at), ...selectable];
  });
}

const SCALAR = ["boolean", "integer", "string"];
const MUST = "must point to a field of type string, boolean or integer.";

function selectableProblem(schema: Structural, jsonPath: string): string {
  const target = partAt(schema, jsonPath);
  if (target === undefined) return "is an invalid path: does not refer to a valid field";
  if (jsonPath.startsWith(".metadata.")) return "must not point to fields in metadata";
  return SCALAR.includes(textOf(target.type)) ? "" : `${MUST} Enum string fields and strings with formats are allowed.`;
}

/**
 * Sets the status of a CRD. If another CRD of the same group already uses one of the names in this CRD's spec, none of
 * these names is accepted.
 */
export function acceptNames(definition: KubeObject, others: readonly KubeObject[], now: string): void {
  const group = others.filter((other) => stringAt(other, "spec.group") === stringAt(definition, "spec.group"));
  const taken = group.flatMap((other) => namesIn(recordAt(other, "status.acceptedNames"))).map(([, name]) => name);
  const names = recordAt(definition, "spec.names");
  const [field, clash] = namesIn(names).find(([, name]) => taken.includes(name)) ?? [];
  const state = childOf(definition, "status");
  const condition = (type: string, status: "True" | "False", [reason, message]: readonly [string, string]) => {
    const before = recordsAt(state, "conditions").find((one) => one.type === type && one.status === status);
    return { type, status, lastTransitionTime: before?.lastTransitionTime ?? now, reason, message };
  };
  const isServed = field === undefined || isEstablished(definition);
  if (field === undefined) state.acceptedNames = structuredClone(names);
  state.conditions = [
    field === undefined
      ? condition("NamesAccepted", "True", ACCEPTED)
      : condition("NamesAccepted", "False", [`${field}Conflict`, `${JSON.stringify(clash)} is already in use`]),
    isServed ? condition("Established", "True", ESTABLISHED) : condition("Established", "False", NOT_ACCEPTED),
  ];
}

const ACCEPTED = ["NoConflicts", "no conflicts found"] as const;
const ESTABLISHED = ["InitialNamesAccepted", "the initial names have been accepted"] as const;
const NOT_ACCEPTED = ["NotAccepted", "not all names are accepted"] as const;

function namesIn(names: Tree): readonly (readonly [field: string, name: unknown])[] {
  const fields = ["plural", "singular", "shortNames", "kind", "listKind"];
  return fields.flatMap((field) => {
    const shown = `${field.charAt(0).toUpperCase()}${field.slice(1)}`;
    return [names[field] ?? []].flat().map((name: unknown) => [shown, name] as const);
  });
}

export function isEstablished(definition: KubeObject): boolean {
  const conditions = recordsAt(definition, "status.conditions");
  return conditions.some(({ type, status }) => type === "Established" && status === "True");
}
