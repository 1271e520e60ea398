/**
 * A client for any API server. It sends and returns plain JSON. It does not use the objects of client-node, because
 * client-node converts the timestamps of a list to dates, but not the timestamps in watch events.
 */
import type { IncomingMessage } from "node:http";
import type { KubeConfig } from "@kubernetes/client-node";
import { readJsonLines } from "./json-lines.ts";
import { pathOf, type Draft, type Key, type KubeObject, type Resource } from "./resources.ts";
import { withRetryAfter, type RetryOptions } from "./retry-after.ts";
import { StatusError, unlessNotFound, type Status } from "./status-error.ts";
import {
  createTransport,
  impersonate,
  type Impersonated,
  type Query,
  type RawRequest,
  type Transport,
} from "./transport.ts";

export interface RawAnswer {
  readonly code: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

export interface Patch {
  readonly type: "json" | "merge" | "strategic" | "apply";
  readonly body: unknown;
}

export interface ListOf<T> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: T[];
}

export interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

export interface WriteOptions {
  readonly subresource?: string;
  readonly query?: Query;
}

export interface KubeClient {
  /** Returns every answer, including errors. All other methods throw a StatusError for an error status. */
  raw(request: RawRequest): Promise<RawAnswer>;
  /** Returns the content of a path. Returns undefined if the path does not exist. */
  read(path: string): Promise<unknown>;
  /** Returns undefined if the object does not exist. */
  get<T extends KubeObject>(resource: Resource<T>, key: Key): Promise<T | undefined>;
  list<T extends KubeObject>(resource: Resource<T>, namespace?: string, query?: Query): Promise<ListOf<T>>;
  create<T extends KubeObject>(resource: Resource<T>, object: Draft<T>, query?: Query): Promise<T>;
  update<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(resource: Resource<T>, key: Key, patch: Patch, options?: WriteOptions): Promise<T>;
  /** Returns whether the object existed. */
  delete(resource: Resource, key: Key, options?: Readonly<Record<string, unknown>>): Promise<boolean>;
  deleteAll(resource: Resource, namespace: string, options?: Readonly<Record<string, unknown>>): Promise<void>;
  post(resource: Resource, key: Key, subresource: string, body: unknown): Promise<unknown>;
  /** Yields events until the server ends the watch. Throws if the watch is refused, breaks or is aborted. */
  watch<T extends KubeObject>(resource: Resource<T>, query: Query, signal: AbortSignal): AsyncIterable<WatchEvent<T>>;
  /** Returns a client that impersonates another user. Both clients use the same connections. */
  as(user: string, groups?: readonly string[], extra?: Impersonated["extra"]): KubeClient;
  /**
   * Returns a client that repeats a request if the server refuses it with a Retry-After header, as client-go does. Both
   * clients use the same connections.
   */
  withRetryAfter(options: RetryOptions): KubeClient;
  close(): void;
}

const PATCH_TYPES = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const satisfies Record<Patch["type"], string>;

export function createClient(config: KubeConfig): KubeClient {
  return clientOver(createTransport(config));
}

function clientOver(transport: Transport): KubeClient {
  const raw = async (request: RawRequest): Promise<RawAnswer> => {
    const response = await transport.send(request);
    return { code: response.statusCode ?? 0, headers: response.headers, body: await readBody(response) };
  };
  const call = async (request: RawRequest): Promise<unknown> => {
    const { code, body } = await raw(request);
    if (code >= 400) throw new StatusError(code, body as Partial<Status>, `${request.method} ${request.path}`);
    return body;
  };
  const unlessMissing = (request: RawRequest): Promise<unknown> => call(request).catch(unlessNotFound);

  return {
    raw,
    read: (path) => unlessMissing({ method: "GET", path }),
    get: async <T extends KubeObject>(resource: Resource<T>, key: Key) =>
      (await unlessMissing({ method: "GET", path: pathOf(resource, key) })) as T | undefined,
    list: async <T extends KubeObject>(resource: Resource<T>, namespace?: string, query: Query = {}) =>
      (await call({ method: "GET", path: pathOf(resource, { namespace }), query })) as ListOf<T>,
    create: async <T extends KubeObject>(resource: Resource<T>, object: Draft<T>, query: Query = {}) => {
      const path = pathOf(resource, { namespace: object.metadata.namespace });
      return (await call({ method: "POST", path, body: typed(resource, object), query })) as T;
    },
    update: async <T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}) => {
      const path = pathOf(resource, object.metadata, options.subresource);
      return (await call({ method: "PUT", path, body: typed(resource, object), query: options.query ?? {} })) as T;
    },
    patch: async <T extends KubeObject>(resource: Resource<T>, key: Key, patch: Patch, options: WriteOptions = {}) => {
      const path = pathOf(resource, key, options.subresource);
      const contentType = PATCH_TYPES[patch.type];
      return (await call({ method: "PATCH", path, body: patch.body, contentType, query: options.query ?? {} })) as T;
    },
    async delete(resource, key, options = {}) {
      return (await unlessMissing({ method: "DELETE", path: pathOf(resource, key), body: options })) !== undefined;
    },
    async deleteAll(resource, namespace, options = {}) {
      await call({ method: "DELETE", path: pathOf(resource, { namespace }), body: options });
    },
    post: (resource, key, subresource, body) =>
      call({ method: "POST", path: pathOf(resource, key, subresource), body }),
    async *watch<T extends KubeObject>(resource: Resource<T>, query: Query, signal: AbortSignal) {
      const path = pathOf(resource);
      const response = await transport.send({ method: "GET", path, query: { ...query, watch: true } }, signal);
      const code = response.statusCode ?? 0;
      if (code !== 200) throw new StatusError(code, (await readBody(response)) as Partial<Status>, `WATCH ${path}`);
      for await (const line of readJsonLines(response)) yield line as WatchEvent<T>;
    },
    as: (user, groups = [], extra = {}) => clientOver(impersonate(transport, { user, groups, extra })),
    withRetryAfter: (options) => clientOver(withRetryAfter(transport, options)),
    close: () => transport.close(),
  };
}

function typed(resource: Resource, object: object): object {
  return { apiVersion: resource.apiVersion, kind: resource.kind, ...object };
}

/**
 * Reads the body of an answer. Proxies and broken servers send plain text instead of a Status as JSON. Such a text
 * becomes the `message` of the result.
 */
async function readBody(response: IncomingMessage): Promise<unknown> {
  response.setEncoding("utf8");
  const text = (await response.toArray()).join("");
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return { message: text };
  }
}
