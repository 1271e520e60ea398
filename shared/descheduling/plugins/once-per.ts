/**
 * Not working out twice what is the same for many pods or nodes.
 * Owns: remembering, for as long as one run of a plugin lasts.
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
