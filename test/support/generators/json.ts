/** Generates malformed JSON and text, with removed, duplicated and renamed keys, wrong types, and unusual values. */
import * as fc from "fast-check";
import { isObject, type Json, type JsonObject } from "../json.ts";

// prettier-ignore
const ODD_STRINGS: readonly string[] = [
  "", " ", "0", "-1", "null", "true", "..", "../../secrets", "a/b", "%2e%2e%2f", "__proto__", "constructor", "toString", "\u0000", "\n",
  "\uFEFF", "\uD800", "💥", "İ", "a\u202Eb", "<script>", "${x}", "#{}", "web?x=1#y", "Bearer x", "9999-12-31T23:59:59Z",
  "+275760-09-13T00:00:00.000Z", "-271821-04-20T00:00:00.000Z", "2026-03-01T12:00:00Z", "2026-13-45", "0000-00-00T00:00:00Z",
  "10Gi", "1e400", "-5Mi", "1E", "0x10", "CREATE", "DELETE", "node02", "Running", "Failed",
];
const ODD_NUMBERS = [0, -0, -1, 1, 2, 0.5, 255, 2 ** 31, 2 ** 53, -(2 ** 53), 1e21, 1e308, -1e308];
const LONG = ["x", "é", "-", "virt-launcher-", "💥"].flatMap((one) => [64, 254, 5000].map((n) => one.repeat(n)));

export const oddString = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(...ODD_STRINGS) },
  { weight: 1, arbitrary: fc.constantFrom(...LONG) },
  { weight: 2, arbitrary: fc.string({ unit: "binary" }) },
);
export const oddJson: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: oddString },
  { weight: 2, arbitrary: fc.constantFrom(...ODD_NUMBERS) },
  { weight: 3, arbitrary: fc.constantFrom<Json>(null, true, false, [], {}, [[]], [null], { "": "" }, ["a", "a"]) },
);

const change = fc.record({
  at: fc.noBias(fc.nat()),
  how: fc.constantFrom("remove", "double", "rename", "retype", "add", "set", "set"),
  key: fc.constantFrom("__proto__", "constructor", "toString", "", "s", "ſ", "\u0000"),
  times: fc.constantFrom(1, 2, 50),
  value: oddJson,
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

interface Place {
  readonly parent: Json[] | JsonObject;
  readonly key: string;
}

const MOST_PLACES = 3000;

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

/** Sets a key of any name. An assignment to `__proto__` would not create a key. */
function set(parent: Json[] | JsonObject, key: string, value: Json): void {
  Object.defineProperty(parent, key, { value, enumerable: true, writable: true, configurable: true });
}

function remove({ parent, key }: Place): void {
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
}

function retyped(value: Json): Json {
  if (typeof value === "string") return value.length % 2 === 0 ? value.length : [value];
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return Object.fromEntries(value.entries());
  return value === null ? {} : Object.values(value);
}

const HOW = {
  remove,
  double({ parent, key }, value, { key: odd, times }) {
    if (Array.isArray(parent)) parent.push(...Array.from({ length: times }, () => structuredClone(value)));
    else set(parent, `${key}${odd}`, value);
  },
  rename(place, value, { key: odd }) {
    remove(place);
    set(place.parent, Array.isArray(place.parent) ? "0" : `${place.key}${odd}`, value);
  },
  retype: ({ parent, key }, value) => set(parent, key, retyped(value)),
  add({ parent, key }, value, { key: odd, value: strange }) {
    set(parent, key, isObject(value) ? { ...value, [odd || "x"]: structuredClone(strange) } : null);
  },
  set: ({ parent, key }, _, { value: strange }) => set(parent, key, structuredClone(strange)),
} as const satisfies Record<Change["how"], (place: Place, value: Json, change: Change) => void>;

function apply(root: Json, change: Change): void {
  const places = placesIn(root);
  const place = places[change.at % Math.max(places.length, 1)];
  if (place === undefined) return;
  const { parent, key } = place;
  HOW[change.how](place, (Array.isArray(parent) ? parent[Number(key)] : parent[key]) ?? null, change);
}

/** Generates a function that returns a changed copy of a value. `counts` lists the possible numbers of changes. */
export function bending(counts: readonly number[]): fc.Arbitrary<(value: Json) => Json> {
  const exactly = counts.map((n) => fc.array(change, { minLength: n, maxLength: n }));
  return fc.tuple(fc.oneof(...exactly), oddJson).map(([made, instead]) => (value) => {
    if (typeof value !== "object" || value === null) return made.length > 0 ? instead : value;
    const copy = structuredClone(value);
    for (const one of made) apply(copy, one);
    return copy;
  });
}

export function mutated(of: fc.Arbitrary<Json>, counts: readonly number[] = [0, 1, 1, 2, 8]): fc.Arbitrary<Json> {
  return fc.tuple(of, bending(counts)).map(([value, bend]) => bend(value));
}

const SNIPPETS = ["\u0000", '"', "{", "]", ",", "\\", "\\ud800", "é", "\n", "\uFEFF", "-", "0"];
const KEYS = ['"request":null', '"kind":"AdmissionReview"', '"__proto__":{"a":1}', '"metadata":7'];
const TEXTS = ["", "null", "<html><h1>502</h1></html>", "[", "{}", "[]", '"', "0", "NaN", "---\n- a", "\u0000"];
/** Deeply nested texts, which overflow the stack of a recursive parser. */
const NESTS = [100, 5000, 30_000].flatMap((n) => [
  `${"[".repeat(n)}1${"]".repeat(n)}`,
  `${'{"a":'.repeat(n)}1${"}".repeat(n)}`,
]);

type TextChange = (text: string, at: number) => string;
const textChange: fc.Arbitrary<TextChange> = fc.oneof(
  fc.constant((text: string, at: number) => text.slice(0, at)),
  fc.nat(7).map((bit) => (text: string, at: number) => {
    return text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ (1 << bit)) + text.slice(at + 1);
  }),
  fc.constantFrom(...SNIPPETS).map((one) => (text: string, at: number) => text.slice(0, at) + one + text.slice(at)),
  fc.constantFrom(...KEYS).map((one) => (text: string) => text.replace("{", () => `{${one},`)),
  fc
    .constantFrom(...NESTS)
    .map((one) => (text: string) => text.replace(/:(?:"[^"]*"|\d+|true|false|null)/, () => `:${one}`)),
  fc.constantFrom(1, 5000).map((n) => (text: string) => text + " ".repeat(n)),
  fc.constantFrom<TextChange>(
    (text) => `\uFEFF${text}`,
    (text) => text + text,
    (text) => `[${text}]`,
  ),
  fc.constantFrom(...TEXTS).map((one) => () => one),
);

export function mutatedText(of: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(of, textChange, fc.noBias(fc.nat())).map(([text, made, n]) => made(text, n % (text.length + 1)));
}
