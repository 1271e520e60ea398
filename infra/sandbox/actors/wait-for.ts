/** Watches an object until it fulfils a condition. */
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient } from "./client.ts";
import type { Key, KubeObject, Resource } from "./resources.ts";
import { StatusError } from "./status-error.ts";

export interface Awaited<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly key: Key;
  /** Describes the condition in the timeout error. */
  readonly what: string;
  readonly until: (object: T) => boolean;
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const RECONNECT_MS = 50;

export async function waitFor<T extends KubeObject>(client: KubeClient, awaited: Awaited<T>): Promise<T> {
  const { resource, key, what, until, timeoutMs = DEFAULT_TIMEOUT_MS } = awaited;
  const over = AbortSignal.timeout(timeoutMs);
  let last: T | undefined;
  try {
    for await (const object of statesOf(client, resource, key, over)) {
      last = object;
      if (until(object)) return object;
    }
  } catch (error) {
    if (!over.aborted) throw error;
  }
  const name = key.namespace === undefined ? key.name : `${key.namespace}/${key.name}`;
  throw new Error(
    `waited ${timeoutMs} ms for ${resource.kind} ${name} to be ${what}; last seen: ${JSON.stringify(last)}`,
  );
}

/**
 * Yields each state of the object. A watch without a resourceVersion starts with the current state. Starts a new watch
 * if a watch ends or breaks.
 */
async function* statesOf<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  { namespace, name }: Key,
  signal: AbortSignal,
): AsyncIterable<T> {
  const fields = [`metadata.name=${name}`, ...(namespace === undefined ? [] : [`metadata.namespace=${namespace}`])];
  while (!signal.aborted) {
    try {
      for await (const { type, object } of client.watch(resource, { fieldSelector: fields.join(",") }, signal))
        if (type === "ADDED" || type === "MODIFIED") yield object;
    } catch (error) {
      if (error instanceof StatusError || signal.aborted) throw error;
      await delay(RECONNECT_MS);
    }
  }
}
