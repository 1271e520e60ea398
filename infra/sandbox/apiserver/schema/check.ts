/** Checks that the fields of an object are known and have the right types. */
import type { ResourceContext } from "../context.ts";
import { duplicateFields, goTypeOf, mediaTypeOf } from "../decoding.ts";
import { type KubeObject, type Tree, isRecord } from "../objects.ts";
import type { WriteOptions } from "../options.ts";
import { badRequest } from "../status.ts";
import { applySchemaDefaults, joined, prune } from "./structural.ts";
import { type FieldType, type ModelField, type Models, loadModels } from "./models.ts";
import { readTime } from "./time.ts";

/**
 * Removes unknown fields. The request's fieldValidation determines whether they cause an error, a warning or nothing.
 */
export type FieldCheck = (object: KubeObject, objections?: Objections) => void;

interface Objections {
  readonly refuse: (why: string) => never;
  /** Whether the object is an applied configuration. Its unknown fields are always errors. */
  readonly applied?: boolean;
}

export async function fieldCheck(ctx: ResourceContext, { fieldValidation }: WriteOptions): Promise<FieldCheck> {
  const { kind } = ctx;
  const root = kind.model ?? METADATA_ONLY;
  const models = kind.model === undefined ? await metadataModels() : await loadModels(kind.model);
  const what = `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}`;
  return (object, { refuse, applied = false } = { refuse: (why) => badRequest(`${what}: ${why}`) }) => {
    const found: Findings = { models, unknown: [], refuse, applied };
    checkModel(object, root, { found, path: "", goPath: "" });
    if (kind.schema !== undefined) {
      found.unknown.push(...prune(object, kind.schema));
      // Sets defaults before admission, but not in the body of a server-side apply.
      if (mediaTypeOf(ctx) !== "application/apply-patch+yaml") applySchemaDefaults(object, kind.schema);
    }
    if (applied && found.unknown.length > 0) refuse(`.${found.unknown[0]}: field not declared in schema`);
    const unknown = found.unknown.map((path) => `unknown field "${path}"`);
    if (fieldValidation === "Ignore") return;
    const messages = [...duplicateFields(ctx).map((path) => `duplicate field "${path}"`), ...unknown];
    if (messages.length === 0) return;
    if (fieldValidation === "Strict") refuse(`strict decoding error: ${messages.join(", ")}`);
    ctx.warnings.push(...messages.filter((message) => !ctx.warnings.includes(message)));
  };
}

/** Checks a request body that is not a stored object, such as DeleteOptions. Ignores unknown fields. */
export async function checkFields(value: Tree, model: string): Promise<void> {
  const found = { models: await loadModels(model), unknown: [], refuse: badRequest, applied: false };
  checkModel(value, model, { found, path: "", goPath: "" });
}

const METADATA_ONLY = "(custom)";

async function metadataModels(): Promise<Models> {
  const models = await loadModels("V1ObjectMeta");
  const metadata: ModelField = { name: "metadata", type: { of: "model", name: "V1ObjectMeta" }, format: "" };
  return new Map([...models, [METADATA_ONLY, new Map([["metadata", metadata]])]]);
}

interface Findings extends Required<Objections> {
  readonly models: Models;
  readonly unknown: string[];
}

interface At {
  readonly found: Findings;
  readonly path: string;
  /** The path in Go's messages. It contains no indexes and no map keys. */
  readonly goPath: string;
}

function checkModel(value: Tree, name: string, { found, path, goPath }: At): void {
  const model = found.models.get(name);
  if (model === undefined || model.size === 0) return;
  for (const [key, child] of Object.entries(value)) {
    const field = model.get(key);
    const at = { found, path: joined(path, key), goPath: joined(goPath, key) };
    if (field !== undefined) checkField(value, child, { ...at, owner: name, field });
    else if (name !== METADATA_ONLY) {
      found.unknown.push(at.path);
      delete value[key];
    }
  }
}

interface AtField extends At {
  readonly owner: string;
  readonly field: ModelField;
}

/** Checks a field. Removes null, unless the field is a time. */
function checkField(parent: Tree, value: unknown, at: AtField): void {
  const { name, type, format, layout } = at.field;
  if (value === null && format !== "date-time") delete parent[name];
  checkValue(value, type, at);
  if (layout !== undefined && typeof value === "string") parent[name] = readTime(value, layout, at.found.refuse);
}

function checkValue(value: unknown, type: FieldType, at: AtField): void {
  if (value === null || type.of === "any") return;
  if (!hasType(value, type, at.field)) mismatch(value, type, at);
  if (type.of === "model" && isRecord(value)) checkModel(value, type.name, at);
  if (type.of === "list" || type.of === "map") checkItems(Object(value), type, at);
}

/**
 * Checks the items of a list or map. Replaces null in the same way as Go: by an empty string, or by 0 for a quantity.
 */
function checkItems(list: Tree, { of, items }: FieldType & { readonly of: "list" | "map" }, at: AtField): void {
  for (const [key, child] of Object.entries(list)) {
    if (child === null && items.of === "string") list[key] = QUANTITIES.has(at.field.name) ? "0" : "";
    checkValue(child, items, { ...at, path: `${at.path}${of === "list" ? `[${key}]` : `.${key}`}` });
  }
}

/** Fields with quantities. A quantity may be a number or a string. */
const QUANTITIES = new Set(["limits", "requests", "capacity", "allocatable", "overhead", "sizeLimit", "divisor"]);

const HIGHEST: Readonly<Record<string, number>> = { int32: 2 ** 31 - 1, int64: 2 ** 63 };

function hasType(value: unknown, type: FieldType, { name, format }: ModelField): boolean {
  switch (type.of) {
    case "list":
      return Array.isArray(value);
    case "map":
    case "model":
      return isRecord(value) || (type.of === "model" && typeof value !== "object");
    case "string":
      return typeof value === "string" || (typeof value === "number" && QUANTITIES.has(name));
    case "number":
      if (HIGHEST[format] === undefined) return typeof value === "number";
      return Number.isInteger(value) && Math.abs(Number(value)) <= HIGHEST[format];
    case "boolean":
      return typeof value === type.of;
    case "intOrString":
      return typeof value === "string" || Number.isInteger(value);
    case "any":
      return true;
  }
}

function mismatch(value: unknown, type: FieldType, { found, owner, path, goPath, field }: AtField): never {
  if (found.applied) {
    const wanted = type.of === "number" ? "numeric (int or float)" : type.of === "model" ? "map" : type.of;
    found.refuse(`.${path}: expected ${wanted}, got &value.valueUnstructured{Value:${JSON.stringify(value)}}`);
  }
  const struct = owner.replace(/^V\d[a-z\d]*/, "");
  const shown = typeof value === "number" && type.of === "number" ? `number ${value}` : goTypeOf(value);
  const wanted = type.of === "number" && field.format !== "" ? field.format : goType(type);
  return found.refuse(`json: cannot unmarshal ${shown} into Go struct field ${struct}.${goPath} of type ${wanted}`);
}

const GO_TYPES = { boolean: "bool", number: "int64", intOrString: "int32", string: "string", any: "interface {}" };

function goType(type: FieldType): string {
  if (type.of === "list") return `[]${goType(type.items)}`;
  if (type.of === "map") return `map[string]${goType(type.items)}`;
  return type.of === "model" ? type.name.replace(/^V(\d[a-z\d]*)/, "v$1.") : GO_TYPES[type.of];
}
