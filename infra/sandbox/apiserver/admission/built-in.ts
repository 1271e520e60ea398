/**
 * The admission plugins every API server has compiled in, as far as clients notice them.
 * Owns: NamespaceLifecycle at creation, Priority. Does not own: webhooks (webhooks.ts), DefaultTolerationSeconds, which is
 * among a pod's defaults (kinds/pods.ts).
 */
import { type ResourceContext, collectionOf, resourceOf } from "../context.ts";
import { NAMESPACES } from "../kinds/core.ts";
import { type KubeObject, childOf, fieldAt, stringAt } from "../objects.ts";
import { parsedOnce } from "../store.ts";
import { fail } from "../status.ts";
import { nameInRefusal } from "./review.ts";

export function admitCreation(ctx: ResourceContext, object: KubeObject): void {
  requireActiveNamespace(ctx, object);
  if (ctx.kind.kind === "Pod" && ctx.kind.group === "") resolvePriority(ctx, object);
}

function requireActiveNamespace(ctx: ResourceContext, object: KubeObject): void {
  const { namespace: name } = ctx.info;
  if (!ctx.kind.namespaced) return;
  const stored = collectionOf(ctx.state, NAMESPACES).get({ namespace: "", name });
  if (stored === undefined) return fail({ reason: "NotFound", resource: resourceOf(NAMESPACES), name });
  if (parsedOnce(stored).metadata.deletionTimestamp === undefined) return;
  const message = `unable to create new content in namespace ${name} because it is being terminated`;
  const causes = [
    { reason: "NamespaceTerminating", message: `namespace ${name} is being terminated`, field: "metadata.namespace" },
  ];
  fail({ reason: "Forbidden", resource: resourceOf(ctx.kind), name: nameInRefusal(ctx, object), message, causes });
}

/** A pod names a class, or takes the default one; its priority is the class's. */
function resolvePriority(ctx: ResourceContext, pod: KubeObject): void {
  const classes = ctx.state.store.collection("scheduling.k8s.io/priorityclasses");
  const name = stringAt(pod, "spec.priorityClassName");
  const stored = name === "" ? undefined : classes.get({ namespace: "", name });
  if (name !== "" && stored === undefined) {
    const message = `no PriorityClass with name ${name} was found`;
    fail({ reason: "Forbidden", resource: resourceOf(ctx.kind), name: nameInRefusal(ctx, pod), message });
  }
  const chosen = stored ?? classes.list("").find((one) => fieldAt(parsedOnce(one), "globalDefault") === true);
  if (chosen === undefined) return;
  const { metadata, value, preemptionPolicy } = parsedOnce(chosen);
  const spec = childOf(pod, "spec");
  Object.assign(spec, { priorityClassName: metadata.name, priority: value });
  spec.preemptionPolicy ??= preemptionPolicy;
}
