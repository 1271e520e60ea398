/** Checks that the schema in a CustomResourceDefinition is structural, and that its CEL rules compile. */
import { isDeepStrictEqual } from "node:util";
import { forbiddenValue, invalidValue, requiredValue, unsupportedValue } from "../field-errors.ts";
import { isRecord, recordAt, stringsAt, textOf } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { type CompiledRule, rulesOf } from "./rules.ts";
import { COMMON, type Structural, isFree, partAt, partOf, prune } from "./structural.ts";
import { validateBySchema } from "./validation.ts";

interface Place {
  readonly schema: Structural;
  readonly path: string;
  readonly where: "at the root" | "for specified array items" | "for specified object fields";
  /**
   * The path of an atomic map or keyless list that contains this schema. CEL rules cannot use oldSelf below this path.
   */
  readonly uncorrelated: string | undefined;
}

export function schemaErrors(schema: Structural, path: string): readonly FieldError[] {
  const places = placesIn({ schema, path, where: "at the root", uncorrelated: undefined });
  const errors = [...rootErrors(schema, path), ...places.flatMap(structureErrors)];
  return errors.length > 0 ? errors : places.flatMap((place) => [...defaultErrors(place), ...rulesErrors(place)]);
}

function placesIn(place: Place): readonly Place[] {
  const { schema, path, uncorrelated } = place;
  const add = (part: unknown, step: string, isLost: boolean): readonly Place[] => {
    const where = step === "items" ? "for specified array items" : "for specified object fields";
    const lost = uncorrelated ?? (isLost ? path : undefined);
    return isRecord(part) ? placesIn({ schema: part, path: `${path}.${step}`, where, uncorrelated: lost }) : [];
  };
  const isAtomic = schema["x-kubernetes-map-type"] === "atomic";
  const properties = Object.entries(recordAt(schema, "properties"));
  const fields = properties.flatMap(([key, part]) => add(part, `properties[${key}]`, isAtomic));
  const values = add(schema.additionalProperties, "additionalProperties", false);
  return [place, ...fields, ...values, ...add(schema.items, "items", schema["x-kubernetes-list-type"] !== "map")];
}

type Rows = readonly (readonly [isBroken: boolean, error: FieldError])[];

function brokenIn(rows: Rows): readonly FieldError[] {
  return rows.filter(([isBroken]) => isBroken).map(([, error]) => error);
}

const RESTRICTED = "must not specify anything other than name and generateName, but metadata is implicitly specified";

function rootErrors(schema: Structural, path: string): readonly FieldError[] {
  const metadata = Object.keys(recordAt(schema, "properties.metadata.properties"));
  const filled = [...COMMON].filter((key) => "default" in recordAt(schema, `properties.${key}`));
  const isOther = metadata.some((key) => key !== "name" && key !== "generateName");
  // prettier-ignore
  return brokenIn([
    [schema.type !== "object", invalidValue(`${path}.type`, schema.type, "must be object at the root")],
    [schema.nullable === true, forbiddenValue(`${path}.nullable`, "nullable cannot be true at the root")],
    [schema.additionalProperties !== undefined, forbiddenValue(`${path}.additionalProperties`, "must not be used at the root")],
    [isOther, forbiddenValue(`${path}.properties[metadata]`, RESTRICTED)],
    ...filled.map((key) => [true, forbiddenValue(`${path}.properties[${key}].default`, `must not be set in top-level ${key}`)] as const),
  ]);
}

const TYPES = ["array", "boolean", "integer", "number", "object", "string"];
/** OpenAPI keywords that the sandbox does not support. The real server also refuses some of these keywords. */
const UNSUPPORTED = ["$ref", "definitions", "dependencies", "patternProperties", "allOf", "anyOf", "oneOf", "not"];
const KEY = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
const BOTH = "additionalProperties and properties are mutual exclusive";

function structureErrors({ schema, path, where }: Place): readonly FieldError[] {
  const [type, list] = [textOf(schema.type), textOf(schema["x-kubernetes-list-type"])];
  const keys = stringsAt(schema, "x-kubernetes-list-map-keys");
  const items = recordAt(schema, "items");
  const unsure = keys.filter(
    (key) => !stringsAt(items, "required").includes(key) && !("default" in (partOf(items, key) ?? {})),
  );
  const unsupported = isFree(schema) ? [] : UNSUPPORTED.filter((key) => schema[key] !== undefined);
  const at = (keyword: string): string => `${path}.${keyword}`;
  // prettier-ignore
  return brokenIn([
    [type === "" && !isFree(schema), requiredValue(at("type"), `must not be empty ${where}`)],
    [!["", ...TYPES].includes(type), unsupportedValue(at("type"), type, TYPES)],
    [type === "array" && schema.items === undefined, requiredValue(at("items"), "must be specified")],
    [schema.properties !== undefined && isRecord(schema.additionalProperties), forbiddenValue(at("additionalProperties"), BOTH)],
    [list !== "" && type !== "array", invalidValue(at("type"), type, "must be array if x-kubernetes-list-type is specified")],
    [(list === "map") !== keys.length > 0, requiredValue(at("x-kubernetes-list-map-keys"), "must not be empty if x-kubernetes-list-type is map")],
    ...unsure.map((key) => [true, requiredValue(at(`items.properties[${key}].default`), KEY)] as const),
    ...unsupported.map((key) => [true, forbiddenValue(at(key), `${key} is not supported`)] as const),
  ]);
}

function defaultErrors({ schema, path }: Place): readonly FieldError[] {
  const { default: value, ...rest } = schema;
  const pruned = structuredClone({ value });
  prune(pruned, { properties: { value: schema } });
  const field = `${path}.default`;
  if (!isDeepStrictEqual(pruned, { value })) return [invalidValue(field, value, "must not have unknown fields")];
  const errors = value === undefined ? [] : validateBySchema({ value }, { properties: { value: rest } });
  return errors.map((error) => ({ ...error, field: error.field.replace(/^value/, field) }));
}

const REASONS = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

function rulesErrors({ schema, path, uncorrelated }: Place): readonly FieldError[] {
  return rulesOf(schema).flatMap((compiled, index) => {
    const { rule, reason = "FieldValueInvalid", fieldPath = "", optionalOldSelf, usesOldSelf } = compiled;
    const at = `${path}.x-kubernetes-validations[${index}]`;
    const lost = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`;
    const unused = "may not be set if oldSelf is not used in rule";
    const rows: Rows = [
      [!REASONS.includes(reason), unsupportedValue(`${at}.reason`, reason, REASONS)],
      [partAt(schema, fieldPath) === undefined, invalidValue(`${at}.fieldPath`, fieldPath, "must be a valid path")],
      [usesOldSelf && uncorrelated !== undefined, invalidValue(`${at}.rule`, rule, lost)],
      [!usesOldSelf && optionalOldSelf !== undefined, invalidValue(`${at}.optionalOldSelf`, optionalOldSelf, unused)],
    ];
    return [...expressionErrors(compiled, at), ...brokenIn(rows)];
  });
}

function expressionErrors(
  { rule, messageExpression = "''", language }: CompiledRule,
  at: string,
): readonly FieldError[] {
  if (rule.trim() === "") return [requiredValue(`${at}.rule`, "rule is not specified")];
  const wrong = language.problem(rule, "bool")?.replace(/^must evaluate.*/, "cel expression must evaluate to a bool");
  const unsaid = language.problem(messageExpression, "string")?.replace(/^(must evaluate to).*/, "$1 a string");
  return brokenIn([
    [wrong !== undefined, invalidValue(`${at}.rule`, rule, wrong ?? "")],
    [unsaid !== undefined, invalidValue(`${at}.messageExpression`, messageExpression, `messageExpression ${unsaid}`)],
  ]);
}
