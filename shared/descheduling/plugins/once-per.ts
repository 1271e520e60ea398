/**
 * Computes once what is the same for many pods or nodes, for one run of a plugin.
 */

/** `compute`, but only once for all items with the same key. */
export function oncePer<T, V>(keyOf: (item: T) => string, compute: (item: T) => V): (item: T) => V {
  const known = new Map<string, { readonly value: V }>();
  return (item) => {
    const key = keyOf(item);
    const entry = known.get(key) ?? { value: compute(item) };
    known.set(key, entry);
    return entry.value;
  };
}
