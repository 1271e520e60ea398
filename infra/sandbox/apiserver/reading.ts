/**
 * GET: one object, or a selected part of a collection.
 * Owns: selection, paging with continue tokens, lists of a past revision. Does not own: watches (watch.ts).
 */
import { type Answer, type ListMeta, type ResourceContext, resourceOf } from "./context.ts";
import type { ResourceKind } from "./kinds/kind.ts";
import {
  type FieldRequirement,
  type LabelRequirement,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
} from "./selectors.ts";
import { type StoredObject, fieldEntry, fieldOf, labelEntry } from "./store.ts";
import { badRequest, fail } from "./status.ts";

export function handleGet(ctx: ResourceContext): Answer {
  const { kind, collection, info } = ctx;
  const stored = collection.get(info);
  if (stored === undefined) return fail({ reason: "NotFound", resource: resourceOf(kind), name: info.name });
  return { type: "Object", code: 200, object: stored };
}

export function handleList(ctx: ResourceContext): Answer {
  return { type: "List", ...selectObjects(ctx) };
}

export interface Selection {
  readonly matches: (stored: StoredObject) => boolean;
  /** What the index may narrow the search by. */
  readonly entries: readonly string[];
  readonly isEverything: boolean;
}

export function readSelection(ctx: ResourceContext): Selection {
  const { query, namespace } = ctx.info;
  const labels = parseLabelSelector(query.get("labelSelector") ?? "");
  const named = parseFieldSelector(query.get("fieldSelector") ?? "");
  for (const { field } of named) requireSelectable(ctx.kind, field);
  const fields = named.map((one) => byPath(ctx.kind, one));
  return {
    matches: (stored) =>
      (namespace === "" || stored.namespace === namespace) &&
      matchesLabels(labels, stored.labels) &&
      matchesFields(fields, (path) => fieldOf(stored, path)),
    entries: [...labels.flatMap(labelEntries), ...fields.flatMap(fieldEntries)],
    isEverything: labels.length === 0 && fields.length === 0,
  };
}

/** Selectors name fields as the kind does; the store knows them by their path. */
function byPath(kind: ResourceKind, requirement: FieldRequirement): FieldRequirement {
  return { ...requirement, field: kind.selectableFields[requirement.field] ?? requirement.field };
}

function labelEntries({ key, operator, values }: LabelRequirement): readonly string[] {
  const [value] = values;
  return operator === "In" && values.length === 1 && value !== undefined ? [labelEntry(key, value)] : [];
}

function fieldEntries({ field, operator, value }: FieldRequirement): readonly string[] {
  const isKey = field === "metadata.name" || field === "metadata.namespace";
  return operator === "=" && !isKey ? [fieldEntry(field, value)] : [];
}

function requireSelectable(kind: ResourceKind, field: string): void {
  if (kind.selectableFields[field] !== undefined) return;
  const plain = !kind.custom && Object.keys(kind.selectableFields).every((one) => one.startsWith("metadata."));
  badRequest(
    plain
      ? `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
      : `field label not supported: ${field}`,
  );
}

interface Page {
  readonly items: readonly StoredObject[];
  readonly metadata: ListMeta;
}

export function selectObjects(ctx: ResourceContext): Page {
  const limit = Number(ctx.info.query.get("limit") || Number.POSITIVE_INFINITY);
  const selection = readSelection(ctx);
  const start = readStart(ctx, selection);
  const { items, more } = take(start.candidates, selection, limit);
  const metadata = { resourceVersion: String(start.revision) };
  const last = items.at(-1);
  if (!more || last === undefined) return { items, metadata };
  const remaining = selection.isEverything && start.count && { remainingItemCount: start.count(keyOf(last)) };
  return { items, metadata: { ...metadata, continue: encodeToken(start.revision, keyOf(last)), ...remaining } };
}

function take(candidates: Iterable<StoredObject>, { matches }: Selection, limit: number) {
  const items: StoredObject[] = [];
  for (const stored of candidates) {
    if (!matches(stored)) continue;
    if (items.length >= limit) return { items, more: true };
    items.push(stored);
  }
  return { items, more: false };
}

interface Start {
  readonly revision: number;
  readonly candidates: Iterable<StoredObject>;
  /** How many there are after a key; for the present only. */
  readonly count?: (after: string) => number;
}

function readStart(ctx: ResourceContext, selection: Selection): Start {
  const { query, namespace } = ctx.info;
  const { collection, state } = ctx;
  const token = query.get("continue");
  if (token) {
    const { rv: revision, start: after } = decodeToken(token);
    return { revision, candidates: snapshot(ctx, selection, { revision, after }) };
  }
  const wanted = readRevision(query.get("resourceVersion"));
  if (wanted > state.store.revision) {
    return fail({ reason: "TooLargeResourceVersion", asked: wanted, current: state.store.revision });
  }
  if (query.get("resourceVersionMatch") === "Exact" && wanted > 0) {
    return { revision: wanted, candidates: snapshot(ctx, selection, { revision: wanted, after: "" }) };
  }
  return {
    revision: state.store.revision,
    candidates: collection.scan({ namespace, entries: selection.entries, after: "" }),
    count: (after) => collection.count(namespace, after),
  };
}

export function readRevision(text: string | null): number {
  if (text === null || text === "") return 0;
  if (/^\d+$/.test(text)) return Number(text);
  return badRequest(
    `resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
  );
}

/** The collection as it was: the present, with the objects that have changed since then put back. */
function snapshot(
  ctx: ResourceContext,
  { entries }: Selection,
  { revision, after }: { revision: number; after: string },
): Iterable<StoredObject> {
  const { collection, info } = ctx;
  const changes = collection.log.since(revision);
  if (changes === undefined) return expired(ctx, after);
  const present = collection.scan({ namespace: info.namespace, entries, after });
  if (changes.length === 0) return present;
  const then = new Map<string, StoredObject | undefined>();
  for (const { object, previous } of changes.toReversed()) then.set(keyOf(object), previous);
  const unchanged = [...present].filter((stored) => !then.has(keyOf(stored)));
  const putBack = [...then.values()].filter((stored) => stored !== undefined).filter((stored) => keyOf(stored) > after);
  return [...unchanged, ...putBack].toSorted(byKey);
}

function byKey(a: StoredObject, b: StoredObject): number {
  return keyOf(a) < keyOf(b) ? -1 : 1;
}

const CONTINUE_TOO_OLD =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without " +
  "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
  "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or " +
  "deleted between the time the first chunk was returned and now may show up in the list.";

function expired({ state }: ResourceContext, after: string): never {
  if (after === "")
    return fail({ reason: "Expired", message: "The resourceVersion for the provided list is too old." });
  return fail({ reason: "Expired", message: CONTINUE_TOO_OLD, continue: encodeToken(state.store.revision, after) });
}

export function keyOf({ namespace, name }: StoredObject): string {
  return `${namespace}/${name}`;
}

interface ContinueToken {
  readonly v: "meta.k8s.io/v1";
  readonly rv: number;
  readonly start: string;
}

function encodeToken(rv: number, start: string): string {
  const token: ContinueToken = { v: "meta.k8s.io/v1", rv, start };
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

function decodeToken(text: string): ContinueToken {
  try {
    const token: Partial<ContinueToken> = JSON.parse(Buffer.from(text, "base64url").toString());
    const { v, rv, start } = token;
    if (v === "meta.k8s.io/v1" && typeof rv === "number" && typeof start === "string") return { v, rv, start };
  } catch {
    // said below
  }
  return badRequest("continue key is not valid: encoded in unexpected form");
}
