/**
 * Strategic merge patch: a merge patch that knows which lists are maps in disguise.
 * Owns: merging by key, the `$` directives, the resulting order. Does not own: which lists have keys (kinds/).
 * The order follows k8s.io/apimachinery/pkg/util/strategicpatch, which client tools rely on.
 */
import { isDeepStrictEqual } from "node:util";
import { fieldAt, isRecord } from "../objects.ts";
import { badRequest } from "../status.ts";

type Lists = Readonly<Record<string, readonly string[]>>;
type Item = Record<string, unknown>;

const DELETE_FROM_SET = "$deleteFromPrimitiveList/";
const ELEMENT_ORDER = "$setElementOrder/";
const DIRECTIVES = new Set(["$patch", "$retainKeys"]);

export function applyStrategicPatch(original: Item, patch: Item, lists: Lists): Item {
  return mergeMap(original, patch, { lists, path: "" });
}

interface Place {
  readonly lists: Lists;
  readonly path: string;
}

function below({ lists, path }: Place, key: string): Place {
  return { lists, path: path === "" ? key : `${path}.${key}` };
}

function mergeMap(original: Item, patch: Item, place: Place): Item {
  if (patch.$patch === "replace") return withoutDirectives(patch);
  if (patch.$patch === "delete") return {};
  if (patch.$patch !== undefined && patch.$patch !== "merge") {
    badRequest(`Unknown patch directive: ${JSON.stringify(patch.$patch)}`);
  }
  const result = retainKeys(original, patch.$retainKeys);
  for (const [key, value] of Object.entries(patch)) {
    if (DIRECTIVES.has(key) || key.startsWith(ELEMENT_ORDER)) continue;
    if (key.startsWith(DELETE_FROM_SET)) deleteFromSet(result, key.slice(DELETE_FROM_SET.length), value);
    else if (value === null) delete result[key];
    else result[key] = mergeValue(result[key], value, { place: below(place, key), order: patch[ELEMENT_ORDER + key] });
  }
  orderUntouched(result, patch, place);
  return result;
}

interface ListPlace {
  readonly place: Place;
  /** The order the client wants, from `$setElementOrder/<list>`. */
  readonly order: unknown;
}

function mergeValue(original: unknown, patch: unknown, { place, order }: ListPlace): unknown {
  if (isRecord(patch)) return mergeMap(isRecord(original) ? original : {}, patch, place);
  if (!Array.isArray(patch)) return patch;
  const keys = place.lists[place.path];
  if (keys === undefined) return patch;
  const wanted = Array.isArray(order) ? order : undefined;
  const list: unknown[] = Array.isArray(original) ? original : [];
  const [key] = keys;
  return key === undefined
    ? mergeSet(list, patch, wanted)
    : mergeItems(list.filter(isRecord), patch.filter(isRecord), { key, place, wanted });
}

function mergeSet(
  original: readonly unknown[],
  patch: readonly unknown[],
  wanted: readonly unknown[] | undefined,
): unknown[] {
  const merged = [...original, ...patch.filter((value) => !original.includes(value))];
  return arrange(merged, { patched: patch, original, wanted, identity: (value) => value });
}

function mergeItems(
  original: readonly Item[],
  patch: readonly Item[],
  { key, place, wanted }: { key: string; place: Place; wanted: readonly unknown[] | undefined },
): unknown[] {
  if (patch.some((item) => item.$patch === "replace")) {
    return patch.filter((item) => item.$patch !== "replace" || Object.keys(item).length > 1).map(withoutDirectives);
  }
  let merged = [...original];
  const contents: Item[] = [];
  for (const item of patch) {
    if (item[key] === undefined) badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
    const index = merged.findIndex((one) => one[key] === item[key]);
    if (item.$patch === "delete") {
      merged = merged.filter((one) => one[key] !== item[key]);
      continue;
    }
    contents.push(item);
    if (index === -1) merged.push(mergeMap({}, item, place));
    else merged[index] = mergeMap(merged[index] ?? {}, item, place);
  }
  return arrange(merged, { patched: contents, original, wanted, identity: (item) => fieldAt(item, key) });
}

interface Arrangement {
  readonly patched: readonly unknown[];
  readonly original: readonly unknown[];
  readonly wanted: readonly unknown[] | undefined;
  readonly identity: (item: unknown) => unknown;
}

/**
 * What the patch names comes in the patch's order, the rest in its own; the two are interleaved so that nothing moves
 * without need, and what is new comes before what the patch did not name.
 */
function arrange(merged: readonly unknown[], { patched, original, wanted, identity }: Arrangement): unknown[] {
  const order = (wanted ?? patched).map((item) => (isRecord(item) ? identity(item) : item));
  const rank = original.map(identity);
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

/** `$setElementOrder/x` without `x`: the list only changes its order. */
function orderUntouched(result: Item, patch: Item, place: Place): void {
  for (const [directive, order] of Object.entries(patch)) {
    if (!directive.startsWith(ELEMENT_ORDER)) continue;
    const key = directive.slice(ELEMENT_ORDER.length);
    const list = result[key];
    if (patch[key] !== undefined || !Array.isArray(list) || !Array.isArray(order)) continue;
    result[key] = mergeValue(list, [], { place: below(place, key), order });
  }
}

function deleteFromSet(result: Item, key: string, values: unknown): void {
  const list = result[key];
  if (!Array.isArray(list) || !Array.isArray(values)) return;
  result[key] = list.filter((item) => !values.some((value) => isDeepStrictEqual(value, item)));
}

function retainKeys(original: Item, keys: unknown): Item {
  if (!Array.isArray(keys)) return { ...original };
  return Object.fromEntries(Object.entries(original).filter(([key]) => keys.includes(key)));
}

function withoutDirectives(item: Item): Item {
  return Object.fromEntries(Object.entries(item).filter(([key]) => !key.startsWith("$")));
}
