/** The clusters of the KV namespace `CLUSTER_REGISTRY`. */
import { type ClusterEntry, parseRegistryEntry } from "../shared/settings/clusters.ts";
import type { Parsed } from "../shared/settings/problem.ts";
import { parseKeys, unseal } from "../shared/settings/sealed-entry.ts";
import type { ClusterRegistry, Env } from "./env.ts";

/** KV itself shows a change only within a minute. */
const CACHE_SECONDS = 30;

export type Entry = Parsed<ClusterEntry>;

export class RegistryCache {
  readonly #entries = new Map<string, { readonly readAt: number; readonly entry: Entry }>();

  /** The entry of the named cluster, at most 30 s old. Rejects where KV does not answer. */
  async find(name: string, env: Env, now: Date): Promise<Entry | undefined> {
    const cached = this.#entries.get(name);
    if (cached !== undefined && now.getTime() - cached.readAt < CACHE_SECONDS * 1000) return cached.entry;
    const sealed = (await env.CLUSTER_REGISTRY?.get(name)) ?? undefined;
    if (sealed === undefined) {
      this.#entries.delete(name);
      return undefined;
    }
    const entry = await opened(sealed, name, env.REGISTRY_KEY);
    this.#entries.set(name, { readAt: now.getTime(), entry });
    return entry;
  }

  async names(registry: ClusterRegistry): Promise<readonly string[]> {
    const names: string[] = [];
    for (let cursor: string | undefined, isOver = false; !isOver;) {
      const page = await registry.list(cursor === undefined ? {} : { cursor });
      names.push(...page.keys.map(({ name }) => name));
      cursor = page.cursor;
      isOver = page.list_complete || cursor === undefined;
    }
    return names;
  }
}

async function opened(sealed: string, name: string, key: string | undefined): Promise<Entry> {
  const keys = parseKeys(key);
  if (!keys.ok) return keys;
  const text = await unseal(sealed, name, keys.value);
  return text.ok ? parseRegistryEntry(text.value, name) : text;
}
