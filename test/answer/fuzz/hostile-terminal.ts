/** Texts in a cluster's objects that a terminal or a browser would obey. */
import * as fc from "fast-check";
import { isObject, type Json, parsedJson } from "../../support/json.ts";
import type { HostileCluster } from "./cluster/hostile-cluster.ts";

/** What a terminal would obey, what HTML would, and what looks like a line of ours. */
const HOSTILE_TEXTS = [
  "\u001b[2J\u001b[35mowned",
  "\u001b]0;title\u0007",
  "\u009b35m",
  "a\r\u001b[1A\u001b[Kb",
  "<img src=x onerror=alert(1)>",
  "\u202Etxt.exe",
];

type Fetch = HostileCluster["fetch"];

/** What routes a request or says what an object is; with another value there it would be no answer at all. */
const KEPT = new Set(["kind", "apiVersion", "continue", "resourceVersion", "namespace", "creationTimestamp"]);

/** Of the texts one in so many has another one behind it; 0: none. */
export const hostileTexts = fc.record({
  oneIn: fc.constantFrom(0, 1, 2, 5, 20),
  text: fc.constantFrom(...HOSTILE_TEXTS),
});
type HostileTexts = typeof hostileTexts extends fc.Arbitrary<infer T> ? T : never;

export function withHostileTexts(fetch: Fetch, { oneIn, text }: HostileTexts): Fetch {
  let count = 0;
  const bent = (value: Json, key: string): Json => {
    if (typeof value === "string") return !KEPT.has(key) && ++count % oneIn === 0 ? `${value}${text}` : value;
    if (Array.isArray(value)) return value.map((inner) => bent(inner, key));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, bent(inner, name)]));
  };
  return async (address, init) => {
    const response = await fetch(address, init);
    if (oneIn === 0) return response;
    const said = await response.text();
    const json = parsedJson(said);
    const { status, headers } = response;
    return new Response(json === undefined ? said : JSON.stringify(bent(json, "")), { status, headers });
  };
}
