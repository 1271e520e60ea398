/**
 * The life of a namespace, as the NamespaceLifecycle admission and the finalize subresource see it.
 * Owns: what may be created where, when a namespace is gone. Does not own: emptying it (a controller, over HTTP).
 */
import type { Answer, ResourceContext } from "./context.ts";
import { NAMESPACES } from "./kinds/core.ts";
import { type KubeObject, fieldAt, stringsAt } from "./objects.ts";
import { readWriteOptions } from "./options.ts";
import { fieldCheck } from "./schema/check.ts";
import { parsedOnce } from "./store.ts";
import { fail } from "./status.ts";
import { modifyObject, replaceWith } from "./updating.ts";

/** These cannot be deleted: a cluster does not work without them. */
export const IMMORTAL = new Set(["default", "kube-system", "kube-public"]);

export function requireActiveNamespace(ctx: ResourceContext): void {
  const { namespace: name } = ctx.info;
  if (!ctx.kind.namespaced) return;
  const stored = ctx.state.store.collection(NAMESPACES.storage).get({ namespace: "", name });
  if (stored === undefined) {
    return fail({ reason: "NotFound", resource: { group: "", resource: "namespaces" }, name });
  }
  if (fieldAt(parsedOnce(stored), "metadata.deletionTimestamp") === undefined) return;
  const message = `unable to create new content in namespace ${name} because it is being terminated`;
  const causes = [
    { reason: "NamespaceTerminating", message: `namespace ${name} is being terminated`, field: "metadata.namespace" },
  ];
  const resource = { group: ctx.kind.group, resource: ctx.kind.plural };
  fail({ reason: "Forbidden", resource, name: ctx.info.name, message, causes });
}

/** PUT namespaces/{name}/finalize: the only way to take the namespace's own finalizer away. */
export async function handleFinalize(ctx: ResourceContext): Promise<Answer> {
  const change = replaceWith(ctx, await fieldCheck(ctx, readWriteOptions(ctx)));
  const object = await modifyObject(ctx, {
    part: "finalize",
    change: (current) => ({ ...current, spec: change(current).spec }),
  });
  return { type: "Object", code: 200, object };
}

/** A namespace has finalizers in its spec, too: it is not gone before somebody has emptied it. */
export function hasOwnFinalizers(object: KubeObject): boolean {
  return object.kind === "Namespace" && object.apiVersion === "v1" && stringsAt(object, "spec.finalizers").length > 0;
}
