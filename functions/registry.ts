/** Reads clusters from the KV namespace `CLUSTER_REGISTRY`. */
import { type ClusterEntry, parseRegistryEntry } from "../shared/settings/clusters.ts";
import type { Parsed } from "../shared/settings/problem.ts";
import { parseKeys, unseal } from "../shared/settings/sealed-entry.ts";
import type { ClusterRegistry, Env } from "./env.ts";

const CACHE_SECONDS = 30;
/**
 * The maximum number of unknown cluster names in the cache. Anybody can send such a name, so the cache needs a limit.
 * From this number on, Lifeboat checks names against the list of all clusters.
 */
const MOST_ABSENT = 100;

export type Entry = Parsed<ClusterEntry>;

interface Remembered<T> {
  readonly readAt: number;
  readonly value: T;
}

export class RegistryCache {
  readonly #entries = new Map<string, Remembered<Entry>>();
  readonly #absent = new Map<string, Remembered<undefined>>();
  #names: Remembered<readonly string[]> | undefined;

  /** Finds the entry of the named cluster, at most 30 s old. Rejects if KV does not answer. */
  async find(name: string, env: Env, now: Date): Promise<Entry | undefined> {
    const { CLUSTER_REGISTRY: registry, REGISTRY_KEY: key } = env;
    if (registry === undefined) return undefined;
    const cached = this.#entries.get(name) ?? this.#absent.get(name);
    if (cached !== undefined && isRecent(cached, now)) return cached.value;
    this.#forget(now);
    if (this.#absent.size >= MOST_ABSENT && !(await this.names(registry, now)).includes(name)) return undefined;
    const sealed = (await registry.get(name)) ?? undefined;
    const entry = sealed === undefined ? undefined : await opened(sealed, name, key);
    const readAt = now.getTime();
    if (entry === undefined) this.#absent.set(name, { readAt, value: undefined });
    else this.#entries.set(name, { readAt, value: entry });
    return entry;
  }

  /** Lists the names of all clusters. The list is at most 30 s old. */
  async names(registry: ClusterRegistry, now: Date): Promise<readonly string[]> {
    if (this.#names !== undefined && isRecent(this.#names, now)) return this.#names.value;
    const names: string[] = [];
    for (let cursor: string | undefined, isOver = false; !isOver;) {
      const page = await registry.list(cursor === undefined ? {} : { cursor });
      names.push(...page.keys.map(({ name }) => name));
      cursor = page.cursor;
      isOver = page.list_complete || cursor === undefined;
    }
    this.#names = { readAt: now.getTime(), value: names };
    return names;
  }

  #forget(now: Date): void {
    for (const known of [this.#entries, this.#absent])
      for (const [name, one] of known) if (!isRecent(one, now)) known.delete(name);
  }
}

function isRecent({ readAt }: Remembered<unknown>, now: Date): boolean {
  return now.getTime() - readAt < CACHE_SECONDS * 1000;
}

async function opened(sealed: string, name: string, key: string | undefined): Promise<Entry> {
  const keys = parseKeys(key);
  if (!keys.ok) return keys;
  const text = await unseal(sealed, name, keys.value);
  return text.ok ? parseRegistryEntry(text.value, name) : text;
}
