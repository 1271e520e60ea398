/**
 * The schema a CustomResourceDefinition gives its kind: which fields there are, what they default to, what they may hold.
 * Owns: pruning, defaulting and validating by OpenAPI v3 as the API extensions server does. Does not own: built-in kinds
 * (check.ts).
 */
import { invalidValue, requiredValue, unsupportedValue } from "../field-errors.ts";
import { type Tree, isRecord, recordAt, recordsAt, stringsAt, textOf } from "../objects.ts";
import type { FieldError } from "../status.ts";

export type Structural = Tree;

const PRESERVE = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING = "x-kubernetes-int-or-string";

/** Of every object, whatever its schema says. */
const COMMON = new Set(["apiVersion", "kind", "metadata"]);

/** The paths of the fields that were dropped. */
export function prune(object: Tree, schema: Structural): readonly string[] {
  return pruneMap(object, schema, "");
}

function pruneMap(value: Tree, schema: Structural, path: string): readonly string[] {
  const properties = recordAt(schema, "properties");
  return Object.entries(value).flatMap(([key, child]) => {
    if (path === "" && COMMON.has(key)) return [];
    const at = joined(path, key);
    const known = properties[key] ?? schema.additionalProperties;
    if (isRecord(known)) return pruneValue(child, known, at);
    if (schema[PRESERVE] === true || known === true) return [];
    delete value[key];
    return [at];
  });
}

function pruneValue(value: unknown, schema: Structural, path: string): readonly string[] {
  if (isRecord(value)) return pruneMap(value, schema, path);
  if (!Array.isArray(value)) return [];
  const items = recordAt(schema, "items");
  return value.flatMap((item: unknown, index) => pruneValue(item, items, `${path}[${index}]`));
}

export function applySchemaDefaults(value: unknown, schema: Structural): void {
  if (Array.isArray(value)) {
    for (const item of value) applySchemaDefaults(item, recordAt(schema, "items"));
  }
  if (!isRecord(value)) return;
  for (const [key, child] of Object.entries(recordAt(schema, "properties"))) {
    if (!isRecord(child)) continue;
    if (value[key] === undefined && child.default !== undefined) value[key] = structuredClone(child.default);
    applySchemaDefaults(value[key], child);
  }
  if (!isRecord(schema.additionalProperties)) return;
  for (const child of Object.values(value)) applySchemaDefaults(child, schema.additionalProperties);
}

export function validateBySchema(object: Tree, schema: Structural): readonly FieldError[] {
  const { metadata: _metadata, ...rest } = object;
  return validateValue(rest, schema, "");
}

function validateValue(value: unknown, schema: Structural, field: string): readonly FieldError[] {
  if (value === null && schema.nullable === true) return [];
  const wrong = typeError(value, schema, field);
  if (wrong !== undefined) return [wrong];
  return [
    ...enumErrors(value, schema, field),
    ...limitErrors(value, schema, field),
    ...childErrors(value, schema, field),
  ];
}

function childErrors(value: unknown, schema: Structural, field: string): readonly FieldError[] {
  if (Array.isArray(value)) {
    const items = recordAt(schema, "items");
    return value.flatMap((item: unknown, index) => validateValue(item, items, `${field}[${index}]`));
  }
  if (!isRecord(value)) return [];
  const missing = stringsAt(schema, "required").filter(
    (key) => value[key] === undefined && !(field === "" && COMMON.has(key)),
  );
  const properties = recordAt(schema, "properties");
  const children = Object.entries(value).flatMap(([key, child]) => {
    const known = properties[key] ?? schema.additionalProperties;
    return isRecord(known) ? validateValue(child, known, joined(field, key)) : [];
  });
  return [...missing.map((key) => requiredValue(joined(field, key))), ...children];
}

function typeError(value: unknown, schema: Structural, field: string): FieldError | undefined {
  const wanted = textOf(schema.type);
  if (schema[INT_OR_STRING] === true) {
    const fits = typeof value === "string" || Number.isInteger(value);
    return fits
      ? undefined
      : invalidValue(field, typeOf(value), `${field} in body must be of type integer,string: "${typeOf(value)}"`);
  }
  if (wanted === "" || fitsType(value, wanted)) return undefined;
  return invalidValue(field, typeOf(value), `${field} in body must be of type ${wanted}: "${typeOf(value)}"`);
}

function fitsType(value: unknown, wanted: string): boolean {
  const actual = typeOf(value);
  return actual === wanted || (wanted === "number" && actual === "integer");
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

function enumErrors(value: unknown, schema: Structural, field: string): readonly FieldError[] {
  const allowed: readonly unknown[] = Array.isArray(schema.enum) ? schema.enum : [];
  if (allowed.length === 0 || allowed.includes(value)) return [];
  return [unsupportedValue(field, value, allowed.map(textOf))];
}

type Limit = (value: unknown, limit: number) => boolean;

const size = (value: unknown): number =>
  typeof value === "string" || Array.isArray(value) ? value.length : Number.NaN;

/** Keyword → is it broken, and in which words. */
const LIMITS: Readonly<Record<string, readonly [Limit, (limit: unknown) => string]>> = {
  minimum: [(value, limit) => Number(value) < limit, (limit) => `should be greater than or equal to ${textOf(limit)}`],
  maximum: [(value, limit) => Number(value) > limit, (limit) => `should be less than or equal to ${textOf(limit)}`],
  minLength: [(value, limit) => size(value) < limit, (limit) => `should be at least ${textOf(limit)} chars long`],
  maxLength: [(value, limit) => size(value) > limit, (limit) => `should be at most ${textOf(limit)} chars long`],
  minItems: [(value, limit) => size(value) < limit, (limit) => `should have at least ${textOf(limit)} items`],
  maxItems: [(value, limit) => size(value) > limit, (limit) => `should have at most ${textOf(limit)} items`],
};

function limitErrors(value: unknown, schema: Structural, field: string): readonly FieldError[] {
  const broken = Object.entries(LIMITS).filter(([keyword, [isBroken]]) => {
    const limit = schema[keyword];
    return typeof limit === "number" && isBroken(value, limit);
  });
  const errors = broken.map(([keyword, [, words]]) =>
    invalidValue(field, value, `${field} in body ${words(schema[keyword])}`),
  );
  const pattern = textOf(schema.pattern);
  const mismatch = pattern !== "" && typeof value === "string" && !new RegExp(pattern, "u").test(value);
  return mismatch ? [...errors, invalidValue(field, value, `${field} in body should match '${pattern}'`)] : errors;
}

function joined(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

/** Keywords whose rules would go unenforced; a definition that has them is refused. */
const UNSUPPORTED = ["x-kubernetes-validations", "allOf", "anyOf", "oneOf", "not"];

/** Where a schema uses what is not supported here. */
export function unsupportedKeywords(schema: unknown, path: string): readonly string[] {
  if (!isRecord(schema) || schema[INT_OR_STRING] === true) return [];
  const here = UNSUPPORTED.filter((keyword) => schema[keyword] !== undefined).map((keyword) => `${path}.${keyword}`);
  const properties = Object.entries(recordAt(schema, "properties"));
  return [
    ...here,
    ...properties.flatMap(([key, child]) => unsupportedKeywords(child, `${path}.properties[${key}]`)),
    ...unsupportedKeywords(schema.items, `${path}.items`),
    ...unsupportedKeywords(schema.additionalProperties, `${path}.additionalProperties`),
  ];
}

export function schemaOf(version: Tree): Structural {
  return recordAt(version, "schema.openAPIV3Schema");
}

export function schemasOf(definition: unknown): readonly Structural[] {
  return recordsAt(definition, "spec.versions").map(schemaOf);
}
