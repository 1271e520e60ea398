/** PUT and PATCH of existing objects. */
import { isDeepStrictEqual } from "node:util";
import { admitMutating, admitValidating } from "./admission/webhooks.ts";
import { type Answer, type ResourceContext, resourceOf, storedIn } from "./context.ts";
import { createObject } from "./creation.ts";
import { decodeObject } from "./decoding.ts";
import { invalidValue } from "./field-errors.ts";
import type { ResourceKind } from "./kinds/kind.ts";
import { type KubeObject, type NamespacedName, type ObjectMeta, isRecord } from "./objects.ts";
import { refuseEscalation } from "./escalation.ts";
import { trackUpdate } from "./managed-fields.ts";
import { type WriteOptions, admissionOf, readWriteOptions, writerOf } from "./options.ts";
import { fieldCheck } from "./schema/check.ts";
import { type Collection, type StoredObject, parse } from "./store.ts";
import { badRequest, fail } from "./status.ts";
import { validateObject } from "./validation.ts";

export type Part = "main" | "status" | "finalize";

export interface Modification {
  readonly part: Part;
  /**
   * Returns the wanted state for `current`, which has the API version of the request. After a conflict, the function is
   * called again.
   */
  readonly change: (current: KubeObject) => KubeObject;
  readonly dryRun?: boolean;
  /** Computes managedFields. By default, the client becomes the owner of the changed fields. */
  readonly track?: (object: KubeObject, previous: KubeObject) => void;
}

const MODIFIED_MESSAGE = "the object has been modified; please apply your changes to the latest version and try again";

export async function handleUpdate(ctx: ResourceContext): Promise<Answer> {
  const options = readWriteOptions(ctx);
  const part = ctx.info.subresource === "status" ? "status" : "main";
  const change = await replaceWith(ctx, options);
  if (part === "main" && ctx.kind.createsOnUpdate && ctx.collection.get(ctx.info) === undefined) {
    const wanted = change({ apiVersion: "", kind: "", metadata: {} });
    delete wanted.metadata.resourceVersion;
    return { type: "Object", code: 201, object: await createObject(ctx, wanted, options) };
  }
  const object = await modifyObject(ctx, { part, change, dryRun: options.dryRun });
  return { type: "Object", code: 200, object };
}

/** Answers PUT namespaces/{name}/finalize. Only this request can remove the finalizer in a namespace's spec. */
export async function handleFinalize(ctx: ResourceContext): Promise<Answer> {
  const change = await replaceWith(ctx, readWriteOptions(ctx));
  const object = await modifyObject(ctx, {
    part: "finalize",
    change: (current) => ({ ...current, spec: change(current).spec }),
  });
  return { type: "Object", code: 200, object };
}

async function replaceWith(ctx: ResourceContext, options: WriteOptions): Promise<Modification["change"]> {
  const wanted = decodeObject(ctx);
  const check = await fieldCheck(ctx, options);
  check(wanted);
  checkName(ctx, wanted);
  return (current) => {
    checkUid(ctx, wanted.metadata, current.metadata);
    return structuredClone(wanted);
  };
}

export function checkName({ info: { name } }: ResourceContext, { metadata }: KubeObject): void {
  const missing = `the name of the object (${name} based on URL) was undeterminable: name must be provided`;
  if (!metadata.name) badRequest(missing);
  if (metadata.name === name) return;
  badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
}

function checkUid(ctx: ResourceContext, { uid }: ObjectMeta, { uid: actual = "" }: ObjectMeta): void {
  if (!uid || uid === actual) return;
  const { kind, info } = ctx;
  const place = [kind.custom ? kind.group : "", kind.plural, info.namespace, info.name].filter(Boolean).join("/");
  const message =
    `StorageError: invalid object, Code: 4, Key: /registry/${place}, ResourceVersion: 0, ` +
    `AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${actual}`;
  fail({ reason: "Conflict", resource: resourceOf(kind), name: info.name, message });
}

/** Changes an object. Returns it in the stored version. */
export async function modifyObject(
  ctx: ResourceContext,
  modification: Modification,
): Promise<KubeObject | StoredObject> {
  const { collection } = ctx;
  for (;;) {
    const stored = storedIn(ctx);
    const previous = parse(stored);
    const object = await changed(ctx, modification, previous);
    if (isDeepStrictEqual(object, previous)) return stored;
    if (modification.dryRun) return object;
    const written = isFinished(object) ? collection.remove(stored, object) : collection.replace(stored, object);
    // If another request has changed the object first, the loop reads it again.
    if (written !== undefined) return written;
  }
}

/** Changes an object without admission and validation. Returns undefined if the object does not exist. */
export function changeStored(
  collection: Collection,
  key: NamespacedName,
  change: (object: KubeObject) => void,
): StoredObject | undefined {
  const stored = collection.get(key);
  if (stored === undefined) return undefined;
  const object = parse(stored);
  change(object);
  return isDeepStrictEqual(object, parse(stored)) ? stored : collection.replace(stored, object);
}

/**
 * Returns true if a terminating object can be removed. Such an object has no finalizers, and its grace period is over.
 */
export function isFinished({ kind, metadata, spec }: KubeObject): boolean {
  if (metadata.deletionTimestamp === undefined || (metadata.finalizers?.length ?? 0) > 0) return false;
  const held = kind === "Namespace" && isRecord(spec) && Array.isArray(spec.finalizers) && spec.finalizers.length > 0;
  return !held && (metadata.deletionGracePeriodSeconds ?? 0) === 0;
}

async function changed(ctx: ResourceContext, modification: Modification, previous: KubeObject): Promise<KubeObject> {
  const { kind } = ctx;
  const oldObject = kind.toServed(previous);
  const wanted = modification.change(structuredClone(oldObject));
  const subject = admissionOf(ctx, modification.dryRun ?? false, oldObject);
  keepSystemFields(wanted.metadata, previous.metadata);
  const admitted = await admitMutating(ctx, subject(wanted));
  checkVersion(ctx, admitted.metadata, previous.metadata);
  const object = prepare(kind, kind.toStored(admitted), { previous, part: modification.part });
  if (modification.track) modification.track(object, previous);
  else trackUpdate(kind, object, { previous, writer: writerOf(ctx) });
  refuseEscalation(ctx, object);
  validateObject(kind, object, previous);
  await admitValidating(ctx, subject(kind.toServed(object)));
  return object;
}

function checkVersion(ctx: ResourceContext, meta: ObjectMeta, previous: ObjectMeta): void {
  const { kind, info } = ctx;
  if (!meta.resourceVersion && info.verb === "update" && !kind.unconditionalUpdate) {
    const errors = [invalidValue("metadata.resourceVersion", 0, "must be specified for an update")];
    // The real server writes the resource instead of the kind into this message.
    fail({ reason: "Invalid", kind: { group: kind.group, kind: kind.plural }, name: info.name, errors });
  }
  if (meta.resourceVersion && meta.resourceVersion !== previous.resourceVersion) {
    fail({ reason: "Conflict", resource: resourceOf(kind), name: info.name, message: MODIFIED_MESSAGE });
  }
  meta.resourceVersion = previous.resourceVersion ?? "";
}

/**
 * Restores the timestamps, and the system fields that the client has omitted. A changed UID or grace period is refused
 * later.
 */
function keepSystemFields(meta: ObjectMeta, old: ObjectMeta): void {
  const { uid = "", creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds: grace } = old;
  meta.uid ||= uid;
  if (creationTimestamp) meta.creationTimestamp = creationTimestamp;
  if (deletionTimestamp !== undefined) meta.deletionTimestamp = deletionTimestamp;
  else if (!meta.deletionTimestamp) delete meta.deletionTimestamp;
  if (grace !== undefined) meta.deletionGracePeriodSeconds ??= grace;
}

function prepare(kind: ResourceKind, object: KubeObject, how: { previous: KubeObject; part: Part }): KubeObject {
  const { previous, part } = how;
  keepOwnership(object.metadata, previous.metadata, part);
  if (part === "status") return prepareStatus(kind, object, previous);
  if (part === "main") {
    kind.applyDefaults(object);
    if (kind.hasStatus) keepStatus(object, previous.status);
    kind.prepareForUpdate(object, previous);
  }
  setGeneration(kind, object, previous);
  return object;
}

/** Prepares an update of the status. For built-in kinds, metadata except ownerReferences may change. */
function prepareStatus(kind: ResourceKind, object: KubeObject, previous: KubeObject): KubeObject {
  const { status } = object;
  const { ownerReferences: _refused, ...metadata } = object.metadata;
  const { ownerReferences } = previous.metadata;
  const kept = kind.custom ? previous.metadata : { ...metadata, ...(ownerReferences && { ownerReferences }) };
  const { generation } = previous.metadata;
  const result: KubeObject = { ...previous, metadata: { ...kept, ...(generation !== undefined && { generation }) } };
  keepStatus(result, status);
  if (kind.custom) kind.applyDefaults(result);
  return result;
}

function keepStatus(object: KubeObject, status: unknown): void {
  if (status === undefined) delete object.status;
  else object.status = status;
}

/**
 * Increments the generation if the desired state has changed. If a custom kind has no status subresource, all fields
 * are desired state.
 */
function setGeneration({ hasStatus }: ResourceKind, object: KubeObject, previous: KubeObject): void {
  const { generation } = previous.metadata;
  const [now, before] = [object, previous].map(({ metadata: _metadata, status, ...rest }) => [
    rest,
    !hasStatus && status,
  ]);
  if (generation === undefined) delete object.metadata.generation;
  else object.metadata.generation = isDeepStrictEqual(now, before) ? generation : generation + 1;
}

/** Restores managedFields, unless the client resets them with an empty list or a list of one empty entry. */
function keepOwnership(meta: ObjectMeta, { managedFields }: ObjectMeta, part: Part): void {
  const isForgotten = part === "main" && /^\[(\{\})?\]$/.test(JSON.stringify(meta.managedFields ?? null));
  if (managedFields === undefined || isForgotten) delete meta.managedFields;
  else meta.managedFields = managedFields;
}
