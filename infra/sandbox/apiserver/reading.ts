/** GET: reads an object, or lists the selected objects of a collection. */
import { type Answer, type ListMeta, type ResourceContext, storedIn } from "./context.ts";
import type { ResourceKind } from "./kinds/kind.ts";
import { type ListOptions, readListOptions } from "./options.ts";
import {
  type FieldRequirement,
  type LabelRequirement,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
} from "./selectors.ts";
import { type StoredObject, fieldEntry, fieldOf, labelEntry } from "./store.ts";
import type { Tree } from "./objects.ts";
import { badRequest, fail } from "./status.ts";

export function handleGet(ctx: ResourceContext): Answer {
  requireRevision(ctx, readRevision(ctx.info.query.get("resourceVersion") ?? ""));
  return { type: "Object", code: 200, object: storedIn(ctx) };
}

export function handleList(ctx: ResourceContext): Answer {
  return { type: "List", ...selectObjects(ctx) };
}

export interface Selection {
  readonly matches: (stored: StoredObject) => boolean;
  /** The labels and fields (`label=value`) that every selected object has. The store's index contains these entries. */
  readonly entries: readonly string[];
  readonly isEverything: boolean;
}

export function readSelection(ctx: ResourceContext): Selection {
  const { query, namespace } = ctx.info;
  const labels = parseLabelSelector(query.get("labelSelector") ?? "");
  const fields = parseFieldSelector(query.get("fieldSelector") ?? "").map((one) => byPath(ctx.kind, one));
  return {
    matches: (stored) =>
      isIn(stored, namespace) &&
      matchesLabels(labels, stored.labels) &&
      matchesFields(fields, (path) => fieldOf(stored, path)),
    entries: [...labels.flatMap(labelEntries), ...fields.flatMap(fieldEntries)],
    isEverything: labels.length === 0 && fields.length === 0,
  };
}

function byPath({ custom, selectableFields }: ResourceKind, requirement: FieldRequirement): FieldRequirement {
  const path = selectableFields[requirement.field];
  if (path !== undefined) return { ...requirement, field: path };
  const plain = !custom && Object.keys(selectableFields).every((one) => one.startsWith("metadata."));
  const known = `is not a known field selector: only "metadata.name", "metadata.namespace"`;
  return badRequest(plain ? `"${requirement.field}" ${known}` : `field label not supported: ${requirement.field}`);
}

function labelEntries({ key, operator, values }: LabelRequirement): readonly string[] {
  const [value] = values;
  return operator === "In" && values.length === 1 && value !== undefined ? [labelEntry(key, value)] : [];
}

function fieldEntries({ field, operator, value }: FieldRequirement): readonly string[] {
  const isKey = field === "metadata.name" || field === "metadata.namespace";
  return operator === "=" && !isKey ? [fieldEntry(field, value)] : [];
}

export function selectObjects(ctx: ResourceContext): { items: readonly StoredObject[]; metadata: ListMeta } {
  const options = readListOptions(ctx.info.query, "list");
  const selection = readSelection(ctx);
  const { revision, candidates } = readStart(ctx, options, selection);
  // A list with resourceVersion=0 ignores the limit.
  const limit = options.limit > 0 && options.version !== "0" ? options.limit : Number.POSITIVE_INFINITY;
  const items: StoredObject[] = [];
  let left = candidates.length;
  for (const stored of candidates) {
    if (items.length === limit) break;
    if (selection.matches(stored)) items.push(stored);
    left -= 1;
  }
  const metadata = { resourceVersion: String(revision) };
  const last = items.at(-1);
  if (left === 0 || last === undefined) return { items, metadata };
  const token = encodeToken(ctx, revision, `${keyOf(last)}\0`);
  const remaining = selection.isEverything && { remainingItemCount: left };
  return { items, metadata: { ...metadata, continue: token, ...remaining } };
}

interface Start {
  readonly revision: number;
  readonly candidates: readonly StoredObject[];
}

function readStart(ctx: ResourceContext, options: ListOptions, { entries }: Selection): Start {
  const { token, version, match, limit } = options;
  const { collection, info, state } = ctx;
  // A list with a limit does not use the index, because its answer contains the number of remaining objects.
  const present = (from = ""): Start => ({
    revision: state.store.revision,
    candidates: collection.list(info.namespace, limit > 0 ? [] : entries, from),
  });
  if (token !== "") {
    const { revision, from } = decodeToken(ctx, token);
    if (Number(version) !== 0) badRequest("specifying resource version is not allowed when using continue");
    return revision < 0 ? present(from) : past(ctx, revision, from);
  }
  const wanted = readRevision(version, (message) => badRequest(`invalid resource version: ${message}`));
  const exact = match === "Exact" || (match === "" && limit > 0);
  if (exact && wanted > 0) return past(ctx, wanted);
  requireRevision(ctx, wanted);
  return present();
}

export function readRevision(
  text: string,
  refuse: (message: string) => never = (message) => fail({ reason: "Unclassified", message }),
): number {
  if (/^\d*$/.test(text)) return Number(text);
  const shown = JSON.stringify(text);
  return refuse(`resourceVersion: Invalid value: ${shown}: strconv.ParseUint: parsing ${shown}: invalid syntax`);
}

function requireRevision({ state }: ResourceContext, asked: number): void {
  const current = state.store.revision;
  if (asked > current) fail({ reason: "TooLargeResourceVersion", asked, current });
}

/** Returns the collection at a past revision, without later changes. */
function past(ctx: ResourceContext, revision: number, from = ""): Start {
  requireRevision(ctx, revision);
  const { collection, info } = ctx;
  const present = collection.list(info.namespace, [], from);
  const changes = collection.log.since(revision);
  if (changes === undefined) return expired(ctx, from);
  const then = new Map<string, StoredObject | undefined>();
  for (const { object, previous } of changes.toReversed()) then.set(keyOf(object), previous);
  if (then.size === 0) return { revision, candidates: present };
  const unchanged = present.filter((stored) => !then.has(keyOf(stored)));
  const isWanted = (stored: StoredObject): boolean => isIn(stored, info.namespace) && keyOf(stored) >= from;
  const putBack = [...then.values()].filter((stored) => stored !== undefined).filter(isWanted);
  return { revision, candidates: [...unchanged, ...putBack].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)) };
}

function isIn(stored: StoredObject, namespace: string): boolean {
  return namespace === "" || stored.namespace === namespace;
}

const CONTINUE_TOO_OLD =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without " +
  "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
  "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or " +
  "deleted between the time the first chunk was returned and now may show up in the list.";

function expired(ctx: ResourceContext, from: string): never {
  if (from === "") return fail({ reason: "Expired", message: "The resourceVersion for the provided list is too old." });
  return fail({ reason: "Expired", message: CONTINUE_TOO_OLD, continue: encodeToken(ctx, LATEST, from) });
}

export function keyOf({ namespace, name }: StoredObject): string {
  return `${namespace}/${name}`;
}

/** In a continue token, this value means the current revision. */
const LATEST = -1;

/**
 * Encodes a continue token. The token does not contain the namespace, because the URL of the next request contains it.
 */
function encodeToken({ info }: ResourceContext, rv: number, from: string): string {
  const start = from.slice(info.namespace.length);
  return Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv, start })).toString("base64url");
}

function decodeToken({ info, kind }: ResourceContext, text: string): { revision: number; from: string } {
  try {
    const { v, rv, start }: Tree = JSON.parse(Buffer.from(text, "base64url").toString());
    if (v === "meta.k8s.io/v1" && typeof rv === "number" && rv !== 0 && typeof start === "string" && start !== "") {
      const key = start.replace(/^\//, "");
      return { revision: rv, from: kind.namespaced && info.namespace === "" ? key : `${info.namespace}/${key}` };
    }
  } catch {
    // The malformed token is reported below.
  }
  return badRequest("invalid continue token: continue key is not valid");
}
