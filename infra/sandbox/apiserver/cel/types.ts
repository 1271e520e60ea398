/**
 * Types of the Common Expression Language for values that have a schema.
 * Owns: declaring them, turning JSON into values of them. Does not own: the language (@marcbachmann/cel-js), schemas
 * (schema/structural.ts).
 */
import { isDeepStrictEqual } from "node:util";
import type { Environment } from "@marcbachmann/cel-js";
import { type Tree, isRecord, recordAt, textOf } from "../objects.ts";
import { EMBEDDED, INT_OR_STRING, type Structural } from "../schema/structural.ts";

export interface CelType {
  readonly name: string;
  readonly valueOf: (json: unknown) => unknown;
}

/** A JSON number without a fraction is an int, wherever it stands. */
export const DYN: CelType = {
  name: "dyn",
  valueOf: (json) => {
    if (Array.isArray(json)) return json.map(DYN.valueOf);
    return isRecord(json) ? mapped(json, DYN) : Number.isInteger(json) ? BigInt(Number(json)) : json;
  },
};

const asIs = (name: string): CelType => ({ name, valueOf: (json) => json });
const timestamp: CelType = { name: "google.protobuf.Timestamp", valueOf: (json) => new Date(textOf(json)) };
const bytes: CelType = { name: "bytes", valueOf: (json) => new Uint8Array(Buffer.from(textOf(json), "base64")) };
const TEXTS: Readonly<Record<string, CelType>> = { "date-time": timestamp, date: timestamp, byte: bytes };

const SCALARS: Readonly<Record<string, (schema: Structural) => CelType>> = {
  string: ({ format }) => TEXTS[textOf(format)] ?? asIs("string"),
  integer: () => ({ ...DYN, name: "int" }),
  number: () => asIs("double"),
  boolean: () => asIs("bool"),
};

function mapped(json: Tree, type: CelType): Tree {
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, type.valueOf(value)]));
}

const text = { type: "string" };
const RESOURCE = { apiVersion: text, kind: text };
const METADATA = { type: "object", properties: { name: text, generateName: text } };

/** Undefined: values of this schema are invisible to expressions. */
export function declareType(environment: Environment, schema: Structural): CelType | undefined {
  if (schema[INT_OR_STRING] === true) return DYN;
  if (schema.type === "array") {
    const items = declareType(environment, recordAt(schema, "items"));
    if (items === undefined) return undefined;
    return { name: `list<${items.name}>`, valueOf: (json) => (Array.isArray(json) ? json.map(items.valueOf) : json) };
  }
  if (schema.type !== "object") return SCALARS[textOf(schema.type)]?.(schema);
  if (!isRecord(schema.additionalProperties)) return declareStruct(environment, schema);
  const values = declareType(environment, schema.additionalProperties);
  return (
    values && { name: `map<string, ${values.name}>`, valueOf: (json) => (isRecord(json) ? mapped(json, values) : json) }
  );
}

let declared = 0;

function declareStruct(environment: Environment, schema: Structural): CelType {
  const properties = {
    ...recordAt(schema, "properties"),
    ...(schema[EMBEDDED] === true && { ...RESOURCE, metadata: METADATA }),
  };
  const fields = Object.entries(properties).flatMap(([key, part]) => {
    const type = isRecord(part) ? declareType(environment, part) : undefined;
    return type ? [{ key, name: escaped(key), type }] : [];
  });
  declared += 1;
  const name = `object${declared}`;
  // Its own for each type: by it the library tells values of one from those of another.
  const Struct = class {
    declare readonly type: string;
  };
  const types = Object.fromEntries(fields.map((field) => [field.name, field.type.name]));
  environment.registerType(name, { ctor: Struct, fields: types });
  environment.registerOperator(`${name} == ${name}`, isDeepStrictEqual);
  const valueOf = (json: unknown): unknown => {
    const present = fields.filter(({ key }) => isRecord(json) && json[key] !== undefined && json[key] !== null);
    const values = present.map((field) => [field.name, field.type.valueOf(recordAt({ json }, "json")[field.key])]);
    return Object.assign(new Struct(), Object.fromEntries(values));
  };
  return { name, valueOf };
}

const KEYWORDS =
  /^(?:true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while)$/;
const MARKS: Readonly<Record<string, string>> = { __: "underscores", ".": "dot", "-": "dash", "/": "slash" };

function escaped(key: string): string {
  if (KEYWORDS.test(key)) return `__${key}__`;
  return key.replaceAll(/__|[.\-/]/g, (mark) => `__${MARKS[mark]}__`);
}
