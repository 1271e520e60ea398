/**
 * Waiting for an object to be as wanted, by watching it.
 * Owns: the waiting and its end. Does not own: what is wanted.
 */
import type { KubeClient } from "./client.ts";
import { keyOf, type Key, type KubeObject, type Resource } from "./resources.ts";

export interface Awaited<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly key: Key;
  /** What is waited for, for the error when it does not come. */
  readonly what: string;
  readonly until: (object: T) => boolean;
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 30_000;

export async function waitFor<T extends KubeObject>(client: KubeClient, awaited: Awaited<T>): Promise<T> {
  const { resource, key, what, until, timeoutMs = DEFAULT_TIMEOUT_MS } = awaited;
  const names = [
    `metadata.name=${key.name}`,
    ...(key.namespace === undefined ? [] : [`metadata.namespace=${key.namespace}`]),
  ];
  const given = new AbortController();
  const timer = setTimeout(() => given.abort(), timeoutMs);
  let last: T | undefined;
  try {
    // Without a resourceVersion a watch begins with what is there; the server may end it at any time.
    while (!given.signal.aborted) {
      const changes = client.watch(resource, { fieldSelector: names.join(",") }, given.signal);
      for await (const { type, object } of changes) {
        if (type === "ADDED" || type === "MODIFIED") last = object;
        if (last !== undefined && until(last)) return last;
      }
    }
  } catch (error) {
    if (!given.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
    given.abort();
  }
  const name = last === undefined ? `${key.namespace ?? ""}/${key.name}` : keyOf(last);
  throw new Error(`${resource.kind} ${name} is not ${what} after ${timeoutMs} ms; last seen: ${JSON.stringify(last)}`);
}
