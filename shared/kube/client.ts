/** Defines a client of one cluster, which sends each call as a request to the API server. */
import * as z from "zod/mini";
import type { NamespacedName } from "./facts.ts";
import { ClusterError } from "./failures.ts";
import {
  collection,
  countAll,
  kubevirtSubresource,
  object,
  type OnOddItem,
  parseAnswer,
  readAll,
  getObject,
  readUnlessNotServed,
  type WithSubresources,
} from "./read.ts";
import { type FactsOf, type Resource, SCHEMAS } from "./resources.ts";
import { type Selection, selectorsOf } from "./selection.ts";
import { type ApiAnswer, type ApiRequest, type Endpoint, type Hold, type Send, sender } from "./transport.ts";

export { named } from "./objects.ts";

export interface Listing extends Selection {
  /** The time limit of this request, in milliseconds. */
  readonly withinMs?: number;
  /** Called for each item that cannot be parsed. The returned list does not contain the item. */
  readonly onOdd?: (issue: string) => void;
  /** Whether the read fails if an item cannot be parsed. */
  readonly strict?: boolean;
}

interface As<T> {
  /** The schema to use instead of the schema in the table of resources. */
  readonly as?: z.ZodMiniType<T>;
}

export type Reading<T> = As<T> & Expecting;

interface Expecting {
  readonly expect?: readonly number[];
}

export interface Said {
  readonly code: number;
  readonly request: string;
}

export interface WriteAnswer<T = unknown> extends Said {
  readonly message: string;
  /** Returns the object after the write. Throws if the write was refused. */
  readonly facts: () => T;
}

export interface NewObject {
  readonly kind: string;
  readonly metadata?: { readonly namespace?: string; readonly name?: string };
}

export interface WriteOptions extends Expecting {
  readonly subresource?: string;
  readonly dryRun?: boolean;
}

export interface UpdateOptions extends Expecting {
  /** The kind of the object whose subresource is updated. If absent, it is a VMI. */
  readonly resource?: WithSubresources;
}

export type Observed = NamespacedName & {
  readonly uid: string;
  readonly resourceVersion?: string;
  /** The grace period for the deletion of a pod. If absent, the pod's own grace period applies. */
  readonly gracePeriodSeconds?: number | undefined;
};

/**
 * A client of one API server. `get` returns undefined for a 404. A write returns the codes 404, 409 and 422 to its
 * caller. For any other error, a call throws a ClusterError, unless `expect` contains the code.
 */
export interface Client {
  /** Returns undefined for 404, and for the codes in `expect`. */
  get<R extends Resource, T = FactsOf<R>>(
    resource: R,
    key: NamespacedName,
    how?: Reading<T>,
  ): Promise<NoInfer<T> | undefined>;
  list<R extends Resource, T = FactsOf<R>>(resource: R, listing?: Listing & As<T>): Promise<readonly NoInfer<T>[]>;
  /** Returns the number of objects, or undefined if the API server does not return it. */
  count(resource: Resource): Promise<number | undefined>;
  create<R extends Resource>(resource: R, manifest: NewObject, how?: WriteOptions): Promise<WriteAnswer<FactsOf<R>>>;
  /** Sends a JSON patch if the body is a list, otherwise a merge patch. */
  patch<R extends Resource>(
    resource: R,
    key: NamespacedName,
    patch: object,
    how?: WriteOptions,
  ): Promise<WriteAnswer<FactsOf<R>>>;
  /** Updates a subresource of virt-api. Returns only the code, because virt-api does not return a plain Status. */
  update(of: NamespacedName, subresource: string, body: object, how?: UpdateOptions): Promise<Said>;
  /** Deletes the object if its UID, and its resourceVersion if given, have not changed. */
  delete(resource: Resource, seen: Observed): Promise<WriteAnswer>;
}

export interface ClientOptions {
  readonly endpoint: Endpoint;
  readonly signal: AbortSignal;
  readonly timeout: (ms: number) => AbortSignal;
  readonly onOddItem: OnOddItem;
  readonly hold?: Hold;
}

export function createClient(options: ClientOptions): Client {
  const { endpoint, signal, timeout, hold } = options;
  const send = sender(endpoint, signal, hold);
  const sendWithin = (ms: number) => sender(endpoint, AbortSignal.any([signal, timeout(ms)]), hold);

  function get<R extends Resource, T = FactsOf<R>>(
    resource: R,
    key: NamespacedName,
    how?: Reading<T>,
  ): Promise<NoInfer<T> | undefined>;
  async function get(resource: Resource, key: NamespacedName, how: Reading<unknown> = {}) {
    const reading = getObject(send, { resource, key, schema: how.as ?? SCHEMAS[resource].facts, expect: how.expect });
    return await (resource === "lifeboatconfigurations" ? readUnlessNotServed(send, resource, reading) : reading);
  }

  function list<R extends Resource, T = FactsOf<R>>(
    resource: R,
    listing?: Listing & As<T>,
  ): Promise<readonly NoInfer<T>[]>;
  async function list(
    resource: Resource,
    { withinMs, as, ...listing }: Listing & As<unknown> = {},
  ): Promise<readonly unknown[]> {
    const within = withinMs === undefined ? send : sendWithin(withinMs);
    const { namespace, limit: most } = listing;
    const selected = { resource, namespace, most, query: selectorsOf(listing) };
    return await readAll(within, {
      ...selected,
      schema: as ?? SCHEMAS[resource].facts,
      onOddItem: oddItems(listing, options),
    });
  }

  return { get, list, count: (resource) => countAll(send, resource), ...writes(send) };
}

function oddItems({ onOdd, strict = false }: Listing, { onOddItem }: ClientOptions): OnOddItem {
  return (resource, issue) => {
    if (strict) throw new ClusterError({ reason: "Unintelligible", request: `GET of ${resource}`, issue });
    onOdd?.(issue);
    onOddItem(resource, issue);
  };
}

/**
 * The error codes that a write returns instead of throwing. 404: the object does not exist. 409: the object has changed
 * or already exists. 422: a test in the patch failed or the object is invalid.
 */
const ANSWERS = [404, 409, 422];

function writes(send: Send): Pick<Client, "create" | "patch" | "update" | "delete"> {
  const write = async <R extends Resource>(
    resource: R,
    request: Pick<ApiRequest, "method" | "path" | "body">,
    { dryRun = false, expect = [] }: WriteOptions = {},
  ): Promise<WriteAnswer<FactsOf<R>>> => {
    const query = dryRun ? { dryRun: "All" } : {};
    const answer = await send({ ...request, query, expect: [...ANSWERS, ...expect] });
    const label = `${request.method} ${request.path}`;
    return {
      code: answer.code,
      request: label,
      message: messageOf(answer),
      facts: () => parseAnswer(SCHEMAS[resource].facts, answer.body, label),
    };
  };
  return {
    create: (resource, manifest, how = {}) => {
      const { namespace = "", name = "" } = manifest.metadata ?? {};
      const path =
        how.subresource === undefined
          ? collection(resource, namespace || undefined)
          : `${object(resource, { namespace, name })}/${how.subresource}`;
      return write(resource, { method: "POST", path, body: manifest }, how);
    },
    patch: (resource, key, body, how = {}) => {
      const path = `${object(resource, key)}${how.subresource === undefined ? "" : `/${how.subresource}`}`;
      return write(resource, { method: "PATCH", path, body }, how);
    },
    update: async (of, subresource, body, { expect = [], resource = "virtualmachineinstances" } = {}) => {
      const path = kubevirtSubresource(resource, of, subresource);
      const { code } = await send({ method: "PUT", path, body, codeOnly: true, expect: [...ANSWERS, ...expect] });
      return { code, request: `PUT ${path}` };
    },
    delete: (resource, { namespace, name, uid, resourceVersion, gracePeriodSeconds }) => {
      const preconditions = { uid, ...(resourceVersion !== undefined && { resourceVersion }) };
      return write(resource, {
        method: "DELETE",
        path: object(resource, { namespace, name }),
        body: { preconditions, gracePeriodSeconds },
      });
    },
  };
}

const Status = z.object({ message: z.string() });

function messageOf({ code, body }: ApiAnswer): string {
  return code < 300 ? "" : (Status.safeParse(body).data?.message ?? "");
}

/** Returns `Done` for 2xx, or the meaning of the code in `meanings`. Throws if `meanings` does not contain the code. */
export function meaningOf<M extends string>(
  { code, request }: Said,
  meanings: Readonly<Record<number, M>>,
): M | "Done" {
  if (code < 300) return "Done";
  const meaning = meanings[code];
  if (meaning === undefined) throw new ClusterError({ reason: "Refused", code, request });
  return meaning;
}
