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
  const { query } = ctx.info;
  const limit = Number(query.get("limit") ?? 0);
  const selection = readSelection(ctx);
  const from = readStart(ctx);
  const selected = from
    .candidates(selection)
    .filter((stored) => keyOf(stored) > from.after && selection.matches(stored));
  const items = limit > 0 ? selected.slice(0, limit) : selected;
  const last = items.at(-1);
  const remaining = selected.length - items.length;
  const more = last !== undefined && remaining > 0;
  return {
    items,
    metadata: {
      resourceVersion: String(from.revision),
      ...(more && { continue: encodeToken(from.revision, keyOf(last)) }),
      ...(more && selection.isEverything && { remainingItemCount: remaining }),
    },
  };
}

interface Start {
  readonly revision: number;
  readonly after: string;
  readonly candidates: (selection: Selection) => readonly StoredObject[];
}

function readStart(ctx: ResourceContext): Start {
  const { query, namespace } = ctx.info;
  const { collection, state } = ctx;
  const token = query.get("continue");
  if (token) {
    const { rv: revision, start: after } = decodeToken(token);
    return { revision, after, candidates: () => snapshot(ctx, revision, after) };
  }
  const wanted = readRevision(query.get("resourceVersion"));
  if (wanted > state.store.revision) {
    return fail({ reason: "TooLargeResourceVersion", asked: wanted, current: state.store.revision });
  }
  if (query.get("resourceVersionMatch") === "Exact" && wanted > 0) {
    return { revision: wanted, after: "", candidates: () => snapshot(ctx, wanted, undefined) };
  }
  return {
    revision: state.store.revision,
    after: "",
    candidates: ({ entries }) => collection.list(namespace, entries),
  };
}

export function readRevision(text: string | null): number {
  if (text === null || text === "") return 0;
  if (/^\d+$/.test(text)) return Number(text);
  return badRequest(
    `resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
  );
}

/** The collection as it was: the present with the changes since then undone. */
function snapshot(ctx: ResourceContext, revision: number, after: string | undefined): readonly StoredObject[] {
  const changes = ctx.collection.log.since(revision);
  if (changes === undefined) return expired(ctx, after);
  const objects = new Map(ctx.collection.list(ctx.info.namespace).map((stored) => [keyOf(stored), stored]));
  for (const { object, previous } of changes.toReversed()) {
    if (previous === undefined) objects.delete(keyOf(object));
    else objects.set(keyOf(object), previous);
  }
  return [...objects.values()].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

const CONTINUE_TOO_OLD =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without " +
  "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
  "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or " +
  "deleted between the time the first chunk was returned and now may show up in the list.";

function expired({ state }: ResourceContext, after: string | undefined): never {
  if (after === undefined)
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
