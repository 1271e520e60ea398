/**
 * The end of a namespace.
 * Owns: the finalize subresource, what holds a namespace, which ones cannot end. Does not own: emptying it (a controller,
 * over HTTP), what may still be created in it (admission/namespace-lifecycle.ts).
 */
import type { Answer, ResourceContext } from "./context.ts";
import { readWriteOptions } from "./options.ts";
import { fieldCheck } from "./schema/check.ts";
import { modifyObject, replaceWith } from "./updating.ts";

/** These cannot be deleted: a cluster does not work without them. */
export const IMMORTAL = new Set(["default", "kube-system", "kube-public"]);

/** PUT namespaces/{name}/finalize: the only way to take the namespace's own finalizer away. */
export async function handleFinalize(ctx: ResourceContext): Promise<Answer> {
  const change = replaceWith(ctx, await fieldCheck(ctx, readWriteOptions(ctx)));
  const object = await modifyObject(ctx, {
    part: "finalize",
    change: (current) => ({ ...current, spec: change(current).spec }),
  });
  return { type: "Object", code: 200, object };
}
