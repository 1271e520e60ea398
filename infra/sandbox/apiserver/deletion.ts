/** DELETE: deletes an object, possibly after a grace period or after its finalizers are removed. */
import { isDeepStrictEqual } from "node:util";
import { admitDeletion } from "./admission/webhooks.ts";
import {
  type Answer,
  type ResourceContext,
  type ServerState,
  collectionOf,
  resourceOf,
  storedIn,
  timestamp,
} from "./context.ts";
import type { ResourceKind } from "./kinds/kind.ts";
import { type KubeObject, childOf, stringAt } from "./objects.ts";
import { type DeleteOptions, readDeleteOptions } from "./options.ts";
import { selectObjects } from "./reading.ts";
import { type StoredObject, parse } from "./store.ts";
import { fail } from "./status.ts";
import { isFinished } from "./updating.ts";

export async function handleDelete(ctx: ResourceContext): Promise<Answer> {
  const options = await readDeleteOptions(ctx);
  const { object, gone } = await deleteObject(ctx, options);
  const code = !gone && options.orphanDependents === false ? 202 : 200;
  if (!gone || RETURNED_WHOLE.has(ctx.kind.plural)) return { type: "Object", code, object };
  const { kind, info } = ctx;
  const { uid } = object.metadata;
  const group = kind.group === "" ? {} : { group: kind.group };
  const details = { name: info.name, ...group, kind: kind.plural, uid };
  return { type: "Document", code: 200, body: successStatus(200, details) };
}

const IMMORTAL = new Set(["default", "kube-system", "kube-public"]);

/**
 * If an object of these kinds is deleted, the answer is the object. For other kinds, the answer is a Status if the
 * object is removed at once.
 */
const RETURNED_WHOLE = new Set(["pods", "serviceaccounts", "persistentvolumeclaims", "persistentvolumes"]);

export function successStatus(code: number, details?: unknown): unknown {
  const base = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" };
  return code === 201 ? { ...base, code } : { ...base, details };
}

export async function handleDeleteCollection(ctx: ResourceContext): Promise<Answer> {
  const options = await readDeleteOptions(ctx);
  const { items, metadata } = selectObjects(ctx);
  for (const { namespace, name } of items) {
    await deleteObject({ ...ctx, info: { ...ctx.info, namespace, name } }, options);
  }
  return { type: "List", items, metadata };
}

export interface Deletion {
  readonly object: KubeObject;
  /** True if the object is removed. False if a grace period or finalizers delay the removal. */
  readonly gone: boolean;
}

async function deleteObject(
  ctx: ResourceContext,
  options: DeleteOptions & { readonly isDryRun: boolean },
): Promise<Deletion> {
  const { state, kind, info } = ctx;
  const { isDryRun, ...rest } = options;
  for (;;) {
    const stored = storedIn(ctx);
    const oldObject = parse(stored);
    checkPreconditions(kind, oldObject, options.preconditions);
    const marked = mark(state, kind, oldObject, options);
    if (marked === undefined) return { object: oldObject, gone: false };
    if (kind.plural === "namespaces" && IMMORTAL.has(info.name)) {
      const message = "this namespace may not be deleted";
      fail({ reason: "Forbidden", resource: resourceOf(kind), name: info.name, message });
    }
    const grace = isPod(kind) && { gracePeriodSeconds: marked.metadata.deletionGracePeriodSeconds };
    for (const object of isDryRun ? [oldObject] : statesOf(kind, oldObject, marked)) {
      await admitDeletion(ctx, {
        operation: "DELETE",
        object: undefined,
        oldObject: kind.toServed(object),
        options: { ...rest, kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", ...grace },
        dryRun: isDryRun,
      });
    }
    const deletion = remove(state, kind, { stored, options });
    // If the object has changed during admission, the loop reads it again.
    if (deletion !== undefined) return deletion;
  }
}

/**
 * Returns one state of the object for each review by the webhooks. A pod that is removed at once is reviewed twice:
 * first without a deletionTimestamp, and then with it.
 */
function statesOf(kind: ResourceKind, before: KubeObject, marked: KubeObject): readonly KubeObject[] {
  const isSeenToEnd = isPod(kind) && isFinished(marked) && !isDeepStrictEqual(before, marked);
  return isSeenToEnd ? [before, marked] : [before];
}

interface Removal {
  readonly stored: StoredObject;
  readonly options: DeleteOptions & { readonly isDryRun?: boolean };
}

/**
 * Sets the deletionTimestamp of an object. Removes the object, unless finalizers or a grace period delay the removal.
 * Returns undefined if the object has changed since `stored`.
 */
export function remove(state: ServerState, kind: ResourceKind, { stored, options }: Removal): Deletion | undefined {
  const collection = collectionOf(state, kind);
  const before = parse(stored);
  const marked = mark(state, kind, before, options) ?? before;
  const gone = isFinished(marked);
  const object = gone && !isPod(kind) ? before : marked;
  if (options.isDryRun) return { object, gone };
  const changed = object !== before && !isDeepStrictEqual(object, before);
  const current = changed ? collection.replace(stored, object) : stored;
  if (current === undefined || (gone && collection.remove(current, object) === undefined)) return undefined;
  return { object, gone };
}

const PRECONDITIONS = [
  ["uid", "UID", "deleted and then recreated"],
  ["resourceVersion", "ResourceVersion", "modified"],
] as const;

export function checkPreconditions(
  kind: ResourceKind,
  { metadata }: KubeObject,
  wanted: DeleteOptions["preconditions"],
): void {
  const about = { resource: { group: kind.group, resource: kind.kind }, name: metadata.name ?? "" };
  for (const [field, name, what] of PRECONDITIONS) {
    if (!wanted?.[field] || wanted[field] === metadata[field]) continue;
    const values = `the ${name} in the precondition (${wanted[field]}) does not match the ${name} in record (${metadata[field]})`;
    fail({ reason: "Conflict", ...about, message: `${values}. The object might have been ${what}` });
  }
}

function isPod(kind: ResourceKind): boolean {
  return kind.plural === "pods" && kind.group === "";
}

/**
 * Returns the grace period in seconds. Only a pod on a node has a grace period. The kubelet stops the pod, and then
 * deletes it with a grace period of 0.
 */
function graceOf(kind: ResourceKind, pod: KubeObject, { gracePeriodSeconds: asked }: DeleteOptions): number {
  if (!isPod(kind)) return 0;
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  const isIdle = stringAt(pod, "spec.nodeName") === "" || /Succeeded|Failed/.test(stringAt(pod, "status.phase"));
  if (deletionTimestamp === undefined && isIdle) return 0;
  const own = Number(stringAt(pod, "spec.terminationGracePeriodSeconds") || 30);
  const grace = asked ?? deletionGracePeriodSeconds ?? own;
  return grace < 0 ? 1 : grace;
}

/** The garbage collector removes these finalizers after it has handled the dependents. */
const WAITING: Readonly<Record<string, readonly string[]>> = { Orphan: ["orphan"], Foreground: ["foregroundDeletion"] };

function finalizersAfter(kind: ResourceKind, { metadata }: KubeObject, options: DeleteOptions): string[] {
  const finalizers = [...(metadata.finalizers ?? []), ...ownFinalizers(kind, metadata)];
  const { propagationPolicy: policy, orphanDependents: orphan } = options;
  if ((!policy && typeof orphan !== "boolean") || kind.plural === "events") return finalizers;
  const wanted = WAITING[orphan === true ? "Orphan" : (policy ?? "Background")] ?? [];
  if (wanted.some((one) => finalizers.includes(one))) return finalizers;
  return [...finalizers.filter((one) => one !== "orphan" && one !== "foregroundDeletion"), ...wanted];
}

function ownFinalizers({ finalizer }: ResourceKind, { deletionTimestamp }: KubeObject["metadata"]): readonly string[] {
  return finalizer === undefined || deletionTimestamp !== undefined ? [] : [finalizer];
}

/**
 * Returns a copy of the object with a deletionTimestamp. Returns undefined if the object is already terminating and its
 * grace period does not become shorter.
 */
function mark(
  state: ServerState,
  kind: ResourceKind,
  before: KubeObject,
  options: DeleteOptions,
): KubeObject | undefined {
  const object = structuredClone(before);
  const { metadata } = object;
  const { deletionTimestamp, deletionGracePeriodSeconds: given = 0 } = metadata;
  const grace = graceOf(kind, object, options);
  if (given > 0 && grace >= given) return undefined;
  metadata.finalizers = finalizersAfter(kind, object, options);
  if (metadata.finalizers.length === 0) delete metadata.finalizers;
  const now = state.now().getTime();
  if (deletionTimestamp === undefined) {
    metadata.deletionTimestamp = timestamp(new Date(now + milliseconds(grace)));
    metadata.deletionGracePeriodSeconds = grace;
    if (metadata.generation !== undefined) metadata.generation += 1;
    if (object.kind === "Namespace") childOf(object, "status").phase = "Terminating";
  } else if (given > 0) {
    // The shorter grace period starts at the first deletion. If it is already over, the pod gets at most 1 s.
    const end = Date.parse(deletionTimestamp) - milliseconds(given) + milliseconds(grace);
    metadata.deletionTimestamp = timestamp(new Date(Math.max(end, now)));
    metadata.deletionGracePeriodSeconds = end < now ? Math.min(grace, 1) : grace;
  }
  return object;
}

/** Converts seconds to milliseconds. A very long grace period overflows as in Go. */
function milliseconds(seconds: number): number {
  return Number(BigInt.asIntN(64, BigInt(seconds) * 1_000_000_000n) / 1_000_000n);
}
