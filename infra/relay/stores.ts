/** Stores the watched objects for Lifeboat's app in the same process. */
import type * as z from "zod/mini";
import type { CachedResource, Store } from "../../shared/kube/cache.ts";
import { type FactsOf, SCHEMAS } from "../../shared/kube/resources.ts";
import type { ObjectIdentity, WatchedKind } from "./kinds.ts";
import { reasonOf } from "./log.ts";
import type { Watched } from "./watch.ts";

/**
 * Returns the watched kind. If `isReadFrom` is true, each stored object also has a `view`: the fields that Lifeboat's
 * app reads. If an object cannot be parsed, `odd` has the reason, and `view` is absent.
 */
export function keptOf<R extends CachedResource, Noted>(
  resource: R,
  kind: WatchedKind<Noted>,
  isReadFrom: boolean,
): WatchedKind<Noted, FactsOf<R>> {
  if (!isReadFrom) return kind;
  const schema: z.ZodMiniType<FactsOf<R>> = SCHEMAS[resource].facts;
  return {
    ...kind,
    read: (object) => {
      const seen = kind.read(object);
      const parsed = schema.safeParse(object);
      return seen && { ...seen, ...(parsed.success ? { view: parsed.data } : { odd: reasonOf(parsed.error) }) };
    },
  };
}

export function storeOf<Noted, View extends Versioned>(watched: Watched<Noted, View>): Store<View> {
  const written = new Map<string, View>();
  const newest = (view: View): View => {
    const own = written.get(keyOf(view));
    if (own === undefined || versionOf(own) > versionOf(view)) return own ?? view;
    written.delete(keyOf(view));
    return view;
  };
  const isOdd = ({ view }: { readonly view?: View }) => view === undefined;
  const shown = ({ view }: { readonly view?: View }) => (view === undefined ? [] : [newest(view)]);
  return {
    isCurrent: () => watched.isCurrent(),
    get: ({ namespace, name }) => shown(watched.get(namespace, name) ?? {})[0],
    all: () => [...watched.all()].flatMap(shown),
    isOdd: ({ namespace, name }) => {
      const seen = watched.get(namespace, name);
      return seen === undefined ? watched.isOdd(namespace, name) : isOdd(seen);
    },
    hasOddIn: (namespace) => {
      const isThere = ({ namespace: its = "" }: ObjectIdentity) => namespace === undefined || its === namespace;
      return watched.odd().some(isThere) || [...watched.all()].some((seen) => isOdd(seen) && isThere(seen.metadata));
    },
    note: (view) => void written.set(keyOf(view), view),
  };
}

interface Versioned {
  readonly namespace?: string;
  readonly name: string;
  readonly resourceVersion?: string;
}

function keyOf({ namespace = "", name }: Versioned): string {
  return `${namespace}/${name}`;
}

/**
 * Returns the resourceVersion as a number, so that versions can be compared. Newer API servers define this comparison
 * (VERSIONS.comparableVersions). Lifeboat relies on it for older API servers, too. See
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions.
 */
function versionOf({ resourceVersion = "0" }: Versioned): number {
  return Number(resourceVersion);
}
