/**
 * A cache of the objects of one kind. The informer lists the objects, and then watches them. It continues after broken
 * watches, server restarts and expired resourceVersions.
 */
import { createCache, type Cache } from "./cache.ts";
import { pause, type Clock } from "./clock.ts";
import type { KubeClient, WatchEvent } from "./client.ts";
import { keyOf, type KubeObject, type Resource } from "./resources.ts";
import { isExpired, isNotFound, StatusError } from "./status-error.ts";

export interface Selectors {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface InformerOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly resource: Resource<T>;
  readonly selectors?: Selectors;
  /** The indexes by name. Each function returns the values by which an object can be found. */
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>>;
  readonly project?: (object: T) => T;
  readonly onError?: (error: unknown, key: string) => void;
}

export interface Informer<T extends KubeObject> extends Pick<Cache<T>, "get" | "list" | "byIndex" | "onChange"> {
  /** Resolves when the first list has arrived. */
  readonly synced: Promise<void>;
  stop(): Promise<void>;
}

const PAGE = 500;
const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 5_000;

export function startInformer<T extends KubeObject>(options: InformerOptions<T>): Informer<T> {
  const { client, clock, resource, selectors = {}, project = (object: T) => object } = options;
  const cache = createCache<T>(options.indexes ?? {});
  const stopped = new AbortController();
  let markSynced: () => void;
  const synced = new Promise<void>((resolve) => (markSynced = resolve));

  const listAll = async (): Promise<string> => {
    const found = new Map<string, T>();
    let token: string | undefined;
    let version = "";
    do {
      const page = await client.list(resource, undefined, { ...selectors, limit: PAGE, continue: token });
      for (const item of page.items) found.set(keyOf(item), project(item));
      version = page.metadata.resourceVersion;
      token = page.metadata.continue === "" ? undefined : page.metadata.continue;
    } while (token !== undefined);
    cache.replace(found);
    markSynced();
    return version;
  };

  /** The resourceVersion for the next watch. If undefined, the objects are listed first. */
  let version: string | undefined;

  const follow = async (resourceVersion: string): Promise<void> => {
    const query = { ...selectors, resourceVersion, allowWatchBookmarks: true };
    for await (const event of client.watch(resource, query, stopped.signal)) {
      throwIfError(event);
      version = event.object.metadata.resourceVersion;
      if (event.type === "DELETED") cache.remove(keyOf(event.object));
      else if (event.type !== "BOOKMARK") cache.set(project(event.object));
    }
  };

  /**
   * Prepares the next request after an error. After a broken connection, the watch continues. After an error status,
   * the objects are listed again. The server sends an error status if, for example, the resourceVersion has expired or
   * the kind's CRD was deleted.
   */
  const recover = (error: unknown) => {
    if (!(error instanceof StatusError)) return;
    version = undefined;
    if (isNotFound(error)) markSynced();
    if (!isExpired(error)) options.onError?.(error, resource.plural);
  };

  const run = async () => {
    let retryMs = FIRST_RETRY_MS;
    while (!stopped.signal.aborted) {
      const before = version;
      try {
        version ??= await listAll();
        await follow(version);
      } catch (error) {
        if (stopped.signal.aborted) return;
        recover(error);
      }
      if (version !== before) retryMs = FIRST_RETRY_MS;
      await pause(clock, retryMs, stopped.signal);
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
    }
  };
  const running = run();

  return {
    ...cache,
    synced,
    async stop() {
      stopped.abort();
      await running;
    },
  };
}

function throwIfError(event: WatchEvent<KubeObject>): void {
  if (event.type !== "ERROR") return;
  const status = event.object as unknown as { code?: number; message?: string };
  throw new StatusError(status.code ?? 500, { message: status.message ?? "" }, "WATCH");
}
