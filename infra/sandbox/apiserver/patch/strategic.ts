/**
 * Strategic merge patch. Some lists are merged by the keys of their items. The order of the items is the same as in
 * k8s.io/apimachinery/pkg/util/strategicpatch.
 */
import { isDeepStrictEqual } from "node:util";
import { type Tree, fieldAt, isRecord, textOf } from "../objects.ts";
import { joined } from "../schema/structural.ts";
import { badRequest, fail } from "../status.ts";

type Lists = Readonly<Record<string, readonly string[]>>;

export function applyStrategicPatch(original: Tree, patch: Tree, lists: Lists, replaced: readonly string[] = []): Tree {
  return mergeMap(original, patch, { lists, replaced, path: "" });
}

interface Place {
  readonly lists: Lists;
  readonly replaced: readonly string[];
  readonly path: string;
}

function below(place: Place, key: string): Place {
  return { ...place, path: joined(place.path, key) };
}

function mergeMap(original: Tree, patch: Tree, place: Place): Tree {
  const { $patch, $retainKeys, ...wanted } = patch;
  if ($patch === "replace") return wanted;
  if ($patch === "delete") return {};
  if ($patch !== undefined) refuse(`unknown patch type: ${textOf($patch)} in map: ${JSON.stringify(patch)}`);
  const result = retainKeys(original, wanted, $retainKeys);
  for (const [key, value] of Object.entries(wanted)) {
    const { directive, name } = partsOf(key);
    const at = { place: below(place, name), order: wanted[`$setElementOrder/${name}`] };
    if (directive === "$deleteFromPrimitiveList") deleteFromSet(result, name, value);
    else if (directive === undefined) mergeField(result, value, { name, at });
    // If the patch contains only `$setElementOrder`, the existing list is sorted.
    else if (wanted[name] === undefined) mergeField(result, result[name] ?? null, { name, at });
  }
  return result;
}

/** Splits a key such as `$directive/name`. Other keys are names. */
function partsOf(key: string): { readonly directive?: string | undefined; readonly name: string } {
  const [, directive, name = key] = /^(\$\w+)\/(.*)$/.exec(key) ?? [];
  return { directive, name };
}

function refuse(message: string): never {
  return fail({ reason: "Unclassified", message });
}

interface ListPlace {
  readonly place: Place;
  readonly order: unknown;
}

function mergeField(result: Tree, value: unknown, { name, at }: { name: string; at: ListPlace }): void {
  const isVoid = isRecord(value) && value.$patch !== undefined && !isRecord(result[name]);
  if (value === null || isVoid) delete result[name];
  else result[name] = mergeValue(result[name], value, at);
}

function mergeValue(original: unknown, patch: unknown, { place, order }: ListPlace): unknown {
  const merges = isRecord(original) && !place.replaced.includes(place.path);
  if (isRecord(patch)) return mergeMap(merges ? original : {}, patch, place);
  const keys = place.lists[place.path];
  if (!Array.isArray(patch) || keys === undefined) return patch;
  const identity = (item: unknown): unknown => (isRecord(item) ? item[keys[0] ?? ""] : item);
  const patched = patch.filter((item) => fieldAt(item, "$patch") === undefined);
  const list: readonly unknown[] = Array.isArray(original) ? original : [];
  const replaces = patch.some((item) => fieldAt(item, "$patch") === "replace");
  const merged = replaces ? patched : patch.reduce(mergeItem, list);
  return arrange(merged, list.map(identity), {
    identity,
    order: (Array.isArray(order) ? order : patched).map(identity),
  });

  function mergeItem(items: readonly unknown[], item: unknown): readonly unknown[] {
    const [key, id] = [keys?.[0], identity(item)];
    if (key && id === undefined) refuse(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
    if (fieldAt(item, "$patch") === "delete") return items.filter((one) => identity(one) !== id);
    const before = items.find((one) => identity(one) === id);
    const after = isRecord(item) ? mergeMap(isRecord(before) ? before : {}, item, place) : item;
    return before === undefined ? [...items, after] : items.map((one) => (one === before ? after : one));
  }
}

interface Arrangement {
  readonly identity: (item: unknown) => unknown;
  readonly order: readonly unknown[];
}

/**
 * Sorts the items that `order` lists, and inserts the items that `order` does not list. An inserted item comes before a
 * sorted item only if `rank` contains both items in this order.
 */
function arrange(merged: readonly unknown[], rank: readonly unknown[], { identity, order }: Arrangement): unknown[] {
  const named = merged.filter((item) => order.includes(identity(item)));
  named.sort((a, b) => order.indexOf(identity(a)) - order.indexOf(identity(b)));
  const rest = merged.filter((item) => !order.includes(identity(item)));
  const result: unknown[] = [];
  while (named.length > 0 && rest.length > 0) {
    const [left, right] = [rank.indexOf(identity(rest[0])), rank.indexOf(identity(named[0]))];
    const keepsPlace = left >= 0 && right >= 0 && left < right;
    result.push((keepsPlace ? rest : named).shift());
  }
  return [...result, ...rest, ...named];
}

function deleteFromSet(result: Tree, key: string, values: unknown): void {
  const list = result[key];
  if (!Array.isArray(list) || !Array.isArray(values)) return;
  result[key] = list.filter((item) => !values.some((value) => isDeepStrictEqual(value, item)));
}

function retainKeys(original: Tree, patch: Tree, keys: unknown): Tree {
  if (keys === undefined) return { ...original };
  const named = Object.keys(patch).filter((key) => !key.startsWith("$") && patch[key] !== null);
  if (!Array.isArray(keys) || named.some((key) => !keys.includes(key))) {
    return badRequest("invalid patch format of retainKeys");
  }
  return Object.fromEntries(Object.entries(original).filter(([key]) => keys.includes(key)));
}
