/** A cache of objects. Objects can be found by key or by an index. */
import { keyOf, type KubeObject } from "./resources.ts";

/** `object` is undefined after a deletion. `previous` is undefined after an addition. */
export type OnChange<T> = (object: T | undefined, previous: T | undefined) => void;

export interface Cache<T extends KubeObject> {
  readonly get: (key: string) => T | undefined;
  readonly list: () => Iterable<T>;
  readonly byIndex: (index: string, value: string) => readonly T[];
  readonly onChange: (listener: OnChange<T>) => void;
  set(object: T): void;
  remove(key: string): void;
  replace(objects: ReadonlyMap<string, T>): void;
}

export function createCache<T extends KubeObject>(
  indexes: Readonly<Record<string, (object: T) => readonly string[]>>,
): Cache<T> {
  const objects = new Map<string, T>();
  const listeners: OnChange<T>[] = [];
  const indexed = new Map<string, Map<string, T>>();

  const places = (object: T) =>
    Object.entries(indexes).flatMap(([index, values]) => values(object).map((value) => `${index}\0${value}`));

  const change = (key: string, object: T | undefined) => {
    const previous = objects.get(key);
    if (previous !== undefined) for (const place of places(previous)) forget(place, key);
    if (object === undefined) objects.delete(key);
    else {
      objects.set(key, object);
      for (const place of places(object)) remember(place, key, object);
    }
    if (previous?.metadata.resourceVersion === object?.metadata.resourceVersion) return;
    for (const listener of listeners) listener(object, previous);
  };
  const remember = (place: string, key: string, object: T) => {
    const there = indexed.get(place) ?? new Map<string, T>();
    indexed.set(place, there.set(key, object));
  };
  const forget = (place: string, key: string) => {
    const there = indexed.get(place);
    there?.delete(key);
    if (there?.size === 0) indexed.delete(place);
  };

  return {
    get: (key) => objects.get(key),
    list: () => objects.values(),
    byIndex: (index, value) => [...(indexed.get(`${index}\0${value}`)?.values() ?? [])],
    onChange: (listener) => void listeners.push(listener),
    set: (object) => change(keyOf(object), object),
    remove: (key) => change(key, undefined),
    replace(found) {
      for (const key of objects.keys()) if (!found.has(key)) change(key, undefined);
      for (const [key, object] of found) change(key, object);
    },
  };
}
