/**
 * Reads objects from the watches of this process. Such objects can be outdated. A watch is used only while it is
 * connected, and only after it has received its first list.
 */
import type { WriteAnswer, Client, Listing, Reading, WriteOptions } from "./client.ts";
import type { NamespacedName } from "./facts.ts";
import { COMPONENT_LABEL, CREATED_BY_LABEL, NODE_NAME_LABEL, VMI_NAME_LABEL } from "./names.ts";
import type { FactsOf, Resource } from "./resources.ts";

export interface Store<T> {
  /** Returns whether the watch is connected and has received its first list. */
  isCurrent(): boolean;
  get(key: NamespacedName): T | undefined;
  all(): Iterable<T>;
  /** Returns whether the object exists but could not be parsed. */
  isOdd(key: NamespacedName): boolean;
  /** Returns whether a namespace has objects that could not be parsed. Without a namespace, checks all namespaces. */
  hasOddIn(namespace?: string): boolean;
  /** Stores an object as this process has written it, until the watch delivers the change. */
  note(facts: T): void;
}

export type Stores = { readonly [R in CachedResource]: Store<FactsOf<R>> };

/** Returns a client that reads from the watches if they contain the answer, and otherwise from the API server. */
export function readsFrom(stores: Stores, client: Client): Client {
  function get<R extends Resource, T = FactsOf<R>>(
    resource: R,
    key: NamespacedName,
    how?: Reading<T>,
  ): Promise<NoInfer<T> | undefined>;
  async function get(resource: Resource, key: NamespacedName, how: Reading<unknown> = {}) {
    const shown = how.as === undefined ? shownObject(stores, resource, key) : undefined;
    return shown === undefined ? await client.get(resource, key, how) : shown.value;
  }

  function list<R extends Resource, T = FactsOf<R>>(
    resource: R,
    listing?: Listing & Reading<T>,
  ): Promise<readonly NoInfer<T>[]>;
  async function list(resource: Resource, listing: Listing & Reading<unknown> = {}) {
    return shownList(stores, resource, listing) ?? (await client.list(resource, listing));
  }

  return { ...client, get, list };
}

/**
 * Reads an object from its watch. The `value` is undefined if the object does not exist. Returns undefined if the watch
 * does not know whether the object exists.
 */
export function shownObject(
  stores: Stores,
  resource: Resource,
  key: NamespacedName,
): { readonly value: unknown } | undefined {
  const store = isCached(resource) ? stores[resource] : undefined;
  return store?.isCurrent() === true && !store.isOdd(key) ? { value: store.get(key) } : undefined;
}

/**
 * Reads a list from the watches: the objects that belong to some VMIs, the objects on one node, or all nodes. Returns
 * undefined if the watches cannot answer the request.
 */
export function shownList(
  stores: Stores,
  resource: Resource,
  listing: Listing & Reading<unknown>,
): readonly unknown[] | undefined {
  return belongings(stores, resource, listing) ?? onNode(stores, resource, listing);
}

/**
 * Returns a client that stores each Evacuation and migration immediately after a patch. The next reconcile can then use
 * the change before the watch has delivered it.
 */
export function notedIn(stores: Stores, client: Client): Client {
  function patch<R extends Resource>(resource: R, ...change: Change): Promise<WriteAnswer<FactsOf<R>>>;
  async function patch(resource: Resource, ...change: Change): Promise<WriteAnswer> {
    if (resource === "evacuations") return noted(stores[resource], await client.patch(resource, ...change));
    if (resource === "virtualmachineinstancemigrations")
      return noted(stores[resource], await client.patch(resource, ...change));
    return await client.patch(resource, ...change);
  }
  return { ...client, patch };
}

type Change = [key: NamespacedName, patch: object, how?: WriteOptions];

function noted<T>(store: Store<T>, answer: WriteAnswer<T>): WriteAnswer<T> {
  if (answer.code < 300) store.note(answer.facts());
  return answer;
}

/**
 * Returns the objects that belong to some VMIs. Returns undefined if the request does not select by a VMI's name or
 * UID, or if the watch cannot answer.
 */
function belongings(stores: Stores, resource: Resource, listing: Listing & Reading<unknown>) {
  const { namespace, labels = {}, fields = {}, ...others } = listing;
  const [[criterion, wanted] = [], ...more] = [...Object.entries(labels), ...Object.entries(fields)];
  if (wanted === undefined || wanted === true || more.length + Object.keys(others).length > 0) return undefined;
  const values = new Set([wanted].flat());
  const from = <T extends { readonly namespace: string }>(
    store: Store<T>,
    valueOf: (facts: T) => string | undefined,
  ) =>
    store.isCurrent() && namespace !== undefined && !store.hasOddIn(namespace)
      ? [...store.all()].filter((one) => one.namespace === namespace && values.has(valueOf(one) ?? ""))
      : undefined;
  switch (`${resource} by ${criterion}`) {
    case `pods by ${CREATED_BY_LABEL}`:
      return from(stores.pods, ({ labels: own }) => own[CREATED_BY_LABEL]);
    case `virtualmachineinstancemigrations by ${VMI_NAME_LABEL}`:
      return from(stores.virtualmachineinstancemigrations, ({ vmiName }) => vmiName);
    case "evacuations by spec.virtualMachineInstance.name":
      return from(stores.evacuations, ({ spec }) => spec.vmiName);
    default:
      return undefined;
  }
}

/**
 * Returns all nodes, or the objects on one node. Returns undefined for other requests, or if the watch cannot answer.
 */
function onNode(stores: Stores, resource: Resource, listing: Listing & Reading<unknown>) {
  const { labels = {}, fields = {}, ...others } = listing;
  if (Object.keys(others).length > 0) return undefined;
  const criteria = { ...labels, ...fields };
  const from = <T>(store: Store<T>, valuesOf: (facts: T) => readonly (string | undefined)[]) => {
    if (!store.isCurrent() || store.hasOddIn()) return undefined;
    const wanted = Object.values(criteria);
    return [...store.all()].filter((one) => valuesOf(one).every((value, at) => value === wanted[at]));
  };
  switch ([resource, ...Object.keys(criteria)].join(" ")) {
    case "nodes":
      return from(stores.nodes, () => []);
    case `pods ${COMPONENT_LABEL} spec.nodeName`:
      return from(stores.pods, ({ labels: own, nodeName }) => [own[COMPONENT_LABEL], nodeName]);
    case `virtualmachineinstances ${NODE_NAME_LABEL}`:
      return from(stores.virtualmachineinstances, ({ nodeName }) => [nodeName]);
    case "evacuations status.sourceNode":
      return from(stores.evacuations, ({ status }) => [status.sourceNode]);
    default:
      return undefined;
  }
}

const CACHED = [
  "pods",
  "nodes",
  "poddisruptionbudgets",
  "virtualmachineinstances",
  "virtualmachineinstancemigrations",
  "evacuations",
] as const;
export type CachedResource = (typeof CACHED)[number];

function isCached(resource: Resource): resource is CachedResource {
  return (CACHED as readonly Resource[]).includes(resource);
}
