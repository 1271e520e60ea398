/**
 * Is a schema in a CustomResourceDefinition structural, and do its rules compile?
 * Owns: those checks, for the schema and all its parts. Does not own: the rest of a definition (kinds/definitions.ts).
 */
import { isDeepStrictEqual } from "node:util";
import { forbiddenValue, invalidValue, requiredValue, unsupportedValue } from "../field-errors.ts";
import { isRecord, recordAt, stringsAt, textOf } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { type CompiledRule, rulesOf } from "./rules.ts";
import { COMMON, type Structural, partOf, prune } from "./structural.ts";
import { validateBySchema } from "./validation.ts";

interface Place {
  readonly schema: Structural;
  readonly path: string;
  readonly where: "at the root" | "for specified array items" | "for specified object fields";
  /** The list or map around it whose items cannot be told from one revision to the next. */
  readonly uncorrelated?: string;
}

export function schemaErrors(schema: Structural, path: string): readonly FieldError[] {
  const places = placesIn({ schema, path, where: "at the root" });
  const errors = places.flatMap(structureErrors);
  return errors.length > 0 ? errors : places.flatMap((place) => [...defaultErrors(place), ...rulesErrors(place)]);
}

function placesIn(place: Place): readonly Place[] {
  const { schema, path, uncorrelated } = place;
  const add = (part: unknown, step: string, isLost: boolean): readonly Place[] => {
    if (!isRecord(part)) return [];
    const where = step === "items" ? "for specified array items" : "for specified object fields";
    const lost = uncorrelated ?? (isLost ? path : undefined);
    return placesIn({
      schema: part,
      path: `${path}.${step}`,
      where,
      ...(lost !== undefined && { uncorrelated: lost }),
    });
  };
  const isAtomic = schema["x-kubernetes-map-type"] === "atomic";
  const properties = Object.entries(recordAt(schema, "properties"));
  return [
    place,
    ...properties.flatMap(([key, part]) => add(part, `properties[${key}]`, isAtomic)),
    ...add(schema.additionalProperties, "additionalProperties", false),
    ...add(schema.items, "items", schema["x-kubernetes-list-type"] !== "map"),
  ];
}

const TYPES = ["array", "boolean", "integer", "number", "object", "string"];
const UNSUPPORTED = ["$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties"];

function structureErrors(place: Place): readonly FieldError[] {
  const { schema, path, where } = place;
  const type = textOf(schema.type);
  const isFree = ["int-or-string", "preserve-unknown-fields"].some((one) => schema[`x-kubernetes-${one}`] === true);
  const at = (keyword: string): string => `${path}.${keyword}`;
  const both = "additionalProperties and properties are mutual exclusive";
  // prettier-ignore
  const rows: Rows = [
    [type === "" && !isFree, requiredValue(at("type"), `must not be empty ${where}`)],
    [type !== "" && !TYPES.includes(type), unsupportedValue(at("type"), type, TYPES)],
    [type === "array" && schema.items === undefined, requiredValue(at("items"), "must be specified")],
    [schema.properties !== undefined && isRecord(schema.additionalProperties), forbiddenValue(at("additionalProperties"), both)],
    ...UNSUPPORTED.map((key) => [schema[key] !== undefined, forbiddenValue(at(key), `${key} is not supported`)] as const),
    [!isExpression(schema.pattern), invalidValue(at("pattern"), schema.pattern, "must be a valid regular expression")],
  ];
  return [...brokenIn(rows), ...(where === "at the root" ? rootErrors(schema, at) : []), ...listErrors(schema, at)];
}

/** What is said where a rule is broken. */
type Rows = readonly (readonly [isBroken: boolean, error: FieldError])[];

function brokenIn(rows: Rows): readonly FieldError[] {
  return rows.filter(([isBroken]) => isBroken).map(([, error]) => error);
}

function rootErrors(schema: Structural, at: (keyword: string) => string): readonly FieldError[] {
  const metadata = Object.keys(recordAt(schema, "properties.metadata.properties"));
  const isOther = metadata.some((key) => key !== "name" && key !== "generateName");
  const restricted = "must not specify anything other than name and generateName, but metadata is implicitly specified";
  const filled = [...COMMON].filter((key) => "default" in recordAt(schema, `properties.${key}`));
  return brokenIn([
    [schema.type !== "object", invalidValue(at("type"), schema.type, "must be object at the root")],
    [schema.nullable === true, forbiddenValue(at("nullable"), "nullable cannot be true at the root")],
    [
      schema.additionalProperties !== undefined,
      forbiddenValue(at("additionalProperties"), "must not be used at the root"),
    ],
    [isOther, forbiddenValue(at("properties[metadata]"), restricted)],
    ...filled.map(
      (key) => [true, forbiddenValue(at(`properties[${key}].default`), `must not be set in top-level ${key}`)] as const,
    ),
  ]);
}

function listErrors(schema: Structural, at: (keyword: string) => string): readonly FieldError[] {
  const type = textOf(schema["x-kubernetes-list-type"]);
  const keys = stringsAt(schema, "x-kubernetes-list-map-keys");
  const items = recordAt(schema, "items");
  const must = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
  const unsure = keys.filter(
    (key) => !stringsAt(items, "required").includes(key) && partOf(items, key)?.default === undefined,
  );
  const [list, keyed] = [at("x-kubernetes-list-type"), at("x-kubernetes-list-map-keys")];
  // prettier-ignore
  const rows: Rows = [
    [type !== "" && schema.type !== "array", invalidValue(at("type"), schema.type, "must be array if x-kubernetes-list-type is specified")],
    [!["", "atomic", "set", "map"].includes(type), unsupportedValue(list, type, ["atomic", "set", "map"])],
    [keys.length > 0 && type !== "map", invalidValue(list, type, "must be map if x-kubernetes-list-map-keys is non-empty")],
    [keys.length === 0 && type === "map", requiredValue(keyed, "must not be empty if x-kubernetes-list-type is map")],
    [keys.some((key) => partOf(items, key) === undefined), invalidValue(keyed, keys, "entries must all be names of item properties")],
    ...unsure.map((key) => [true, requiredValue(at(`items.properties[${key}].default`), must)] as const),
  ];
  return brokenIn(rows);
}

function isExpression(pattern: unknown): boolean {
  try {
    return new RegExp(textOf(pattern)) instanceof RegExp;
  } catch {
    return false;
  }
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
    const keys = fieldPath.split(".").slice(1);
    const target = keys.reduce<Structural | undefined>((part, key) => part && partOf(part, key), schema);
    const lost = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`;
    const unused = "may not be set if oldSelf is not used in rule";
    const rows: Rows = [
      [!REASONS.includes(reason), unsupportedValue(`${at}.reason`, reason, REASONS)],
      [target === undefined, invalidValue(`${at}.fieldPath`, fieldPath, "must be a valid path")],
      [usesOldSelf && uncorrelated !== undefined, invalidValue(`${at}.rule`, rule, lost)],
      [!usesOldSelf && optionalOldSelf !== undefined, invalidValue(`${at}.optionalOldSelf`, optionalOldSelf, unused)],
    ];
    return [...expressionErrors(compiled, at), ...brokenIn(rows)];
  });
}

function expressionErrors({ rule, messageExpression, problem }: CompiledRule, at: string): readonly FieldError[] {
  if (rule.trim() === "") return [requiredValue(`${at}.rule`, "rule is not specified")];
  const wrong = problem(rule, "bool")?.replace(/^must evaluate.*/, "cel expression must evaluate to a bool");
  const unsaid =
    messageExpression && problem(messageExpression, "string")?.replace(/^(must evaluate to).*/, "$1 a string");
  return [
    ...(wrong === undefined ? [] : [invalidValue(`${at}.rule`, rule, wrong)]),
    ...(unsaid ? [invalidValue(`${at}.messageExpression`, messageExpression, `messageExpression ${unsaid}`)] : []),
  ];
}
