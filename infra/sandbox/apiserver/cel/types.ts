/** The CEL types of values with a schema. */
import { isDeepStrictEqual } from "node:util";
import type { Environment } from "@marcbachmann/cel-js";
import { type Tree, isRecord, recordAt, textOf } from "../objects.ts";
import { EMBEDDED, INT_OR_STRING, type Structural } from "../schema/structural.ts";

export interface CelType {
  readonly name: string;
  readonly valueOf: (json: unknown) => unknown;
}

/** The type of values without a schema. Integers in JSON become ints. */
export const DYN: CelType = {
  name: "dyn",
  valueOf: (json) => {
    if (Array.isArray(json)) return json.map(DYN.valueOf);
    return isRecord(json) ? mapped(json, DYN) : Number.isInteger(json) ? BigInt(Number(json)) : json;
  },
};

const asIs = (name: string): CelType => ({ name, valueOf: (json) => json });

const SCALARS: Readonly<Record<string, CelType>> = {
  string: asIs("string"),
  integer: { ...DYN, name: "int" },
  number: asIs("double"),
  boolean: asIs("bool"),
  "date-time": { name: "google.protobuf.Timestamp", valueOf: (json) => new Date(textOf(json)) },
};

function mapped(json: Tree, type: CelType): Tree {
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, type.valueOf(value)]));
}

const text = { type: "string" };
const RESOURCE = {
  apiVersion: text,
  kind: text,
  metadata: { type: "object", properties: { name: text, generateName: text } },
};

/** Declares a type. Returns undefined if expressions cannot access values of this schema. */
export function declareType(environment: Environment, schema: Structural): CelType | undefined {
  if (schema[INT_OR_STRING] === true) return DYN;
  if (schema.type === "array") return declareMany(environment, schema.items, (items) => `list<${items}>`);
  if (schema.type !== "object") return SCALARS[textOf(schema.format)] ?? SCALARS[textOf(schema.type)];
  const { additionalProperties: values } = schema;
  if (!isRecord(values)) return declareStruct(environment, schema);
  return declareMany(environment, values, (name) => `map<string, ${name}>`);
}

function declareMany(environment: Environment, one: unknown, nameOf: (one: string) => string): CelType | undefined {
  const type = isRecord(one) ? declareType(environment, one) : undefined;
  const valueOf = (json: unknown): unknown => {
    if (Array.isArray(json)) return json.map((item) => type?.valueOf(item));
    return isRecord(json) && type ? mapped(json, type) : json;
  };
  return type && { name: nameOf(type.name), valueOf };
}

let declared = 0;

function declareStruct(environment: Environment, schema: Structural): CelType {
  const properties = { ...recordAt(schema, "properties"), ...(schema[EMBEDDED] === true && RESOURCE) };
  const fields = Object.entries(properties).flatMap(([key, part]) => {
    const type = isRecord(part) ? declareType(environment, part) : undefined;
    return type ? [{ key, name: escaped(key), type }] : [];
  });
  declared += 1;
  const name = `object${declared}`;
  // Each type needs its own class, because the CEL library determines a value's type from its class.
  const Struct = class {
    declare readonly type: string;
  };
  const types = Object.fromEntries(fields.map((field) => [field.name, field.type.name]));
  environment.registerType(name, { ctor: Struct, fields: types });
  environment.registerOperator(`${name} == ${name}`, isDeepStrictEqual);
  environment.registerOperator(`${name} == null`, () => false);
  const valueOf = (json: unknown): unknown => {
    const values = isRecord(json) ? json : {};
    const present = fields.filter(({ key }) => values[key] !== undefined && values[key] !== null);
    const entries = present.map((field) => [field.name, field.type.valueOf(values[field.key])]);
    return Object.assign(new Struct(), Object.fromEntries(entries));
  };
  return { name, valueOf };
}

const KEYWORDS = ["as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let"];
const MORE_KEYWORDS = ["loop", "namespace", "null", "package", "return", "true", "var", "void", "while"];
const MARKS: Readonly<Record<string, string>> = { __: "underscores", ".": "dot", "-": "dash", "/": "slash" };

function escaped(key: string): string {
  if ([...KEYWORDS, ...MORE_KEYWORDS].includes(key)) return `__${key}__`;
  return key.replaceAll(/__|[.\-/]/g, (mark) => `__${MARKS[mark]}__`);
}
