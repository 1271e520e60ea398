/** The NamespaceLifecycle admission plugin. It refuses new objects in a namespace that is missing or terminating. */
import { type ResourceContext, collectionOf, resourceOf } from "../context.ts";
import { NAMESPACES } from "../kinds/core.ts";
import type { KubeObject } from "../objects.ts";
import { parsedOnce } from "../store.ts";
import { fail } from "../status.ts";
import { forbid } from "./review.ts";

export function requireActiveNamespace(ctx: ResourceContext, object: KubeObject): void {
  const { namespace: name } = ctx.info;
  if (!ctx.kind.namespaced) return;
  const stored = collectionOf(ctx.state, NAMESPACES).get({ namespace: "", name });
  if (stored === undefined) return fail({ reason: "NotFound", resource: resourceOf(NAMESPACES), name });
  if (parsedOnce(stored).metadata.deletionTimestamp === undefined) return;
  const message = `unable to create new content in namespace ${name} because it is being terminated`;
  const causes = [
    { reason: "NamespaceTerminating", message: `namespace ${name} is being terminated`, field: "metadata.namespace" },
  ];
  forbid(ctx, object, message, causes);
}
