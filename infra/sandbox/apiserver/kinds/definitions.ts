/**
 * CustomResourceDefinition.
 * Owns: its defaults and rules beyond rules.yaml, its status. Does not own: schemas (schema/definition.ts), the kinds it makes
 * (custom.ts).
 */
import { invalidValue, requiredValue } from "../field-errors.ts";
import {
  type KubeObject,
  type Tree,
  childOf,
  isRecord,
  recordAt,
  recordsAt,
  stringAt,
  stringsAt,
  textOf,
} from "../objects.ts";
import { schemaErrors } from "../schema/definition.ts";
import { EMBEDDED, type Structural, partAt, schemaOf } from "../schema/structural.ts";
import type { FieldError } from "../status.ts";
import { byRules } from "./by-rules.ts";
import { CREATED_AT, NAME } from "./columns.ts";
import { type ResourceKind, defineKind } from "./kind.ts";

const RULES = byRules("CustomResourceDefinition");

export const CUSTOM_RESOURCE_DEFINITIONS: ResourceKind = defineKind({
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  namespaced: false,
  hasStatus: true,
  hasGeneration: true,
  unconditionalUpdate: false,
  lists: { "spec.versions": ["name"], "status.conditions": ["type"] },
  columns: [NAME, CREATED_AT],
  finalizer: "customresourcecleanup.apiextensions.k8s.io",
  applyDefaults: (definition) => {
    RULES.applyDefaults(definition);
    const names = childOf(childOf(definition, "spec"), "names");
    names.singular ??= textOf(names.kind).toLowerCase();
    names.listKind ??= `${textOf(names.kind)}List`;
    const stored = recordsAt(definition, "spec.versions").filter(({ storage }) => storage === true);
    const versions = [...stringsAt(definition, "status.storedVersions"), ...stored.map(({ name }) => textOf(name))];
    childOf(definition, "status").storedVersions = [...new Set(versions)];
  },
  validate: (definition, previous) => [
    ...nameErrors(definition),
    ...RULES.validate(definition, previous),
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
    const schema = { ...schemaOf(version), [EMBEDDED]: true };
    const selected = recordsAt(version, "selectableFields").map(({ jsonPath }) => textOf(jsonPath));
    const at = `${path}.schema.openAPIV3Schema`;
    const errors = isRecord(recordAt(version, "schema").openAPIV3Schema)
      ? schemaErrors(schema, at)
      : [requiredValue(at)];
    return [
      ...errors,
      ...selected.flatMap((jsonPath, i) =>
        selectableErrors(schema, jsonPath, `${path}.selectableFields[${i}].jsonPath`),
      ),
    ];
  });
}

const SELECTABLE = ["boolean", "integer", "string"];
const MUST =
  "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";

function selectableErrors(schema: Structural, jsonPath: string, field: string): readonly FieldError[] {
  const type = textOf(partAt(schema, jsonPath)?.type);
  if (SELECTABLE.includes(type) && !jsonPath.startsWith(".metadata.")) return [];
  const unknown = "is an invalid path: does not refer to a valid field";
  const detail = partAt(schema, jsonPath) === undefined ? unknown : MUST;
  return [
    invalidValue(field, jsonPath, jsonPath.startsWith(".metadata.") ? "must not point to fields in metadata" : detail),
  ];
}

/** As the server's own controllers write it: who comes first in a group keeps a name. */
export function acceptNames(definition: KubeObject, others: readonly KubeObject[], now: string): void {
  const group = others.filter((other) => stringAt(other, "spec.group") === stringAt(definition, "spec.group"));
  const taken = group.flatMap((other) => namesIn(recordAt(other, "status.acceptedNames"))).map(([, name]) => name);
  const names = recordAt(definition, "spec.names");
  const [field, clash] = namesIn(names).find(([, name]) => taken.includes(name)) ?? [];
  const status = childOf(definition, "status");
  const condition = (type: string, is: boolean, [reason, message]: readonly [string, string]) => {
    const before = recordsAt(status, "conditions").find(
      (one) => one.type === type && one.status === (is ? "True" : "False"),
    );
    return {
      type,
      status: is ? "True" : "False",
      lastTransitionTime: before?.lastTransitionTime ?? now,
      reason,
      message,
    };
  };
  const accepted =
    field === undefined ? ACCEPTED : ([`${field}Conflict`, `${JSON.stringify(clash)} is already in use`] as const);
  const isServed = field === undefined || isEstablished(definition);
  status.conditions = [
    condition("NamesAccepted", field === undefined, accepted),
    condition("Established", isServed, isServed ? ESTABLISHED : ["NotAccepted", "not all names are accepted"]),
  ];
  if (field === undefined) status.acceptedNames = structuredClone(names);
}

const ACCEPTED = ["NoConflicts", "no conflicts found"] as const;
const ESTABLISHED = ["InitialNamesAccepted", "the initial names have been accepted"] as const;

function namesIn(names: Tree): readonly (readonly [string, unknown])[] {
  const all = {
    Plural: names.plural,
    Singular: names.singular,
    ShortNames: names.shortNames,
    Kind: names.kind,
    ListKind: names.listKind,
  };
  return Object.entries(all).flatMap(([field, name]) =>
    [name ?? []].flat().map((one: unknown) => [field, one] as const),
  );
}

export function isEstablished(definition: KubeObject): boolean {
  const conditions = recordsAt(definition, "status.conditions");
  return conditions.some(({ type, status }) => type === "Established" && status === "True");
}
