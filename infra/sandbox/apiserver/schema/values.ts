/** Validates the values of a custom object, with the messages of the real API extensions server. */
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import * as errors from "../field-errors.ts";
import { isRecord, stringsAt, textOf, viewAs } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { COMMON, INT_OR_STRING, type Node, childrenOf, joined, keyOf } from "./structural.ts";

export function valueErrors(node: Node): readonly FieldError[] {
  const { value, schema, old } = node;
  if (value === null && schema.nullable === true) return [];
  const here = [typeErrors, formatErrors, enumErrors, missing, limitErrors].flatMap((check) => check(node));
  const found = [...here, ...childrenOf(node).flatMap(valueErrors)];
  return found.length > 0 && old !== undefined && isDeepStrictEqual(value, old) ? [] : found;
}

function missing({ value, schema, path }: Node): readonly FieldError[] {
  const absent = stringsAt(schema, "required").filter((key) => isRecord(value) && value[key] === undefined);
  const wanted = absent.filter((key) => path !== "" || !COMMON.has(key));
  return wanted.map((key) => errors.requiredValue(joined(path, key)));
}

/**
 * The API server checks the time in a date-time only with a regular expression. It therefore allows an offset of 99
 * hours, and any character before the fraction. Upstream: `IsDateTime` of kube-openapi's `strfmt`.
 */
const DATE_TIME =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])t([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(z|[+-]\d{2}:\d{2})$/i;

/** The formats that are checked. Other formats are ignored. */
const FORMATS: Readonly<Record<string, z.ZodType>> = {
  "date-time": z.string().check(z.regex(DATE_TIME)),
  date: z.iso.date(),
  byte: z.base64(),
  uuid: z.guid(),
  ipv4: z.ipv4(),
  ipv6: z.ipv6(),
  int32: z.union([z.string(), z.int32()]),
  int64: z.union([z.string(), z.number().multipleOf(1)]),
};

function wrongType(path: string, type: string, shown: string): FieldError {
  return errors.typeInvalid(path, shown, `${path} in body must be of type ${type}: ${JSON.stringify(shown)}`);
}

function typeErrors({ value, schema, path }: Node): readonly FieldError[] {
  const wanted = schema[INT_OR_STRING] === true ? "integer,string" : textOf(schema.type);
  const actual = typeOf(value);
  const fits = wanted === "" || wanted.split(",").includes(actual) || (wanted === "number" && actual === "integer");
  return fits ? [] : [wrongType(path, wanted, actual)];
}

function formatErrors({ value, schema, path }: Node): readonly FieldError[] {
  const format = textOf(schema.format);
  if (typeof value === "string") return isOf(format, value) ? [] : [wrongType(path, format, value)];
  if (typeof value !== "number" || schema.type !== "integer" || isOf(format || "int64", value)) return [];
  const kind = format === "" ? "(default format)" : `with format ${format}`;
  return [errors.invalidValue("<nil>", "", `Checked value must be of type integer ${kind} in ${path}`)];
}

function isOf(format: string, value: unknown): boolean {
  return FORMATS[format]?.safeParse(value).success !== false;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

function enumErrors({ value, schema, path }: Node): readonly FieldError[] {
  const allowed = viewAs<readonly unknown[]>(schema.enum ?? []);
  if (allowed.length === 0 || allowed.some((one) => isDeepStrictEqual(one, value))) return [];
  const texts = allowed.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  return [errors.unsupportedValue(path, value, texts)];
}

/** Returns the size for a limit: the number itself, or the length of a string, list or map. */
function sizeOf(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value === "string") return Array.from(value).length;
  return isRecord(value) ? Object.keys(value).length : Array.isArray(value) ? value.length : Number.NaN;
}

type Limit = readonly [type: string, isBroken: (size: number, limit: number) => boolean, words: string];

// prettier-ignore
const LIMITS: Readonly<Record<string, Limit>> = {
  minimum:       ["number", (size, limit) => size < limit,        "be greater than or equal to LIMIT"],
  maximum:       ["number", (size, limit) => size > limit,        "be less than or equal to LIMIT"],
  multipleOf:    ["number", (size, limit) => size % limit !== 0,  "be a multiple of LIMIT"],
  minLength:     ["string", (size, limit) => size < limit,        "be at least LIMIT chars long"],
  maxLength:     ["string", (size, limit) => size > limit,        ""],
  minItems:      ["array",  (size, limit) => size < limit,        "have at least LIMIT items"],
  maxItems:      ["array",  (size, limit) => size > limit,        ""],
  minProperties: ["object", (size, limit) => size < limit,        "have at least LIMIT properties"],
  maxProperties: ["object", (size, limit) => size > limit,        ""],
};

function limitErrors(node: Node): readonly FieldError[] {
  const { value, schema, path } = node;
  const found = Object.entries(LIMITS).flatMap(([keyword, limit]) => tooMuch(node, keyword, limit));
  const pattern = textOf(schema.pattern);
  if (pattern === "" || typeof value !== "string" || new RegExp(pattern).test(value)) return found;
  return [...found, errors.invalidValue(path, value, `${path} in body should match '${pattern}'`)];
}

function tooMuch({ value, schema, path }: Node, keyword: string, [applies, isBroken, words]: Limit): FieldError[] {
  const [type, size, limit] = [typeOf(value).replace("integer", "number"), sizeOf(value), schema[keyword]];
  if (applies !== type || typeof limit !== "number") return [];
  const isStrict = size === limit && schema[keyword.replace("m", "exclusiveM")] === true;
  if (!isBroken(size, limit) && !isStrict) return [];
  if (words === "") return [(type === "string" ? errors.tooLongValue : errors.tooManyValue)(path, limit, size)];
  const should = words.replace("LIMIT", String(limit)).replace(isStrict ? " or equal to" : "", "");
  return [errors.invalidValue(path, typeof value === "object" ? size : value, `${path} in body should ${should}`)];
}

/** Returns errors for duplicates in a list that is a set or has map keys. */
export function duplicates(node: Node): readonly FieldError[] {
  const { value, schema, keyed } = node;
  const type = schema["x-kubernetes-list-type"];
  const items = Array.isArray(value) && (type === "set" || type === "map") ? viewAs<unknown[]>(value) : [];
  const keys = items.map((item) => (type === "map" ? keyOf(schema, item) : item));
  const isSecond = (key: unknown, index: number) =>
    keys.slice(0, index).filter((one) => isDeepStrictEqual(one, key)).length === 1;
  const here = keys.flatMap((key, index) =>
    isSecond(key, index) ? [errors.duplicateValue(`${keyed}[${index}]`, key)] : [],
  );
  return [...here, ...childrenOf(node).flatMap(duplicates)];
}
