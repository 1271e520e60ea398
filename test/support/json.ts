/** Defines types of JSON, and functions that read JSON. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the value at a path of keys, or undefined. */
export function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((inner, key) => (isObject(inner) ? inner[key] : undefined), value);
}

export function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

export function textsAt(value: Json | undefined, ...path: readonly string[]): Record<string, string> {
  const map = at(value, ...path);
  return isObject(map) ? Object.fromEntries(Object.entries(map).map(([key, text]) => [key, textOf(text)])) : {};
}

/** Parses JSON. Returns undefined if the text is not JSON. */
export function parsedJson(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

export function asJson(value: unknown): Json {
  if (Array.isArray(value)) return value.map(asJson);
  if (typeof value !== "object" || value === null) return isScalar(value) ? value : null;
  const copy: JsonObject = {};
  for (const [key, inner] of Object.entries(value)) if (inner !== undefined) copy[key] = asJson(inner);
  return copy;
}

function isScalar(value: unknown): value is null | boolean | number | string {
  return value === null || ["boolean", "number", "string"].includes(typeof value);
}
