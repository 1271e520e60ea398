/**
 * Reading: single objects (404 is undefined) and whole lists, page by page.
 * Owns: GET requests and turning their answers into facts. Does not own: when to read what (shared/pass).
 */
import type * as z from "zod/mini";
import type { NamespacedName } from "../policy/facts.ts";
import { ClusterError } from "./failure.ts";
import { isObjectKey } from "./object-name.ts";
import { collection, object, type Resource } from "./paths.ts";
import { Page } from "./schemas.ts";
import { type ApiAnswer, LARGEST_ANSWER_BYTES, type Send } from "./transport.ts";

const PAGE_SIZE = 250;

/** Told of an item of a list that does not parse: it is left out, the rest is not. */
export type OnOddItem = (resource: Resource, issue: string) => void;

/** Parses an answer, or throws saying which field was not what was expected. */
export function parseAnswer<S extends z.ZodMiniType>(schema: S, body: unknown, request: string): z.output<S> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new ClusterError({ reason: "Unintelligible", request, issue: issueOf(parsed.error) });
}

function issueOf(error: z.core.$ZodError): string {
  const [issue] = error.issues;
  return issue === undefined ? "invalid" : `${issue.path.join(".") || "(root)"}: ${issue.message}`;
}

export async function readOne<S extends z.ZodMiniType>(
  send: Send,
  resource: Resource,
  key: NamespacedName,
  schema: S,
): Promise<z.output<S> | undefined> {
  if (!isObjectKey(key)) return undefined;
  const path = object(resource, key);
  const { code, body } = await send({ method: "GET", path, expect: [404] });
  return code === 404 ? undefined : parseAnswer(schema, body, `GET ${path}`);
}

export interface ListOptions<S extends z.ZodMiniType, T> {
  readonly resource: Resource;
  readonly namespace?: string;
  /** Whose they are: an object that cannot exist has none, and is in no path and no selector. */
  readonly of?: NamespacedName;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly schema: S;
  /** Keeps what is needed of an item; undefined drops it. Pages themselves are never kept. */
  readonly project: (item: z.output<S>) => T | undefined;
  readonly onOddItem: OnOddItem;
}

function selectorsOf(o: { readonly labelSelector?: string; readonly fieldSelector?: string }): Record<string, string> {
  const given = [
    ["labelSelector", o.labelSelector],
    ["fieldSelector", o.fieldSelector],
  ] as const;
  return Object.fromEntries(given.flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));
}

interface PageRead extends ApiAnswer {
  /** With which it was asked for. */
  readonly limit: number;
}

/** Of what can be held, so much is asked for, if the next items are like the last ones. */
const FILLED = 0.75;

function nextLimit(items: number, { bytes, limit }: PageRead): number {
  if (items === 0) return limit;
  return Math.max(1, Math.floor((items * LARGEST_ANSWER_BYTES * FILLED) / bytes));
}

/** Half as many items as long as they are too large together. */
async function readPage(
  send: Send,
  path: string,
  query: Readonly<Record<string, string>>,
  limit: number,
): Promise<PageRead> {
  try {
    const answer = await send({ method: "GET", path, query: { limit: String(limit), ...query } });
    return { ...answer, limit };
  } catch (error) {
    const isTooLarge = error instanceof ClusterError && error.failure.reason === "TooLarge";
    if (!isTooLarge || limit === 1) throw error;
    return await readPage(send, path, query, Math.ceil(limit / 2));
  }
}

export async function readAll<S extends z.ZodMiniType, T>(send: Send, o: ListOptions<S, T>): Promise<readonly T[]> {
  const isNobodys = o.of !== undefined && (o.of.namespace === "" || !isObjectKey(o.of));
  return isNobodys ? [] : await readPages(send, o);
}

async function readPages<S extends z.ZodMiniType, T>(send: Send, o: ListOptions<S, T>): Promise<readonly T[]> {
  const path = collection(o.resource, o.namespace);
  const selector = selectorsOf(o);
  const kept: T[] = [];
  let limit = PAGE_SIZE;
  let next: string | undefined;
  do {
    const read = await readPage(send, path, { ...selector, ...(next ? { continue: next } : {}) }, limit);
    const page = parseAnswer(Page, read.body, `GET ${path}`);
    limit = Math.min(PAGE_SIZE, nextLimit(page.items.length, read));
    for (const item of page.items ?? []) {
      const parsed = o.schema.safeParse(item);
      const projected = parsed.success ? o.project(parsed.data) : undefined;
      if (!parsed.success) o.onOddItem(o.resource, issueOf(parsed.error));
      if (projected !== undefined) kept.push(projected);
    }
    next = page.metadata?.continue;
  } while (next);
  return kept;
}
