/** The structural schema in a CustomResourceDefinition. */
import { isDeepStrictEqual } from "node:util";
import { type Tree, isRecord, recordAt, stringsAt } from "../objects.ts";

export type Structural = Tree;

const PRESERVE = "x-kubernetes-preserve-unknown-fields";
export const EMBEDDED = "x-kubernetes-embedded-resource";
export const INT_OR_STRING = "x-kubernetes-int-or-string";

/** All objects have these fields, even if the schema does not declare them. */
export const COMMON: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

export function schemaOf(version: Tree): Structural {
  return recordAt(version, "schema.openAPIV3Schema");
}

export function partOf(schema: Structural, key: string): Structural | undefined {
  const part = recordAt(schema, "properties")[key] ?? schema.additionalProperties;
  return isRecord(part) ? part : part === true ? {} : undefined;
}

/** Returns the schema at a path like `.spec.node`. */
export function partAt(schema: Structural, path: string): Structural | undefined {
  const keys = path.split(".").slice(1);
  return keys.reduce<Structural | undefined>((part, key) => part && partOf(part, key), schema);
}

/** Returns true if a schema needs no type. It permits integers and strings, or it preserves unknown fields. */
export function isFree(schema: Structural): boolean {
  return schema[INT_OR_STRING] === true || schema[PRESERVE] === true;
}

function mayNotBeNull(schema: Structural | undefined): boolean {
  return schema !== undefined && schema.nullable !== true;
}

/**
 * Removes unknown fields, and returns their paths. Also removes null from fields that are not nullable and have no
 * default.
 */
export function prune(object: Tree, schema: Structural): readonly string[] {
  return pruneValue(object, { ...schema, [EMBEDDED]: true }, "").toSorted();
}

function pruneValue(value: unknown, schema: Structural, path: string): readonly string[] {
  if (Array.isArray(value)) {
    const items = isRecord(schema.items) ? schema.items : { [PRESERVE]: schema[PRESERVE] };
    return value.flatMap((item: unknown, index) => pruneValue(item, items, `${path}[${index}]`));
  }
  if (!isRecord(value)) return [];
  const keys = Object.keys(value).filter((key) => schema[EMBEDDED] !== true || !COMMON.has(key));
  return keys.flatMap((key) => {
    const known = partOf(schema, key);
    if (known === undefined && schema[PRESERVE] === true) return [];
    const isVain = value[key] === null && mayNotBeNull(known) && known?.default === undefined;
    if (known === undefined || isVain) delete value[key];
    return known === undefined ? [joined(path, key)] : pruneValue(value[key], known, joined(path, key));
  });
}

export function applySchemaDefaults(value: unknown, schema: Structural): void {
  if (Array.isArray(value)) value.forEach((_, index) => applyDefault(value, index, recordAt(schema, "items")));
  if (!isRecord(value)) return;
  const keys = new Set([...Object.keys(recordAt(schema, "properties")), ...Object.keys(value)]);
  for (const key of keys) applyDefault(value, key, partOf(schema, key));
}

/** Sets the default of a field that is missing. Null is also replaced, unless the field is nullable. */
function applyDefault(parent: object, key: string | number, schema: Structural = {}): void {
  const value: unknown = Reflect.get(parent, key);
  const isMissing = value === undefined || (value === null && mayNotBeNull(schema));
  if (isMissing && schema.default !== undefined) Reflect.set(parent, key, structuredClone(schema.default));
  applySchemaDefaults(Reflect.get(parent, key), schema);
}

export interface Node {
  readonly value: unknown;
  readonly schema: Structural;
  /** The previous value. It is undefined if no previous value matches. */
  readonly old: unknown;
  readonly path: string;
  readonly keyed: string;
}

export function childrenOf(node: Node): readonly Node[] {
  const { value, schema, path, keyed } = node;
  if (Array.isArray(value)) {
    const items = recordAt(schema, "items");
    return value.map((item: unknown, index) => {
      const step = `[${index}]`;
      return { value: item, schema: items, old: itemBefore(node, item), path: path + step, keyed: keyed + step };
    });
  }
  if (!isRecord(value)) return [];
  const before = isRecord(node.old) && schema["x-kubernetes-map-type"] !== "atomic" ? node.old : {};
  return Object.entries(value).flatMap(([key, child]) => {
    const known = partOf(schema, key);
    const at = recordAt(schema, "properties")[key] === undefined ? `${keyed}[${key}]` : joined(keyed, key);
    return known
      ? [{ value: child, schema: known, old: before[key] ?? undefined, path: joined(path, key), keyed: at }]
      : [];
  });
}

/** Returns the item of the old list that has the same map keys. */
function itemBefore({ old, schema }: Node, item: unknown): unknown {
  if (schema["x-kubernetes-list-type"] !== "map" || !Array.isArray(old)) return undefined;
  return old.find((other) => isDeepStrictEqual(keyOf(schema, other), keyOf(schema, item)));
}

export function keyOf(schema: Structural, item: unknown): Tree {
  const keys = stringsAt(schema, "x-kubernetes-list-map-keys");
  return Object.fromEntries(keys.flatMap((key) => (isRecord(item) && key in item ? [[key, item[key]]] : [])));
}

export function joined(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}
