/** Reads objects whose keys users choose. */

/** `constructor` and the like are valid keys of labels and resources, and every object seems to have them. */
export function ownValue<T>(object: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
