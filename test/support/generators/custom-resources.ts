/**
 * Custom resources at the edges of what the shipped CustomResourceDefinitions admit: the longest names, the farthest times, fields that a
 * writer left out, whatever an account with the right to write them may have put there.
 */
import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { load } from "js-yaml";
import {
  type Tree,
  isRecord,
  recordAt,
  recordsAt,
  stringsAt,
  textOf,
  viewAs,
} from "../../../infra/sandbox/apiserver/objects.ts";
import {
  applySchemaDefaults,
  EMBEDDED,
  prune,
  type Structural,
  schemaOf,
} from "../../../infra/sandbox/apiserver/schema/structural.ts";
import { validateBySchema } from "../../../infra/sandbox/apiserver/schema/validation.ts";
import { asJson, isObject, type JsonObject, oddString } from "./json.ts";
import { moment } from "./objects.ts";

function schemaIn(file: string): Structural {
  const text = readFileSync(new URL(`../../../infra/kubernetes/crds/${file}.yaml`, import.meta.url), "utf8");
  const [version = {}] = recordsAt(viewAs<Tree>(load(text)), "spec.versions");
  return { ...schemaOf(version), [EMBEDDED]: true };
}

export const EVACUATION = schemaIn("evacuations");
export const CONFIGURATION = schemaIn("lifeboatconfigurations");

/** Go's check of `date-time` lets these pass, too; the sandbox's does not. */
const GO_TIMES = [
  "2026-03-01t12:00:00z",
  "2026-03-01T12:00:00,5Z",
  "2026-03-01T12:00:00+99:99",
  "2026-03-01T12:00:00x5Z",
];
const TIMES = [
  ...GO_TIMES,
  "0000-01-01T00:00:00Z",
  "0001-01-01T00:00:00Z",
  "9999-12-31T23:59:59Z",
  "2026-03-01T12:00:00.123456789Z",
  "2026-03-01T12:00:00+14:00",
];
/** What a terminal would obey, what HTML would, and what looks like a line of ours. */
export const HOSTILE_TEXTS = [
  "\u001b[2J\u001b[35mowned",
  "\u001b]0;title\u0007",
  "\u009b35m",
  "a\r\u001b[1A\u001b[Kb",
  "<img src=x onerror=alert(1)>",
  "\u202Etxt.exe",
];

/** What an API server would say against it, with the paths of fields. */
export function refusalsOf(object: JsonObject, schema: Structural, previous?: JsonObject): readonly string[] {
  const before = previous && completed(plainTimes(previous), schema);
  const errors = validateBySchema(completed(plainTimes(object), schema), schema, before);
  return errors.map(({ field, message }) => `${field}: ${message}`);
}

function plainTimes(object: JsonObject): unknown {
  const texts = GO_TIMES.reduce(
    (text, time) => text.replaceAll(`"${time}"`, '"2026-03-01T12:00:00Z"'),
    JSON.stringify(object),
  );
  return JSON.parse(texts);
}

function completed(object: unknown, schema: Structural): Tree {
  const sent = viewAs<Tree>(object);
  prune(sent, schema);
  applySchemaDefaults(sent, schema);
  return sent;
}

/** As an API server hands it out again. */
export function stored(object: JsonObject, schema: Structural): JsonObject {
  const kept = asJson(completed(structuredClone(object), schema));
  return isObject(kept) ? kept : {};
}

function numberAt(schema: Structural, key: string, fallback: number): number {
  const value = schema[key];
  return typeof value === "number" ? value : fallback;
}

function text(schema: Structural): fc.Arbitrary<unknown> {
  const most = numberAt(schema, "maxLength", 5000);
  const { pattern } = schema;
  if (schema.format === "date-time") return fc.oneof(fc.constantFrom(...TIMES), moment);
  if (typeof pattern === "string")
    return fc.oneof(fc.stringMatching(new RegExp(pattern)), fc.constant("a".repeat(most)));
  // Counted in characters, not in halves of them.
  const longest = ["x", "💥", "\u001b", "<"].map((one) => one.repeat(most));
  return fc.oneof(fc.constantFrom(...HOSTILE_TEXTS, ...longest), oddString);
}

function number(schema: Structural): fc.Arbitrary<unknown> {
  const most = schema.format === "int32" ? 2 ** 31 - 1 : Number.MAX_SAFE_INTEGER;
  const [least, greatest] = [numberAt(schema, "minimum", -most), numberAt(schema, "maximum", most)];
  const fraction = schema.type === "number" ? [0.5, 1e-9] : [];
  return fc.constantFrom(least, least + 1, greatest, greatest - 1, 0, 1, ...fraction);
}

function record(schema: Structural): fc.Arbitrary<unknown> {
  const { additionalProperties } = schema;
  if (isRecord(additionalProperties)) return fc.dictionary(oddString, valueOf(additionalProperties), { maxKeys: 3 });
  const fields = Object.entries(recordAt(schema, "properties")).map(([key, part]) => [key, valueOf(viewAs(part))]);
  return fc.record(viewAs<Record<string, fc.Arbitrary<unknown>>>(Object.fromEntries(fields)), {
    requiredKeys: [...stringsAt(schema, "required")],
  });
}

/** One of the values that the schema admits, mostly; its rules may refuse it. */
function valueOf(schema: Structural): fc.Arbitrary<unknown> {
  if (Array.isArray(schema.enum)) return fc.constantFrom(...viewAs<unknown[]>(schema.enum));
  switch (textOf(schema.type)) {
    case "string":
      return text(schema);
    case "boolean":
      return fc.boolean();
    case "integer":
    case "number":
      return number(schema);
    case "array":
      return fc.array(valueOf(recordAt(schema, "items")), { maxLength: Math.min(8, numberAt(schema, "maxItems", 8)) });
    default:
      return record(schema);
  }
}

type Path = readonly string[];

function placesIn(schema: Structural, path: Path = []): readonly (readonly [Path, Structural])[] {
  return Object.entries(recordAt(schema, "properties")).flatMap(([key, part]) => {
    const at = [...path, key];
    if (path.length === 0 && key !== "spec" && key !== "status") return [];
    const inner = placesIn(viewAs(part), at);
    return path.length === 0 ? inner : [[at, viewAs<Structural>(part)] as const, ...inner];
  });
}

function put(into: Tree, [key = "", ...rest]: Path, value: unknown): void {
  if (rest.length > 0) {
    const inner = { ...recordAt(into, key) };
    into[key] = inner;
    put(inner, rest, value);
  } else if (value === undefined) delete into[key];
  else into[key] = value;
}

type Change = { readonly path: Path; readonly value: unknown };

function changed(object: JsonObject, made: readonly Change[]): JsonObject {
  const copy: Tree = { ...object };
  for (const { path, value } of made) put(copy, path, value);
  const next = asJson(copy);
  return isObject(next) ? next : {};
}

/** Up to so many fields are others, which the API server admits; those that it would refuse stay as they were. */
export function admitted(schema: Structural, most = 4): fc.Arbitrary<(object: JsonObject) => JsonObject> {
  const changes = placesIn(schema).map(([path, part]): fc.Arbitrary<Change> => {
    return fc.option(valueOf(part), { nil: undefined, freq: 8 }).map((value) => ({ path, value }));
  });
  const isAdmitted = (object: JsonObject) => refusalsOf(object, schema).length === 0;
  return fc.array(fc.oneof(...changes), { minLength: 1, maxLength: most }).map((made) => (object) => {
    const all = changed(object, made);
    if (isAdmitted(all)) return stored(all, schema);
    const one = (kept: JsonObject, change: Change) => {
      const next = changed(kept, [change]);
      return isAdmitted(next) ? next : kept;
    };
    return stored(made.reduce(one, object), schema);
  });
}
