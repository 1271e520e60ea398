/** What the watches show, as facts that the app reads: for an app in the same process. */
import type * as z from "zod/mini";
import type { CachedResource, Store } from "../../shared/kube/cache.ts";
import { type Facts, SCHEMAS } from "../../shared/kube/resources.ts";
import type { WatchedKind } from "./kinds.ts";
import type { Watched } from "./watch.ts";

/** Where the app reads them, its facts of each object are kept. One that it cannot understand has none, as if it were not there. */
export function keptOf<R extends CachedResource, Noted>(
  resource: R,
  kind: WatchedKind<Noted>,
  isReadFrom: boolean,
): WatchedKind<Noted, Facts<R>> {
  if (!isReadFrom) return kind;
  const schema: z.ZodMiniType<Facts<R>> = SCHEMAS[resource].facts;
  return {
    ...kind,
    read: (object) => {
      const seen = kind.read(object);
      const parsed = schema.safeParse(object);
      return seen && { ...seen, ...(parsed.success && { view: parsed.data }) };
    },
  };
}

export function storeOf<Noted, View>(watched: Watched<Noted, View>): Store<View> {
  return {
    isCurrent: () => watched.isCurrent(),
    get: ({ namespace, name }) => watched.get(namespace, name)?.view,
    all: () => [...watched.all()].flatMap(({ view }) => view ?? []),
  };
}
