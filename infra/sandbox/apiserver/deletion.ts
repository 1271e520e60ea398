/**
 * DELETE: what goes at once, what has to wait, and for whom.
 * Owns: grace, finalizers, propagation, preconditions, collections. Does not own: collecting orphans and emptying
 * namespaces (controllers, over HTTP).
 */
import { admitDeletion } from "./admission/webhooks.ts";
import { type Answer, type ResourceContext, type ServerState, collectionOf, resourceOf, timestamp } from "./context.ts";
import type { ResourceKind } from "./kinds/kind.ts";
import { IMMORTAL, hasOwnFinalizers } from "./namespaces.ts";
import { type KubeObject, childOf, stringAt } from "./objects.ts";
import { type DeleteOptions, readDeleteOptions } from "./options.ts";
import { selectObjects } from "./reading.ts";
import { type Collection, type StoredObject, parse } from "./store.ts";
import { fail } from "./status.ts";

export async function handleDelete(ctx: ResourceContext): Promise<Answer> {
  const options = readDeleteOptions(ctx);
  const { object, gone } = await deleteObject(ctx, options);
  if (!gone || RETURNED_WHOLE.has(ctx.kind.plural)) return { type: "Object", code: 200, object };
  const { kind, info } = ctx;
  const { uid } = object.metadata;
  const group = kind.group === "" ? {} : { group: kind.group };
  const details = { name: info.name, ...group, kind: kind.plural, uid };
  return { type: "Document", code: 200, body: successStatus(200, details) };
}

/** These answer with the deleted object instead of a Status. */
const RETURNED_WHOLE = new Set(["pods", "serviceaccounts"]);

export function successStatus(code: number, details?: unknown): unknown {
  const base = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" };
  return code === 201 ? { ...base, code } : { ...base, details };
}

export async function handleDeleteCollection(ctx: ResourceContext): Promise<Answer> {
  const options = readDeleteOptions(ctx);
  const { items, metadata } = selectObjects(ctx);
  for (const { namespace, name } of items) {
    await deleteObject({ ...ctx, info: { ...ctx.info, namespace, name } }, options);
  }
  return { type: "List", items, metadata };
}

export interface Deletion {
  readonly object: KubeObject;
  /** false: it waits for its grace period or its finalizers. */
  readonly gone: boolean;
}

/** For requests by a client: with admission. */
export async function deleteObject(
  ctx: ResourceContext,
  options: DeleteOptions & { readonly isDryRun: boolean },
): Promise<Deletion> {
  const { state, kind, collection, info } = ctx;
  for (;;) {
    const stored = collection.get(info);
    if (stored === undefined) return fail({ reason: "NotFound", resource: resourceOf(kind), name: info.name });
    const oldObject = parse(stored);
    checkPreconditions(kind, oldObject, options.preconditions);
    if (kind.plural === "namespaces" && IMMORTAL.has(info.name)) {
      fail({
        reason: "Forbidden",
        resource: resourceOf(kind),
        name: info.name,
        message: "this namespace may not be deleted",
      });
    }
    await admitDeletion(ctx, {
      operation: "DELETE",
      object: undefined,
      oldObject: kind.toServed(oldObject),
      options: {
        kind: "DeleteOptions",
        apiVersion: "meta.k8s.io/v1",
        ...options,
        ...(isPod(kind) && { gracePeriodSeconds: graceOf(kind, oldObject, options) }),
        isDryRun: undefined,
      },
      dryRun: options.isDryRun,
    });
    const deletion = remove(state, kind, { stored, options });
    if (deletion !== undefined) return deletion; // else it changed during admission: look again
  }
}

interface Removal {
  readonly stored: StoredObject;
  readonly options: DeleteOptions & { readonly isDryRun?: boolean };
}

/** For the server itself as well; undefined: the object is no longer what `stored` says. */
export function remove(state: ServerState, kind: ResourceKind, { stored, options }: Removal): Deletion | undefined {
  const collection = collectionOf(state, kind);
  const object = parse(stored);
  const grace = graceOf(kind, object, options);
  const finalizers = finalizersAfter(kind, object, options);
  const gone = grace === 0 && finalizers.length === 0 && !hasOwnFinalizers(object);
  const marked = gone && !isPod(kind) ? undefined : markDeleted(state, structuredClone(object), { grace, finalizers });
  const last = marked ?? object;
  if (options.isDryRun) return { object: last, gone };
  return write(collection, { stored, marked, last: gone ? last : undefined }) && { object: last, gone };
}

/** A pod is seen to terminate even if it has no time for it. */
function write(
  collection: Collection,
  { stored, marked, last }: { stored: StoredObject; marked?: KubeObject | undefined; last: KubeObject | undefined },
): StoredObject | undefined {
  const current = marked === undefined ? stored : collection.replace(stored, marked);
  return current && last ? collection.remove(current, last) : current;
}

function checkPreconditions(kind: ResourceKind, object: KubeObject, wanted: DeleteOptions["preconditions"]): void {
  const { uid, resourceVersion } = object.metadata;
  const conflict = (message: string): never => {
    const resource = { group: kind.group, resource: kind.kind };
    return fail({ reason: "Conflict", resource, name: object.metadata.name ?? "", message });
  };
  if (wanted?.uid && wanted.uid !== uid) {
    conflict(
      `the UID in the precondition (${wanted.uid}) does not match the UID in record (${uid}). ` +
        "The object might have been deleted and then recreated",
    );
  }
  if (wanted?.resourceVersion && wanted.resourceVersion !== resourceVersion) {
    conflict(
      `the ResourceVersion in the precondition (${wanted.resourceVersion}) does not match the ResourceVersion in record ` +
        `(${resourceVersion}). The object might have been modified`,
    );
  }
}

function isPod(kind: ResourceKind): boolean {
  return kind.plural === "pods" && kind.group === "";
}

/** Only a pod that runs somewhere needs time to terminate; the kubelet there ends it with a grace of 0. */
function graceOf(kind: ResourceKind, object: KubeObject, options: DeleteOptions): number {
  if (!isPod(kind)) return 0;
  const phase = stringAt(object, "status.phase");
  if (stringAt(object, "spec.nodeName") === "" || phase === "Succeeded" || phase === "Failed") return 0;
  const own = Number(stringAt(object, "spec.terminationGracePeriodSeconds") || 30);
  const wanted = options.gracePeriodSeconds ?? object.metadata.deletionGracePeriodSeconds ?? own;
  return wanted < 0 ? 1 : wanted;
}

function finalizersAfter(kind: ResourceKind, { metadata }: KubeObject, options: DeleteOptions): readonly string[] {
  const policy = options.propagationPolicy ?? (options.orphanDependents ? "Orphan" : undefined);
  const own = kind.finalizer !== undefined && metadata.deletionTimestamp === undefined ? [kind.finalizer] : [];
  const finalizers = [...(metadata.finalizers ?? []), ...own];
  if (policy === undefined || metadata.deletionTimestamp !== undefined) return finalizers;
  const others = finalizers.filter((one) => one !== "orphan" && one !== "foregroundDeletion");
  if (policy === "Orphan") return [...others, "orphan"];
  return policy === "Foreground" ? [...others, "foregroundDeletion"] : others;
}

/** undefined: it is terminating already, and no sooner than now asked for. */
function markDeleted(
  state: ServerState,
  object: KubeObject,
  { grace, finalizers }: { grace: number; finalizers: readonly string[] },
): KubeObject | undefined {
  const { metadata } = object;
  const { deletionGracePeriodSeconds: given, deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined && (given ?? 0) <= grace) return undefined;
  metadata.deletionTimestamp = timestamp(new Date(state.now().getTime() + grace * 1000));
  metadata.deletionGracePeriodSeconds = grace;
  if (finalizers.length > 0) metadata.finalizers = [...finalizers];
  if (metadata.generation !== undefined) metadata.generation += 1;
  if (object.kind === "Namespace") childOf(object, "status").phase = "Terminating";
  return object;
}
