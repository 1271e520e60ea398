/** Reads single objects and whole lists, page by page. A read returns undefined for 404. */
import * as z from "zod/mini";
import type { NamespacedName } from "./facts.ts";
import { ClusterError } from "./failures.ts";
import { API_GROUP, type Resource, RESOURCES } from "./resources.ts";
import { isObjectKey } from "./objects.ts";
import { Page } from "./schemas/fields.ts";
import { type ApiAnswer, type ApiRequest, LARGEST_ANSWER_BYTES, type Send } from "./transport.ts";

const PAGE_SIZE = 250;

/** Called for each list item that cannot be parsed. The returned list does not contain the item. */
export type OnOddItem = (resource: Resource, issue: string) => void;

/**
 * Parses an answer. `name` is the name of the requested object. If the answer cannot be parsed, the error has `odd`
 * only if the answer contains this name, because any other answer might come from a proxy.
 */
export function parseAnswer<S extends z.ZodMiniType>(
  schema: S,
  body: unknown,
  request: string,
  name?: string,
): z.output<S> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const isNamed = name !== undefined && Named.safeParse(body).data?.metadata.name === name;
  const issue = issueOf(parsed.error);
  throw new ClusterError({ reason: "Unintelligible", request, issue, ...(isNamed && { odd: true }) });
}

const Named = z.lazy(() => z.object({ metadata: z.object({ name: z.string() }) }));

/** The maximum length of a name or a field in a text about an object. An API server accepts no longer names. */
const LONGEST = 253;

function issueOf(error: z.core.$ZodError): string {
  const [issue] = error.issues;
  if (issue === undefined) return "invalid";
  const field = issue.path.join(".").slice(0, LONGEST);
  return `${field || "(root)"}: ${issue.message.slice(0, LONGEST)}`;
}

interface Sought<S extends z.ZodMiniType> {
  readonly resource: Resource;
  readonly key: NamespacedName;
  readonly schema: S;
  readonly expect?: readonly number[] | undefined;
}

export async function getObject<S extends z.ZodMiniType>(
  send: Send,
  { resource, key, schema, expect = [] }: Sought<S>,
): Promise<z.output<S> | undefined> {
  const isAlwaysThere = resource === "version";
  if (!isAlwaysThere && !isObjectKey(key)) return undefined;
  const path = object(resource, key);
  const { code, body } = await send({ method: "GET", path, expect: isAlwaysThere ? expect : [404, ...expect] });
  return code >= 400 ? undefined : parseAnswer(schema, body, `GET ${path}`, key.name);
}

/** Counts objects. Returns undefined if the API server does not return the number of remaining items. */
export async function countAll(send: Send, resource: Resource): Promise<number | undefined> {
  const path = collection(resource);
  const { body } = await send({ method: "GET", path, query: { limit: "1" } });
  const { items, metadata } = parseAnswer(Page, body, `GET ${path}`);
  if (metadata.continue === undefined) return items.length;
  const { remainingItemCount } = metadata;
  return typeof remainingItemCount === "number" ? items.length + remainingItemCount : undefined;
}

export interface ListOptions<S extends z.ZodMiniType> {
  readonly resource: Resource;
  readonly namespace?: string | undefined;
  readonly query: Readonly<Record<string, string>>;
  readonly most?: number | undefined;
  readonly schema: S;
  readonly onOddItem: OnOddItem;
}

/** The part of the memory limit that the next page should use. */
const FILLED = 0.6;

function nextLimit(items: number, { bytes, limit }: PageRead): number {
  if (items === 0) return limit;
  return Math.max(1, Math.floor((items * LARGEST_ANSWER_BYTES * FILLED) / bytes));
}

interface PageRead extends ApiAnswer {
  readonly limit: number;
}

/** Reads a page. If the page is too large, repeats the request with half the number of items. */
async function readPage(send: Send, path: string, query: ApiRequest["query"], limit: number): Promise<PageRead> {
  try {
    const answer = await send({ method: "GET", path, query: { limit: String(limit), ...query } });
    return { ...answer, limit };
  } catch (error) {
    const isTooLarge = error instanceof ClusterError && error.failure.reason === "TooLarge";
    if (!isTooLarge || limit === 1) throw error;
    return await readPage(send, path, query, Math.ceil(limit / 2));
  }
}

export async function readAll<S extends z.ZodMiniType>(
  send: Send,
  { resource, namespace, query, most, schema, onOddItem }: ListOptions<S>,
): Promise<readonly z.output<S>[]> {
  const path = collection(resource, namespace);
  const kept: z.output<S>[] = [];
  for await (const { items } of readPages(send, path, { query, most })) {
    for (const item of items) {
      const parsed = schema.safeParse(item);
      if (parsed.success) kept.push(parsed.data);
      else onOddItem(resource, `${nameOf(item)}: ${issueOf(parsed.error)}`);
    }
  }
  return kept;
}

const Identified = z.lazy(() =>
  z.object({ metadata: z.object({ namespace: z.optional(z.string()), name: z.string() }) }),
);

function nameOf(item: unknown): string {
  const { namespace, name } = Identified.safeParse(item).data?.metadata ?? {};
  if (name === undefined) return "an object without a name";
  const said = name.slice(0, LONGEST);
  return namespace === undefined ? said : `${namespace.slice(0, LONGEST)}/${said}`;
}

interface Pages {
  readonly query: Readonly<Record<string, string>>;
  /** The maximum number of items to read. Absent for all items. */
  readonly most?: number | undefined;
}

/** Reads a list page by page, so that each page takes at most LARGEST_ANSWER_BYTES of memory. */
export async function* readPages(
  send: Send,
  path: string,
  { query, most }: Pages,
): AsyncGenerator<z.output<typeof Page>> {
  let limit = most ?? PAGE_SIZE;
  let next: string | undefined;
  do {
    const read = await readPage(send, path, { ...query, continue: next }, limit);
    const page = parseAnswer(Page, read.body, `GET ${path}`);
    limit = Math.min(PAGE_SIZE, nextLimit(page.items.length, read));
    yield page;
    next = most === undefined ? page.metadata.continue : undefined;
  } while (next);
}

const Groups = z.object({ kind: z.literal("APIGroupList"), groups: z.array(z.object({ name: z.string() })) });
const Served = z.object({ kind: z.literal("APIResourceList"), resources: z.array(z.object({ name: z.string() })) });

/**
 * Returns undefined if the cluster does not serve the kind. A 404 can come from a proxy, so the API server's discovery
 * is also checked.
 */
export async function readUnlessNotServed<T>(
  send: Send,
  resource: Resource,
  reading: Promise<T | undefined>,
): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (!isPageNotFound(error) || (await isServed(send, resource).catch(() => true))) throw error;
    return undefined;
  }
}

function isPageNotFound(error: unknown): boolean {
  if (!(error instanceof ClusterError)) return false;
  const { failure } = error;
  return failure.reason === "Unintelligible" || (failure.reason === "Refused" && failure.code === 404);
}

async function isServed(send: Send, resource: Resource): Promise<boolean> {
  const [group = ""] = API_GROUP.split("/");
  const discover = async <S extends z.ZodMiniType>(path: string, schema: S) =>
    parseAnswer(schema, (await send({ method: "GET", path })).body, `GET ${path}`);
  const { groups } = await discover("/apis", Groups);
  if (!groups.some(({ name }) => name === group)) return false;
  const { resources } = await discover(`/apis/${API_GROUP}`, Served);
  return resources.some(({ name }) => name === resource);
}

export function collection(resource: Resource, namespace?: string): string {
  const within = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${RESOURCES[resource].api}${within}/${resource}`;
}

/** Returns the path of an object. The namespace of a cluster-scoped object is empty. */
export function object(resource: Resource, { namespace, name }: NamespacedName): string {
  const all = collection(resource, namespace || undefined);
  return resource === "version" ? all : `${all}/${encodeURIComponent(name)}`;
}

export type WithSubresources = "virtualmachines" | "virtualmachineinstances";

/** Returns the path of a subresource that virt-api serves. */
export function kubevirtSubresource(
  resource: WithSubresources,
  { namespace, name }: NamespacedName,
  sub: string,
): string {
  const where = `${encodeURIComponent(namespace)}/${resource}/${encodeURIComponent(name)}`;
  return `/apis/subresources.kubevirt.io/v1/namespaces/${where}/${sub}`;
}
