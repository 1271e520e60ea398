/** Stores the objects in memory. Like etcd, the store has sorted keys and one revision counter. */
import { type KubeObject, type NamespacedName, stringAt, viewAs } from "./objects.ts";
import { fail } from "./status.ts";
import { WatchLog } from "./watch-log.ts";

/**
 * An object at one revision, as JSON text. The text needs a tenth of the memory of a parsed object, and readers cannot
 * change it.
 */
export interface StoredObject extends NamespacedName {
  readonly revision: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Maps the paths of selectable fields to their values. */
  readonly fields: Readonly<Record<string, string>>;
  readonly json: string;
}

export type SelectableFields = Readonly<Record<string, string>>;

export class Store {
  readonly #collections = new Map<string, Collection>();
  #revision = 1;

  get revision(): number {
    return this.#revision;
  }

  compact(): void {
    for (const { log } of this.#collections.values()) log.compact(this.#revision);
  }

  collection(storage: string, fields: SelectableFields = {}): Collection {
    let collection = this.#collections.get(storage);
    if (collection === undefined) {
      collection = new Collection(fields, () => ++this.#revision);
      this.#collections.set(storage, collection);
    }
    return collection;
  }
}

const SELECTIVE = 8;
/** The maximum size of a request to etcd, in bytes. */
const SIZE_LIMIT = 1.5 * 1024 * 1024;
/** Field selectors use these values if the field is unset. Other unset fields are empty. */
const UNSET: Readonly<Record<string, string>> = { "spec.unschedulable": "false", "spec.hostNetwork": "false" };

export class Collection {
  readonly log = new WatchLog();
  #paths: readonly string[] = [];
  readonly #nextRevision: () => number;
  readonly #objects = new Map<string, StoredObject>();
  readonly #keys: string[] = [];
  /** Maps `label=value` to the keys of the objects with this label. Fields are indexed in the same way. */
  readonly #index = new Map<string, Set<string>>();

  constructor(fields: SelectableFields, nextRevision: () => number) {
    this.#nextRevision = nextRevision;
    this.indexBy([fields]);
  }

  /** Indexes these fields of all existing and future objects. */
  indexBy(fields: readonly SelectableFields[]): void {
    // Skips the name and the namespace, because the key contains them.
    const paths = fields.flatMap((one) => Object.values(one)).filter((path) => !path.startsWith("metadata.n"));
    this.#paths = [...new Set(paths)];
    for (const [key, stored] of this.#objects) {
      this.#put(key, { ...stored, fields: this.#fieldsOf(parse(stored)) }, stored);
    }
  }

  #fieldsOf(object: KubeObject): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#paths.map((path) => [path, stringAt(object, path) || (UNSET[path] ?? "")]));
  }

  get size(): number {
    return this.#objects.size;
  }

  get({ namespace, name }: NamespacedName): StoredObject | undefined {
    return this.#objects.get(`${namespace}/${name}`);
  }

  /** Creates an object. Returns undefined if an object with this name exists. */
  create(object: KubeObject): StoredObject | undefined {
    const key = keyOf(object);
    if (this.#objects.has(key)) return undefined;
    const stored = this.#store(object);
    this.#keys.splice(this.#position(key), 0, key);
    this.#put(key, stored, undefined);
    this.log.append({ type: "ADDED", revision: stored.revision, object: stored, previous: undefined });
    return stored;
  }

  /** Replaces an object. Returns undefined if the object has changed since `previous`. */
  replace(previous: StoredObject, object: KubeObject): StoredObject | undefined {
    const key = keyOf(object);
    if (this.#objects.get(key) !== previous) return undefined;
    const stored = this.#store(object);
    this.#put(key, stored, previous);
    this.log.append({ type: "MODIFIED", revision: stored.revision, object: stored, previous });
    return stored;
  }

  /**
   * Removes an object. Returns its last state with the revision of the removal. Returns undefined if the object has
   * changed since `previous`.
   */
  remove(previous: StoredObject, last: KubeObject): StoredObject | undefined {
    const key = `${previous.namespace}/${previous.name}`;
    if (this.#objects.get(key) !== previous) return undefined;
    const stored = this.#store(last);
    this.#objects.delete(key);
    this.#keys.splice(this.#position(key), 1);
    for (const entry of indexEntries(previous)) this.#unindex(entry, key);
    this.log.append({ type: "DELETED", revision: stored.revision, object: stored, previous });
    return stored;
  }

  /**
   * Lists objects sorted by key, starting at the key `from`. If one of the `entries` (`label=value`) is rare, lists
   * only the objects with this entry. Otherwise ignores the entries. The caller must therefore filter the result.
   */
  list(namespace: string, entries: readonly string[] = [], from = ""): readonly StoredObject[] {
    return this.#candidates(namespace, entries, from).flatMap((key) => this.#objects.get(key) ?? []);
  }

  #candidates(namespace: string, entries: readonly string[], from: string): readonly string[] {
    const sets = entries.map((entry) => this.#index.get(entry) ?? new Set<string>());
    const [rarest] = sets.toSorted((a, b) => a.size - b.size);
    // If many objects have the entry, it is faster to check all keys than to sort the keys of these objects.
    if (rarest !== undefined && rarest.size * SELECTIVE < this.#keys.length) {
      const keys = namespace === "" ? [...rarest] : [...rarest].filter((key) => key.startsWith(`${namespace}/`));
      return keys.filter((key) => key >= from).toSorted();
    }
    return this.#keys.slice(...this.#range(namespace, from));
  }

  #range(namespace: string, from: string): [number, number] {
    // Keys start with `NAMESPACE/`. In ASCII, "0" follows "/", so the range contains only keys of this namespace.
    const [first, end] = namespace === "" ? ["", "\uffff"] : [`${namespace}/`, `${namespace}0`];
    return [this.#position(from > first ? from : first), this.#position(end)];
  }

  #store(object: KubeObject): StoredObject {
    const revision = this.#nextRevision();
    object.metadata.resourceVersion = String(revision);
    const { namespace = "", name = "", labels = {} } = object.metadata;
    const json = JSON.stringify(object);
    if (json.length > SIZE_LIMIT) fail({ reason: "Unclassified", message: "etcdserver: request is too large" });
    return { namespace, name, revision, labels, fields: this.#fieldsOf(object), json };
  }

  #put(key: string, stored: StoredObject, previous: StoredObject | undefined): void {
    this.#objects.set(key, stored);
    const before = new Set(previous && indexEntries(previous));
    const after = new Set(indexEntries(stored));
    for (const entry of before) if (!after.has(entry)) this.#unindex(entry, key);
    for (const entry of after) {
      const keys = this.#index.get(entry);
      if (keys === undefined) this.#index.set(entry, new Set([key]));
      else keys.add(key);
    }
  }

  #unindex(entry: string, key: string): void {
    const keys = this.#index.get(entry);
    keys?.delete(key);
    if (keys?.size === 0) this.#index.delete(entry);
  }

  /** Returns the position of the first key that is not less than `key`. */
  #position(key: string): number {
    let [low, high] = [0, this.#keys.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#keys[middle] ?? "") < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export function parse(stored: StoredObject): KubeObject {
  return viewAs(JSON.parse(stored.json));
}

const trees = new WeakMap<StoredObject, KubeObject>();

/** Parses an object once. Callers must not change the result, because they share it. */
export function parsedOnce(stored: StoredObject): KubeObject {
  let tree = trees.get(stored);
  if (tree === undefined) {
    tree = parse(stored);
    trees.set(stored, tree);
  }
  return tree;
}

export function fieldOf(stored: StoredObject, path: string): string {
  if (path === "metadata.name") return stored.name;
  return path === "metadata.namespace" ? stored.namespace : (stored.fields[path] ?? "");
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}

function indexEntries(stored: StoredObject): string[] {
  const fields = Object.entries(stored.fields).map(([field, value]) => fieldEntry(field, value));
  return [...Object.entries(stored.labels).map(([key, value]) => labelEntry(key, value)), ...fields];
}

export function labelEntry(key: string, value: string): string {
  return `${key}=${value}`;
}

export function fieldEntry(field: string, value: string): string {
  return `field:${field}=${value}`;
}
