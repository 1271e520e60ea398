/**
 * JSON bent out of shape: keys gone, doubled, renamed, of another type, with values that somebody might not expect.
 * Owns: structural mutations. Does not own: mutations of the text (text-mutations.ts).
 */
import type { Random } from "./random.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export const ODD_STRINGS: readonly string[] = [
  "", " ", "NaN", "Infinity", "-1", "0", "1e9999", "null", "true", "undefined", "__proto__", "constructor", "toString",
  "..", "../../secrets", "a/b", "%2e%2e", "a?b=c", "a#b", "a b", "\u0000", "\ud800", "\u202egnp.exe", "💥", "ß", "A", "-",
  "virt-launcher-web-abcde", "virt-launcher-..-abcde", "virt-launcher-", "hp-volume-", "node01", "node99", "vms", "web",
  "None", "LiveMigrate", "LiveMigrateIfPossible", "External", "Running", "Succeeded", "Failed", "Pending", "True", "False",
  "PreemptionByScheduler", "DeletionByTaintManager", "system:kube-scheduler", "virt-launcher", "hotplug-disk", "All",
  "9999-12-31T23:59:59Z", "+275760-09-13T00:00:00.000Z", "-271821-04-20T00:00:00.000Z", "2026-11-20T12:00:00Z",
  "2026-11-20T11:59:59Z", "2026-13-45", "0000-00-00T00:00:00Z", "10Gi", "1e400", "-5Mi", "1E", "0x10", "CREATE", "DELETE",
]; // prettier-ignore

const ODD_NUMBERS: readonly number[] = [0, -0, -1, 1, 2, 0.5, 255, 2 ** 31, 2 ** 53, -(2 ** 53), 1e21, 1e308, -1e308];

export function oddString(random: Random): string {
  if (random.chance(0.04))
    return random.pick(["x", "é", "-", "virt-launcher-", "💥"]).repeat(random.pick([64, 254, 5000]));
  return random.pick(ODD_STRINGS);
}

export function oddJson(random: Random): Json {
  const kind = random.below(10);
  if (kind < 4) return oddString(random);
  if (kind < 6) return random.pick(ODD_NUMBERS);
  return structuredClone(
    random.pick<Json>([null, null, true, false, [], {}, [[]], [null], { "": "" }, ["a", "a"], { a: { b: [0] } }]),
  );
}

/** A place in a document. */
interface Place {
  readonly parent: Json[] | JsonObject;
  readonly key: string;
}

const MOST_PLACES = 3000;

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function placesIn(root: Json): readonly Place[] {
  const places: Place[] = [];
  const open: Json[] = [root];
  for (let value = open.pop(); value !== undefined && places.length < MOST_PLACES; value = open.pop()) {
    if (typeof value !== "object" || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      places.push({ parent: value, key });
      open.push(inner);
    }
  }
  return places;
}

function get({ parent, key }: Place): Json {
  return (Array.isArray(parent) ? parent[Number(key)] : parent[key]) ?? null;
}

/** As an own key whatever it is called: assigned, `__proto__` would be none. */
function set(parent: Json[] | JsonObject, key: string, value: Json): void {
  Object.defineProperty(parent, key, { value, enumerable: true, writable: true, configurable: true });
}

function remove({ parent, key }: Place): void {
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
}

function swappedType(value: Json): Json {
  if (typeof value === "string") return value.length % 2 === 0 ? value.length : [value];
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return Object.fromEntries(value.entries());
  return value === null ? {} : Object.values(value);
}

function duplicate({ parent, key }: Place, value: Json, random: Random): void {
  if (Array.isArray(parent))
    parent.push(...Array.from({ length: random.pick([1, 2, 50]) }, () => structuredClone(value)));
  else set(parent, `${key}${random.pick(["2", " ", "\u0000", "ſ"])}`, structuredClone(value));
}

/** One change somewhere below the root, in place. */
function mutateOnce(root: Json, random: Random): void {
  const places = placesIn(root);
  if (places.length === 0) return;
  const place = random.pick(places);
  const { parent, key } = place;
  const value = get(place);
  switch (random.below(7)) {
    case 0:
      return remove(place);
    case 1:
      return duplicate(place, value, random);
    case 2:
      remove(place);
      return set(
        parent,
        Array.isArray(parent) ? "0" : random.pick([key.toUpperCase(), `${key}s`, "__proto__", ""]),
        value,
      );
    case 3:
      return set(parent, key, swappedType(value));
    case 4:
      return isObject(value)
        ? set(value, random.pick(["__proto__", "constructor", "toString", ""]), oddJson(random))
        : set(parent, key, null);
    default:
      return set(parent, key, oddJson(random));
  }
}

/** A copy, changed so many times. */
export function mutated(value: Json, random: Random, times: number): Json {
  if (typeof value !== "object" || value === null) return times > 0 ? oddJson(random) : value;
  const copy = structuredClone(value);
  for (let i = 0; i < times; i++) mutateOnce(copy, random);
  return copy;
}
