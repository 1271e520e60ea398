/** metadata.managedFields: which manager owns which fields. */
import { isDeepStrictEqual } from "node:util";
import { type FieldSet, decodeFields, differenceOf, encodeFields, minus, showField } from "./fields.ts";
import type { ResourceKind } from "./kinds/kind.ts";
import type { KubeObject, ManagedFieldsEntry } from "./objects.ts";
import { fail } from "./status.ts";

export interface Writer {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string;
}

// prettier-ignore
const SYSTEM_METADATA = [
  "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "name", "namespace",
  "resourceVersion", "selfLink", "uid",
];
/** Fields that belong to no manager. */
const NOT_OWNED = new Set([
  "apiVersion",
  "kind",
  "metadata",
  ...SYSTEM_METADATA.map((field) => `metadata\nf:${field}`),
]);

export function ownable(fields: Iterable<string>): FieldSet {
  return new Set([...fields].filter((field) => !NOT_OWNED.has(field.slice("f:".length))));
}

export interface Write {
  readonly previous: KubeObject | undefined;
  readonly writer: Writer;
  /**
   * The fields of an applied configuration. If `force` is true, the writer becomes the owner of fields that other
   * managers own.
   */
  readonly applied?: { readonly fields: FieldSet; readonly force: boolean };
}

/**
 * Updates the owners of fields. The writer becomes the only owner of changed fields. After an apply, the writer also
 * owns all applied fields.
 */
export function trackUpdate(kind: ResourceKind, object: KubeObject, write: Write): void {
  const { previous, writer, applied } = write;
  const { added, modified, removed } = differenceOf(bare(previous), bare(object), kind);
  const changed = ownable([...added, ...modified]);
  const entries = entriesBefore(kind, object, write);
  // A client has reset managedFields. Only the next apply records owners again, so this update records none.
  if (previous !== undefined && entries.length === 0) return;
  const own = entries.find((entry) => isSame(entry, writer));
  const others = entries.filter((entry) => entry !== own);
  if (applied?.force === false) refuseConflicts(others, changed);
  const lost = new Set([...changed, ...removed]);
  const fields = applied?.fields ?? new Set([...minus(fieldsOfAll(own ? [own] : []), removed), ...changed]);
  setEntries(object, [
    ...others.map((entry) => without(entry, lost)),
    entryOf(writer, { fields: ownable(fields), own }),
  ]);
}

function entriesBefore(
  kind: ResourceKind,
  { metadata }: KubeObject,
  { previous, writer, applied }: Write,
): readonly ManagedFieldsEntry[] {
  if (previous === undefined) return [];
  const { managedFields = [] } = metadata;
  if (managedFields.length > 0 || applied === undefined) return managedFields;
  const fields = ownable(differenceOf(bare(undefined), bare(previous), kind).added);
  return [entryOf({ ...writer, manager: "before-first-apply", operation: "Update" }, { fields, own: undefined })];
}

/** Returns the fields in the writer's entry, and the fields in all other entries. */
export function ownedBy({ metadata: { managedFields = [] } }: KubeObject, writer: Writer) {
  const own = managedFields.filter((entry) => isSame(entry, writer));
  const others = managedFields.filter((entry) => !own.includes(entry));
  return { own: fieldsOfAll(own), others: fieldsOfAll(others) };
}

function fieldsOfAll(entries: readonly ManagedFieldsEntry[]): FieldSet {
  return new Set(entries.flatMap((entry) => [...decodeFields(entry.fieldsV1)]));
}

function refuseConflicts(others: readonly ManagedFieldsEntry[], changed: FieldSet): void {
  const conflicts = others.flatMap((entry) => {
    const fields = [...decodeFields(entry.fieldsV1)].filter((field) => changed.has(field)).toSorted();
    return fields.map((field) => ({ who: shownManager(entry), field: showField(field) }));
  });
  const [first] = conflicts;
  if (first === undefined) return;
  const causes = conflicts.map(({ who, field }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${who}`,
    field,
  }));
  const groups = Map.groupBy(conflicts, ({ who }) => who);
  const lines = [...groups.keys()]
    .toSorted()
    .flatMap((who) => [`conflicts with ${who}:`, ...(groups.get(who) ?? []).map(({ field }) => `- ${field}`)]);
  const one = `1 conflict: conflict with ${first.who}: ${first.field}`;
  const message = conflicts.length === 1 ? one : `${conflicts.length} conflicts: ${lines.join("\n")}`;
  fail({ reason: "ApplyConflict", message: `Apply failed with ${message}`, causes });
}

function shownManager({ manager, operation, subresource, apiVersion }: ManagedFieldsEntry): string {
  const name = `${JSON.stringify(manager)}${subresource ? ` with subresource ${JSON.stringify(subresource)}` : ""}`;
  return operation === "Apply" ? name : `${name} using ${apiVersion}`;
}

/** Returns true if an entry belongs to the writer. For server-side apply, their API versions can differ. */
function isSame(entry: ManagedFieldsEntry, writer: Writer): boolean {
  const [one, other] = [entry, writer].map(({ manager, operation, apiVersion, subresource = "" }) =>
    [manager, operation, operation === "Apply" ? "" : apiVersion, subresource].join("\n"),
  );
  return one === other;
}

function without(entry: ManagedFieldsEntry, lost: FieldSet): ManagedFieldsEntry {
  const fields = decodeFields(entry.fieldsV1);
  const left = minus(fields, lost);
  return left.size === fields.size ? entry : { ...entry, fieldsV1: encodeFields(left) };
}

/** Returns the new entry of a writer. If the fields have not changed, the time does not change. */
function entryOf(
  writer: Writer,
  { fields, own }: { fields: FieldSet; own: ManagedFieldsEntry | undefined },
): ManagedFieldsEntry {
  const fieldsV1 = encodeFields(fields);
  if (own !== undefined && isDeepStrictEqual(own.fieldsV1, fieldsV1)) return own;
  const { subresource, ...rest } = writer;
  return { ...rest, fieldsType: "FieldsV1", fieldsV1, ...(subresource !== "" && { subresource }) };
}

/** Sorts the entries, because a write without changes must not change their order. */
function setEntries(object: KubeObject, entries: readonly ManagedFieldsEntry[]): void {
  const kept = entries.filter(({ fieldsV1 }) => Object.keys(fieldsV1).length > 0);
  if (kept.length === 0) delete object.metadata.managedFields;
  else object.metadata.managedFields = kept.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
}

function orderOf({ operation, time, manager, apiVersion, subresource }: ManagedFieldsEntry): string {
  return [operation, time, manager, apiVersion, subresource].join("\n");
}

function bare(object: KubeObject | undefined): object {
  if (object === undefined) return { metadata: {}, spec: { containers: [] }, status: {} };
  const { managedFields: _ownership, ...metadata } = object.metadata;
  return { ...object, metadata };
}
