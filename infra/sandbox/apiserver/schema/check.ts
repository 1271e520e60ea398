/**
 * Are the fields of an object those of its kind?
 * Owns: unknown fields (dropped, warned of or refused, as the request wishes), values of the wrong type. Does not own:
 * whether values make sense (validation.ts).
 */
import type { ResourceContext } from "../context.ts";
import { goTypeOf, mediaTypeOf } from "../decoding.ts";
import type { ResourceKind } from "../kinds/kind.ts";
import { type KubeObject, type Tree, isRecord } from "../objects.ts";
import type { WriteOptions } from "../options.ts";
import { badRequest } from "../status.ts";
import { applySchemaDefaults, prune } from "./structural.ts";
import { type FieldType, type ModelField, type Models, loadModels } from "./models.ts";

/** Drops what the kind does not have, and reports it as the request wants. */
export type FieldCheck = (object: KubeObject) => void;

export async function fieldCheck(ctx: ResourceContext, { fieldValidation }: WriteOptions): Promise<FieldCheck> {
  const { kind } = ctx;
  const root = kind.model ?? METADATA_ONLY;
  const models = kind.model === undefined ? await metadataModels() : await loadModels(kind.model);
  const isJson = /json|form/.test(mediaTypeOf(ctx));
  const duplicates = isJson && fieldValidation !== "Ignore" ? duplicateFields(ctx.body.toString()) : [];
  return (object) => {
    const found: Findings = { models, unknown: [], kind };
    checkModel(object, root, { found, path: "", goPath: "" });
    if (kind.schema !== undefined) {
      found.unknown.push(...prune(object, kind.schema));
      applySchemaDefaults(object, kind.schema); // before anybody admits it
    }
    const unknown = found.unknown.map((path) => `unknown field "${path}"`);
    const messages = [...duplicates.map((path) => `duplicate field "${path}"`), ...unknown];
    if (messages.length === 0 || fieldValidation === "Ignore") return;
    if (fieldValidation === "Strict") refuse(kind, `strict decoding error: ${messages.join(", ")}`);
    ctx.warnings.push(...messages.filter((message) => !ctx.warnings.includes(message)));
  };
}

/** Those that the text has twice in one object, of which the last counts. */
function duplicateFields(json: string): readonly string[] {
  let count = 0;
  const keepingAll = json.replaceAll(/"((?:[^"\\]|\\.)*)"(\s*:)?/g, (text, name: string, colon?: string) =>
    colon === undefined ? text : `"${(count += 1)} ${name}":`,
  );
  return [...new Set(namedTwice(JSON.parse(keepingAll), ""))];
}

function namedTwice(value: unknown, path: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => namedTwice(item, `${path}[${index}]`));
  const seen = new Set<string>();
  return Object.entries(isRecord(value) ? value : {}).flatMap(([numbered, child]) => {
    const at = joined(path, numbered.slice(numbered.indexOf(" ") + 1));
    const below = namedTwice(child, at);
    return seen.size === seen.add(at).size ? [at, ...below] : below;
  });
}

/** Of a custom object only the metadata has a model; its other fields are in the schema of its definition. */
const METADATA_ONLY = "(custom)";

async function metadataModels(): Promise<Models> {
  const models = await loadModels("V1ObjectMeta");
  const metadata: ModelField = { name: "metadata", type: { of: "model", name: "V1ObjectMeta" }, format: "" };
  return new Map([...models, [METADATA_ONLY, new Map([["metadata", metadata]])]]);
}

interface Findings {
  readonly models: Models;
  readonly unknown: string[];
  readonly kind: ResourceKind;
}

interface At {
  readonly found: Findings;
  readonly path: string;
  /** The path as Go's decoder tells it: without indexes and keys of maps. */
  readonly goPath: string;
}

function refuse({ kind, version, group }: ResourceKind, why: string): never {
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return badRequest(
    `${kind} in version ${JSON.stringify(apiVersion.split("/").at(-1))} cannot be handled as a ${kind}: ${why}`,
  );
}

function checkModel(value: Tree, name: string, { found, path, goPath }: At): void {
  const model = found.models.get(name);
  if (model === undefined || model.size === 0) return;
  for (const [key, child] of Object.entries(value)) {
    const field = model.get(key);
    const at = { found, path: joined(path, key), goPath: joined(goPath, key) };
    // A null says nothing; only times are shown as one where they are missing.
    if (child === null && field !== undefined && field.format !== "date-time") delete value[key];
    else if (field !== undefined) checkValue(child, field.type, { ...at, owner: name, field });
    else if (name !== METADATA_ONLY) {
      found.unknown.push(at.path);
      delete value[key];
    }
  }
}

function joined(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

interface AtField extends At {
  readonly owner: string;
  readonly field: ModelField;
}

function checkValue(value: unknown, type: FieldType, at: AtField): void {
  if (value === null || type.of === "any") return;
  if (!hasType(value, type, at.field)) mismatch(value, type, at);
  if (type.of === "model" && isRecord(value)) checkModel(value, type.name, at);
  if (type.of === "list" || type.of === "map") checkItems(Object(value), type, at);
}

/** Reads a null where a text should stand as Go's decoder does. */
function checkItems(list: Tree, { of, items }: FieldType & { readonly of: "list" | "map" }, at: AtField): void {
  for (const [key, child] of Object.entries(list)) {
    if (child === null && items.of === "string") list[key] = QUANTITIES.has(at.field.name) ? "0" : "";
    checkValue(child, items, { ...at, path: `${at.path}${of === "list" ? `[${key}]` : `.${key}`}` });
  }
}

/** Quantities are declared as strings, but `cpu: 2` is one, too. */
const QUANTITIES = new Set(["limits", "requests", "capacity", "allocatable", "overhead", "sizeLimit", "divisor"]);

function hasType(value: unknown, type: FieldType, { name }: ModelField): boolean {
  switch (type.of) {
    case "list":
      return Array.isArray(value);
    case "map":
    case "model":
      return isRecord(value) || (type.of === "model" && typeof value !== "object");
    case "string":
      return typeof value === "string" || (typeof value === "number" && QUANTITIES.has(name));
    case "number":
    case "boolean":
      return typeof value === type.of;
    case "any":
      return true;
  }
}

function mismatch(value: unknown, type: FieldType, { found, owner, goPath }: AtField): never {
  const struct = owner.replace(/^V\d[a-z\d]*/, "");
  const what = `json: cannot unmarshal ${goTypeOf(value)} into Go struct field ${struct}.${goPath} of type ${goType(type)}`;
  return refuse(found.kind, what);
}

function goType(type: FieldType): string {
  switch (type.of) {
    case "list":
      return `[]${goType(type.items)}`;
    case "map":
      return `map[string]${goType(type.items)}`;
    case "model":
      return type.name.replace(/^V(\d[a-z\d]*)/, "v$1.");
    case "boolean":
      return "bool";
    case "number":
      return "int64";
    case "string":
      return "string";
    case "any":
      return "interface {}";
  }
}
