/**
 * Adds functions of ECMAScript 2024 that the command uses and Node 20 lacks. Only the bundle contains this file
 * (infra/tools/build-command.ts).
 */

function groupInMap<K, T>(items: Iterable<T>, keyOf: (item: T, index: number) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const [index, item] of [...items].entries()) {
    const key = keyOf(item, index);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
}

function groupInObject<T>(items: Iterable<T>, keyOf: (item: T, index: number) => PropertyKey): object {
  return Object.assign(Object.create(null), Object.fromEntries(groupInMap(items, keyOf)));
}

function withResolvers<T>() {
  let settle: Parameters<ConstructorParameters<typeof Promise<T>>[0]> | undefined;
  const promise = new Promise<T>((...both) => (settle = both));
  return { promise, resolve: settle?.[0], reject: settle?.[1] };
}

function add(to: object, added: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(added)) if (!(name in to)) Object.assign(to, { [name]: value });
}

add(Map, { groupBy: groupInMap });
add(Object, { groupBy: groupInObject });
add(Promise, { withResolvers });
