/** The objects of one kind in a fake cluster, by namespace and name. */
import type { ActResult } from "../../../shared/evacuation/act.ts";
import { keyOf } from "../../../shared/kube/facts.ts";

/** Nodes have no namespace. */
export interface Key {
  readonly namespace?: string;
  readonly name: string;
}

function pathOf({ namespace = "", name }: Key): string {
  return keyOf({ namespace, name });
}

export class Shelf<T extends Key> {
  readonly #objects = new Map<string, T>();
  readonly #nextVersion: () => string;

  constructor(nextVersion: () => string) {
    this.#nextVersion = nextVersion;
  }

  get(key: Key): T | undefined {
    return this.#objects.get(pathOf(key));
  }

  /** As they are. */
  put(...objects: readonly T[]): void {
    for (const object of objects) this.#objects.set(pathOf(object), object);
  }

  delete(key: Key): void {
    this.#objects.delete(pathOf(key));
  }

  /** In the order of an API server. */
  list(isSelected: (object: T) => boolean = () => true): readonly T[] {
    const sorted = [...this.#objects].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([, object]) => object).filter(isSelected);
  }

  /** Conflict: it is gone, or is not what was observed. */
  change(key: Key, isObserved: (found: T) => boolean, next: (found: T) => T): ActResult {
    const found = this.get(key);
    if (found === undefined || !isObserved(found)) return "Conflict";
    this.put({ ...next(found), resourceVersion: this.#nextVersion() });
    return "Done";
  }

  /** That one only, and again; `asSeen`: only if nothing of it has changed. */
  remove(seen: Key & { readonly uid: string; readonly resourceVersion?: string }, asSeen = false): ActResult {
    const found = this.get(seen);
    if (found !== undefined && "uid" in found && found.uid !== seen.uid) return "Conflict";
    if (asSeen && found !== undefined && "resourceVersion" in found && found.resourceVersion !== seen.resourceVersion)
      return "Conflict";
    this.delete(seen);
    return "Done";
  }
}

export function always(): boolean {
  return true;
}
