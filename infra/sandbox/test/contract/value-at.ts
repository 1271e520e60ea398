/** Reads a value from an object by a dotted path. */

/**
 * Returns the value at a path such as `a.b.c`. In a list, a number selects an item by its index, and `{name=x}` selects
 * the item with this name. Any other key is read from each item of the list. `[x.io/y]` is a key that contains dots.
 */
export function valueAt(value: unknown, path: string): unknown {
  const keys = path.match(/\[[^\]]+\]|\{[^}]+\}|[^.[\]]+/g) ?? [];
  return keys.reduce<unknown>((current, key) => step(current, key.replaceAll(/^\[|\]$/g, "")), value);
}

function step(value: unknown, key: string): unknown {
  if (!Array.isArray(value)) return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
  const [, field = "", wanted] = key.match(/^\{(\w+)=(.*)\}$/) ?? [];
  if (wanted !== undefined) return value.find((item: unknown) => step(item, field) === wanted);
  return /^\d+$/.test(key) ? value[Number(key)] : value.map((item: unknown) => step(item, key));
}
