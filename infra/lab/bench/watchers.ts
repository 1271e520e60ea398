/** Many watches of the same kind at once. */
import type { KubeClient } from "../../sandbox/actors/client.ts";
import type { KubeObject, Resource } from "../../sandbox/actors/resources.ts";

export interface Watchers {
  /** Resolves when each has been told of this version. */
  allSaw(resourceVersion: string): Promise<void>;
  stop(): void;
}

interface Sighting {
  times: number;
  readonly all: PromiseWithResolvers<void>;
}

/** They begin with what happens from now on. */
export async function startWatchers<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  count: number,
): Promise<Watchers> {
  const over = new AbortController();
  const sightings = new Map<string, Sighting>();
  const sightingOf = (version: string) => {
    const sighting = sightings.get(version) ?? { times: 0, all: Promise.withResolvers<void>() };
    sightings.set(version, sighting);
    return sighting;
  };
  const { metadata } = await client.list(resource, undefined, { limit: 1 });
  const follow = async () => {
    const query = { resourceVersion: metadata.resourceVersion };
    for await (const { object } of client.watch(resource, query, over.signal)) {
      const sighting = sightingOf(object.metadata.resourceVersion);
      sighting.times += 1;
      if (sighting.times === count) sighting.all.resolve();
    }
  };
  const broken = Promise.withResolvers<void>();
  broken.promise.catch(() => undefined);
  for (let watcher = 0; watcher < count; watcher++) {
    follow().catch((error: unknown) => {
      if (!over.signal.aborted) broken.reject(error);
    });
  }
  return {
    allSaw: (version) => Promise.race([sightingOf(version).all.promise, broken.promise]),
    stop: () => over.abort(),
  };
}
