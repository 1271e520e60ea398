/** Sets of an object's fields, for server-side apply. The rules are from sigs.k8s.io/structured-merge-diff. */
import { isDeepStrictEqual } from "node:util";
import { type Fields, isRecord } from "./objects.ts";

/** Describes the lists and maps of a kind. The items of some lists and maps can have different owners. */
export interface FieldSchema {
  /**
   * Maps the path of a list to the keys that identify an item. If there are no keys, the item's value identifies the
   * item. A list that is missing in this map is atomic: the whole list is one field.
   */
  readonly lists: Readonly<Record<string, readonly string[]>>;
  /** The paths of atomic maps. Each atomic map is one field. */
  readonly atomicMaps: readonly string[];
}

/** A set of fields. Each field is a path of FieldsV1 elements (`f:name`, `k:{…}`, `v:…`), joined by newlines. */
export type FieldSet = Set<string>;

export function minus(a: FieldSet, b: ReadonlySet<string>): FieldSet {
  return new Set([...a].filter((field) => !b.has(field)));
}

export interface Difference {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** A position in an object. `key` has all FieldsV1 elements, and `path` has only the names of fields. */
interface Place {
  readonly schema: FieldSchema;
  readonly key: string;
  readonly path: string;
}

function root(schema: FieldSchema): Place {
  return { schema, key: "", path: "" };
}

function below({ schema, key, path }: Place, element: string): Place {
  const name = element.startsWith("f:") ? element.slice(2) : undefined;
  return {
    schema,
    key: key === "" ? element : `${key}\n${element}`,
    path: name === undefined ? path : path === "" ? name : `${path}.${name}`,
  };
}

function partsOf(value: unknown, { schema, path }: Place): Map<string, unknown> | undefined {
  if (isRecord(value)) {
    if (schema.atomicMaps.includes(path)) return undefined;
    return new Map(Object.entries(value).map(([key, child]) => [`f:${key}`, child]));
  }
  const keys = schema.lists[path];
  if (!Array.isArray(value) || keys === undefined) return undefined;
  return new Map(value.map((item: unknown) => [elementOf(item, keys), item]));
}

const KEY_DEFAULTS: Readonly<Record<string, string>> = { protocol: "TCP" };

function elementOf(item: unknown, keys: readonly string[]): string {
  if (keys.length === 0 || !isRecord(item)) return `v:${JSON.stringify(item)}`;
  const entries = keys.toSorted().map((key) => [key, item[key] ?? KEY_DEFAULTS[key]]);
  return `k:${JSON.stringify(Object.fromEntries(entries))}`;
}

export function fieldsOf(object: unknown, schema: FieldSchema): FieldSet {
  const fields: FieldSet = new Set();
  collect(object, root(schema), { fields, withMaps: false });
  return fields;
}

/** Collects the fields of a value. If `withMaps` is true, each map and each list is also a field. */
function collect(value: unknown, place: Place, into: { fields: FieldSet; withMaps: boolean }): void {
  const parts = partsOf(value, place);
  const isItem = place.key.slice(place.key.lastIndexOf("\n") + 1).startsWith("k:");
  const isField = parts === undefined || parts.size === 0 || isItem || into.withMaps;
  if (isField && place.key !== "") into.fields.add(place.key);
  for (const [element, part] of parts ?? []) collect(part, below(place, element), into);
}

export function differenceOf(before: unknown, after: unknown, schema: FieldSchema): Difference {
  const difference: Difference = { added: new Set(), modified: new Set(), removed: new Set() };
  compare(before, after, { place: root(schema), difference });
  return difference;
}

function compare(
  before: unknown,
  after: unknown,
  { place, difference }: { place: Place; difference: Difference },
): void {
  const [old, parts] = [partsOf(before, place), partsOf(after, place)];
  if (old === undefined || parts === undefined) {
    if (!isDeepStrictEqual(before, after)) difference.modified.add(place.key);
    return;
  }
  for (const element of new Set([...old.keys(), ...parts.keys()])) {
    const at = below(place, element);
    if (!old.has(element)) collect(parts.get(element), at, { fields: difference.added, withMaps: true });
    else if (!parts.has(element)) collect(old.get(element), at, { fields: difference.removed, withMaps: true });
    else compare(old.get(element), parts.get(element), { place: at, difference });
  }
}

export function mergeFields(live: unknown, applied: unknown, schema: FieldSchema): unknown {
  return merge(live, applied, root(schema));
}

function merge(live: unknown, applied: unknown, place: Place): unknown {
  const [old, parts] = [partsOf(live, place), partsOf(applied, place)];
  if (old === undefined || parts === undefined) return applied;
  for (const [element, part] of parts) {
    old.set(element, old.has(element) ? merge(old.get(element), part, below(place, element)) : part);
  }
  return assemble(old, Array.isArray(applied));
}

function assemble(parts: Map<string, unknown>, asList: boolean): unknown {
  if (asList) return [...parts.values()];
  return Object.fromEntries([...parts].map(([element, part]) => [element.slice(2), part]));
}

/** Removes the given fields from a value. Also removes lists and maps that have become empty. */
export function removeFields(value: unknown, fields: FieldSet, schema: FieldSchema): unknown {
  return fields.size === 0 ? value : remove(value, fields, root(schema));
}

function remove(value: unknown, fields: FieldSet, place: Place): unknown {
  const parts = partsOf(value, place);
  if (parts === undefined) return value;
  for (const [element, part] of parts) {
    const at = below(place, element);
    const left = fields.has(at.key) ? undefined : remove(part, fields, at);
    const isEmptyNow = left !== part && isEmpty(left);
    if (left === undefined || isEmptyNow) parts.delete(element);
    else parts.set(element, left);
  }
  const left = assemble(parts, Array.isArray(value));
  return isDeepStrictEqual(left, value) ? value : left;
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** Returns true if the set contains this field or a field below it. */
export function hasBelow(fields: FieldSet, key: string): boolean {
  return fields.has(key) || [...fields].some((field) => field.startsWith(`${key}\n`));
}

export function encodeFields(fields: FieldSet): Fields {
  const tree: Fields = {};
  for (const field of [...fields].toSorted()) {
    let node = tree;
    for (const element of field.split("\n")) node = node[element] ??= {};
    node["."] = {};
  }
  return withoutLoneDots(tree);
}

function withoutLoneDots(tree: Fields): Fields {
  const entries = Object.entries(tree).filter(([key]) => key !== ".");
  const children = entries.map(([key, child]): [string, Fields] => [key, withoutLoneDots(child)]);
  return entries.length > 0 && tree["."] ? { ".": {}, ...Object.fromEntries(children) } : Object.fromEntries(children);
}

export function decodeFields(fields: Fields): FieldSet {
  const set: FieldSet = new Set();
  const walk = (node: Fields, key: string): void => {
    const children = Object.entries(node).filter(([element]) => element !== ".");
    if (key !== "" && (children.length === 0 || node["."])) set.add(key);
    for (const [element, child] of children) walk(child, key === "" ? element : `${key}\n${element}`);
  };
  walk(fields, "");
  return set;
}

/** Renders a field such as `.spec.containers[name="c"].image`. */
export function showField(field: string): string {
  return field
    .split("\n")
    .map((element) => {
      const rest = element.slice(2);
      if (element.startsWith("f:")) return `.${rest}`;
      if (element.startsWith("v:")) return `[=${rest}]`;
      const keys: Record<string, unknown> = JSON.parse(rest);
      return `[${Object.entries(keys)
        .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
        .join(",")}]`;
    })
    .join("");
}
